# SPDX-License-Identifier: Apache-2.0
"""Runs of folders and buckets in notebooks: aboard's page in a frame, from a read-only `aboard view` of the kernel.

The process listens on loopback and ends when the kernel does: its standard input is a pipe of the kernel. Cells that
show the same folders share one process.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from aboard.errors import InvalidType, InvalidValue

FRAME_HEIGHT = 600
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\/]")


class RunsFrame:
    """The page over some folders, as a notebook shows it."""

    def __init__(
        self, sources: Sequence[str], *, height: int = FRAME_HEIGHT, metrics: str | Sequence[str] = ()
    ) -> None:
        """`sources` are arguments of `aboard view`; of `metrics`, a `*` stands for any characters."""
        if isinstance(height, bool) or not isinstance(height, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidType(f"The height of a frame is {height!r}.", hint="Use a number of pixels, such as 600.")
        if height < 1:
            raise InvalidValue(f"The height of a frame is {height}.", hint="Use a number of pixels, such as 600.")
        self.sources, self.height = tuple(sources), height
        self.metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
        self.address = running_view(self.sources)

    def html(self) -> str:
        """The frame, and a link to the same page in a tab."""
        from aboard.client.frames import render_frame

        query = {"tags": tag_pattern(self.metrics)} if self.metrics else {}
        return render_frame(
            f"{self.address}?{urlencode({'embed': '1', **query})}",
            f"{self.address}?{urlencode(query)}",
            title=f"aboard ({', '.join(self.sources)})",
            height=self.height,
        )

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        return f"<{', '.join(self.sources)} at {self.address}>"


def tag_pattern(metrics: Sequence[str]) -> str:
    """The regular expression by which the page chooses tags, in the syntax of JavaScript.

    `train/loss` may be the tag `loss` in the folder `train`, which the page draws with the `loss` of other folders.
    """
    below = [name.rpartition("/")[2] for name in metrics if "*" not in name]
    patterns = (".*".join(map(_escaped, name.split("*"))) for name in dict.fromkeys([*metrics, *below]))
    return f"^({'|'.join(patterns)})$"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


_lock = threading.Lock()
_running: dict[tuple[int, tuple[str, ...], Path], tuple[subprocess.Popen[str], str]] = {}


def running_view(sources: tuple[str, ...]) -> str:
    """The address of the process that shows these sources; it is started if there is none."""
    key = os.getpid(), sources, Path.cwd()  # a fork starts its own
    with _lock:
        known = _running.get(key)
        if known is None or known[0].poll() is not None:
            known = _running[key] = _start(sources)
        return known[1]


def _start(sources: Sequence[str]) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "aboard", "view", "--embedded", "--json", "--port", "0", "--", *sources]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # an interrupted cell interrupts all processes of the kernel's group
        )
        assert process.stdout is not None
        with process.stdout as lines:
            line = lines.readline()
        if not line:
            process.wait()
            errors.seek(0)
            raise _failure(errors.read())
    atexit.register(_stop, process, os.getpid())
    return process, json.loads(line)["url"]


def _failure(text: str) -> InvalidValue:
    """What the process printed, as an error here."""
    _, _, rest = text.partition("error: ")
    message, _, hint = (rest or text).partition("\n  hint: ")
    return InvalidValue(message.strip() or "`aboard view` ended at its start and printed no error.", hint=hint.strip())


def _stop(process: subprocess.Popen[str], starter: int) -> None:
    if os.getpid() == starter and process.poll() is None:
        process.terminate()
        process.wait()
