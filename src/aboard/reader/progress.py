# SPDX-License-Identifier: Apache-2.0
"""How far the reading of runs has come, and which event files could not be read.

Progress is added up while runs are read: to report it costs the same with one run and with 20,000.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aboard.reader.run import RunReader


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far reading has come."""

    runs_read: int
    runs_found: int
    bytes_read: int
    cycles: int
    newest_wall_time: float


class _Sum(NamedTuple):
    bytes_read: int  # of all runs but those in `reading`
    newest: float
    reading: Sequence[RunReader]


class ReadingTally:
    """What was read of each run, which a number stands for. One thread changes it; any thread may ask."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[int, float]] = {}  # bytes and newest wall time
        self._sum = _Sum(0, 0.0, ())  # replaced as a whole, so that whoever asks sees parts that fit

    def begin(self, runs: Mapping[int, RunReader]) -> None:
        """Say which runs are being read: what has come of them counts at once."""
        known = sum(self._read.get(number, (0, 0.0))[0] for number in runs)
        self._sum = _Sum(self._sum.bytes_read - known, self._sum.newest, tuple(runs.values()))

    def end(self, runs: Mapping[int, RunReader]) -> None:
        """Say that the runs which `begin` named were read."""
        read = {number: (run.logdir.bytes_read, run.logdir.summary()[1]) for number, run in runs.items()}
        self._read.update(read)
        bytes_read = self._sum.bytes_read + sum(count for count, _ in read.values())
        newest = max((newest for _, newest in read.values()), default=0.0)
        self._sum = _Sum(bytes_read, max(self._sum.newest, newest), ())

    def forget(self, numbers: Iterable[int]) -> None:
        """Leave out runs that are no more."""
        forgotten = [self._read.pop(number) for number in numbers if number in self._read]
        newest = self._sum.newest
        if any(time == newest for _, time in forgotten):
            newest = max((time for _, time in self._read.values()), default=0.0)
        self._sum = _Sum(self._sum.bytes_read - sum(count for count, _ in forgotten), newest, ())

    def progress(self, runs_found: int, cycles: int) -> ReadingProgress:
        runs_read, sums = len(self._read), self._sum
        return ReadingProgress(
            min(runs_read, runs_found),
            runs_found,
            sums.bytes_read + sum(run.logdir.bytes_read for run in sums.reading),
            cycles,
            max([sums.newest, *(run.logdir.summary()[1] for run in sums.reading)]),
        )


@dataclass(frozen=True, slots=True)
class FileProblems:
    """How many files are damaged or cannot be opened."""

    unreadable: int = 0
    unreadable_example: str = ""
    damaged: int = 0
    damaged_example: str = ""


def problems_of(runs: Iterable[RunReader]) -> FileProblems:
    """What is known so far. A file whose end is still missing is not damaged: it is being written."""
    unreadable: list[str] = []
    damaged: list[str] = []
    for run in runs:
        for file in run.logdir.files():
            path = run.folder / os.fsdecode(file.name)
            if file.error:
                unreadable.append(f"{path}: {os.strerror(file.error)}")
            elif file.bad_records or file.skipped_bytes:
                damaged.append(str(path))
    return FileProblems(len(unreadable), "".join(unreadable[:1]), len(damaged), "".join(damaged[:1]))
