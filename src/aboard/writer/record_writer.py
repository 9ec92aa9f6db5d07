# SPDX-License-Identifier: Apache-2.0
"""`RecordWriter`: records framed as TFRecord, appended to a file or to what a registered factory opens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from aboard._native import frame_record
from aboard.writer.factories import RecordFile, factory_for, scheme_of


class RecordWriter:
    """Writes each record with its length and both checksums. Not safe to use from several threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: RecordFile | None = _open(self.path)

    def write(self, data: bytes) -> None:
        """Append one record."""
        if self._file is None:
            raise ValueError(f"the record writer of {self.path} is closed")
        self._file.write(frame_record(bytes(memoryview(data))))  # bytes() alone makes zeros of an integer

    def flush(self) -> None:
        """Hand everything written so far to the operating system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: str) -> RecordFile:
    if scheme_of(path):
        return factory_for(path).open(path)
    return Path(path).open("wb")
