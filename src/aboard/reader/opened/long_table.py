# SPDX-License-Identifier: Apache-2.0
"""Points of many series as one long table: a row has a run, a tag, a step, a wall time and a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aboard._native import Points
from aboard.reader.run_reader import Tag


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one series, which share its names. The columns are those in which the points were decoded."""

    run: str
    tag: str
    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    superseded: bool = False

    @classmethod
    def of(cls, run: str, tag: str, points: Points, *, superseded: bool = False) -> Rows:
        """All points of a series."""
        return cls(writable(run), writable(tag), points.steps, points.wall_times, points.values, superseded)

    def __len__(self) -> int:
        return len(self.steps)

    def parts(self, most: int) -> Iterator[Rows]:
        """The same rows in parts of at most so many, without a copy."""
        for at in range(0, len(self), most):
            part = slice(at, at + most)
            yield replace(self, steps=self.steps[part], wall_times=self.wall_times[part], values=self.values[part])


def rows_of(run: str, tags: Iterable[Tag], *, superseded: bool) -> Iterator[Rows]:
    """Every point of scalar tags; on request also those that a later attempt has logged anew, behind the others."""
    for tag in tags:
        logdir = tag.run.logdir
        yield Rows.of(run, tag.name, logdir.scalars(tag.number, False))
        if superseded:
            yield Rows.of(run, tag.name, logdir.superseded(tag.number), superseded=True)


def writable(name: str) -> str:
    r"""The name as text that can be encoded: bytes in a folder's name that are no UTF-8 become `\udc..`."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
