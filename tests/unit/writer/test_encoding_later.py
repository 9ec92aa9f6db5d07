# SPDX-License-Identifier: Apache-2.0
"""Summaries that a background thread encodes are in the file before it is flushed or closed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from aboard.writer.file_writer import FileWriter
from aboard.writer.sink import NullSink

STILL_ENCODING = 0.1
"""Seconds for which an encoder works. Only a writer that does not wait for it goes on meanwhile."""


class RecordingSink(NullSink):
    """Keeps the order of the calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.goes_on = threading.Event()

    def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool:
        self.calls.append(summary.decode())
        return False

    def flush(self) -> bool:
        self.calls.append("flush")
        self.goes_on.set()
        return False

    def close(self) -> bool:
        self.calls.append("close")
        self.goes_on.set()
        return False


@pytest.mark.parametrize("end", ["flush", "close"])
def test_the_file_waits_for_what_is_being_encoded(tmp_path: Path, end: str) -> None:
    writer = FileWriter(tmp_path, write_to_disk=False)
    writer.sink = sink = RecordingSink()

    def slow_image() -> bytes:
        sink.goes_on.wait(STILL_ENCODING)
        return b"image"

    writer.add_later(slow_image, size=1, step=1, seconds=0.0)
    getattr(writer, end)()
    assert sink.calls == ["image", end]
