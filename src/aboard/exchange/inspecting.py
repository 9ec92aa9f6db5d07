# SPDX-License-Identifier: Apache-2.0
"""Native inspections of many files at once, which say how far they are and end when the person ends the command."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from aboard._native import FileReport, Inspection
from aboard.exchange.wording import count, size

MOST_PLACES = 20  # listed of each kind and file; all are counted
_THREADS = max(2, os.cpu_count() or 1)
_AHEAD = 4 * _THREADS


@dataclass(slots=True)
class Progress:
    """How far a long command is; written by the command, read by whoever shows it."""

    doing: str = "looking for event files"
    files: int = 0  # 0: not known yet
    files_done: int = 0
    bytes_done: int = 0
    running: set[Inspection] = field(default_factory=set[Inspection])

    def begin(self, doing: str, files: int) -> None:
        """Begin a stage."""
        self.doing, self.files, self.files_done, self.bytes_done = doing, files, 0, 0

    @property
    def bytes_read(self) -> int:
        """In this stage, of files under way too."""
        return self.bytes_done + sum(inspection.bytes_read for inspection in tuple(self.running))

    def words(self) -> str:
        """The progress in a line."""
        if not self.files:
            return f"{self.doing}: {self.files_done:,} found" if self.files_done else self.doing
        line = f"{self.doing} {self.files_done:,} of {count(self.files, 'file')}"
        return f"{line}, {size(self.bytes_read)}" if self.bytes_read else line


class Inspectors:
    """Threads that inspect files. Leaving by an exception, Ctrl-C too, ends what is under way."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="aboard-inspection")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for inspection in tuple(self._progress.running):
                inspection.cancel()
        self._threads.shutdown(cancel_futures=kind is not None)

    def one(self, path: Path, copy_to: int = -1) -> FileReport:
        """Inspect a file, and copy its whole records to a descriptor if one is given."""
        return self._finished(self._start(path, copy_to))

    def all(self, paths: Iterable[Path]) -> Iterator[FileReport]:
        """Inspect many files; the reports come in the order of the paths."""
        started: deque[tuple[Inspection, Future[FileReport]]] = deque()
        for path in paths:
            started.append(self._start(path, -1))
            if len(started) >= _AHEAD:
                yield self._finished(started.popleft())
        while started:
            yield self._finished(started.popleft())

    def _start(self, path: Path, copy_to: int) -> tuple[Inspection, Future[FileReport]]:
        inspection = Inspection(os.fsencode(path), MOST_PLACES)
        self._progress.running.add(inspection)
        # A descriptor of its own: the caller may close the other one while the thread has not seen the end yet.
        own = os.dup(copy_to) if copy_to >= 0 else -1
        return inspection, self._threads.submit(_run, inspection, own)

    def _finished(self, started: tuple[Inspection, Future[FileReport]]) -> FileReport:
        inspection, future = started
        report = future.result()
        self._progress.running.discard(inspection)
        self._progress.files_done += 1
        self._progress.bytes_done += inspection.bytes_read
        return report


def _run(inspection: Inspection, copy_to: int) -> FileReport:
    try:
        return inspection.run(copy_to)
    finally:
        if copy_to >= 0:
            os.close(copy_to)
