# SPDX-License-Identifier: Apache-2.0
"""The series of one tag: the curve of a scalar, as columns that are not copied, or stored values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import index
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from aboard._native import Points, TagEntry
from aboard.errors import InvalidValue
from aboard.reader.opened.tables import AsTable, Rows
from aboard.reader.opened.values import StoredValue
from aboard.reader.run import Tag

_LOWEST_STEP, _HIGHEST_STEP = -(2**63), 2**63 - 1


class Point(NamedTuple):
    """One logged number."""

    step: int
    wall_time: float
    value: float


class ScalarSeries(AsTable, Sequence[Point]):
    """The points of one tag of one run at the time of the look-up; look it up again after `refresh()`.

    These are the points that a board and the page show: ascending steps, the newest point of each. `all` also has
    the other points of a step that was logged several times, in the order of the run's history. `superseded` has what
    a restarted run logged again. Columns are read-only and stay valid while somebody holds them.
    """

    def __init__(self, run: str, tag: str, points: Points, every: Points | None, superseded: Points | None) -> None:
        self.run = run
        self.tag = tag
        self._points, self._every, self._superseded = points, every, superseded

    @classmethod
    def of(cls, run: str, tag: Tag) -> ScalarSeries:
        """The series of a tag as it is now."""
        logdir = tag.run.logdir
        return cls(run, tag.name, tag.points(), logdir.scalars(tag.number, False), logdir.superseded(tag.number))

    @property
    def steps(self) -> NDArray[np.int64]:
        """The column of steps, without a copy."""
        return self._points.steps

    @property
    def wall_times(self) -> NDArray[np.float64]:
        """When the points were logged, in seconds since 1970, without a copy."""
        return self._points.wall_times

    @property
    def values(self) -> NDArray[np.float64]:
        """The column of values, without a copy."""
        return self._points.values

    @property
    def all(self) -> ScalarSeries:
        """Every point of the current history in logging order, several of one step included."""
        return self._part(self._whole(self._every))

    @property
    def superseded(self) -> ScalarSeries:
        """Points of earlier attempts at steps that a later attempt logged again."""
        return self._part(self._whole(self._superseded))

    def reduced(self, count: int) -> ScalarSeries:
        """At most `count` points that keep the shape: extremes, ends and gaps of every stretch."""
        if index(count) < 1:
            raise InvalidValue(f"reduced() got {count}; allowed are positive numbers of points")
        points = self._points
        return self._part(points.reduced(min(index(count), len(points))) if len(points) else points)

    def window(self, first: int, last: int) -> ScalarSeries:
        """The points with steps from `first` to `last`, and one more on either side."""
        if np.any(self.steps[1:] <= self.steps[:-1]):
            raise InvalidValue(
                f"window() needs ascending steps, and those of {self!r} go back",
                hint="use the window of the whole series, or a mask over .steps",
            )
        first, last = index(first), index(last)
        if first > last:
            raise InvalidValue(f"window() got steps from {first} to {last}; the first must not be above the last")
        first, last = (min(max(step, _LOWEST_STEP), _HIGHEST_STEP) for step in (first, last))
        return self._part(self._points.window(first, last))

    @property
    def first(self) -> Point | None:
        """The first point; None when there is none."""
        return self[0] if len(self) else None

    @property
    def last(self) -> Point | None:
        """The last point; None when there is none."""
        return self[-1] if len(self) else None

    @property
    def min(self) -> Point | None:
        """The first point with the smallest value; NaN counts only when there is nothing else."""
        return self._extreme(np.nanargmin)

    @property
    def max(self) -> Point | None:
        """The first point with the largest value; NaN counts only when there is nothing else."""
        return self._extreme(np.nanargmax)

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, position: int) -> Point: ...
    @overload
    def __getitem__(self, position: slice) -> list[Point]: ...
    def __getitem__(self, position: int | slice) -> Point | list[Point]:
        if isinstance(position, slice):
            return [Point(*row) for row in self._zipped(position)]
        return Point(int(self.steps[position]), float(self.wall_times[position]), float(self.values[position]))

    def __iter__(self) -> Iterator[Point]:
        return (Point(*row) for row in self._zipped(slice(None)))

    def __repr__(self) -> str:
        steps = f", steps {self.steps.min()} to {self.steps.max()}" if len(self) else ""
        return f"<{self.tag!r} of {self.run!r}: {len(self)} points{steps}>"

    def _zipped(self, part: slice) -> Iterator[tuple[int, float, float]]:
        columns = self.steps[part].tolist(), self.wall_times[part].tolist(), self.values[part].tolist()
        return zip(*columns, strict=True)

    def _extreme(self, position_of: Any) -> Point | None:
        if not len(self):
            return None
        return self[0] if np.isnan(self.values).all() else self[int(position_of(self.values))]

    def _whole(self, points: Points | None) -> Points:
        if points is None:
            raise InvalidValue(f"{self!r} is a part of a series", hint="use .all and .superseded of the whole series")
        return points

    def _part(self, points: Points) -> ScalarSeries:
        return ScalarSeries(self.run, self.tag, points, None, None)

    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """The points as rows of the long table."""
        yield Rows.of(self.run, self.tag, self._points)
        if superseded:
            yield from (replace(rows, superseded=True) for rows in self.superseded.rows())


Value = TypeVar("Value", bound=StoredValue)


class StoredSeries(Sequence[Value], Generic[Value]):
    """The values of one tag at the time of the look-up; each is read from its file on first use.

    As on a board: ascending steps, the newest value of each. `all` also has the others.
    """

    def __init__(self, run: str, tag: Tag, kind: type[Value], entries: list[TagEntry] | None = None) -> None:
        self.run = run
        self.tag = tag.name
        self.plugin = tag.meaning.plugin
        self.description = tag.meaning.description
        self._tag, self._kind = tag, kind
        self._entries = tag.entries() if entries is None else entries

    @property
    def plugin_content(self) -> bytes:
        """What the writer told the plugin about this tag: a message that the plugin understands."""
        return self._tag.meaning.content

    @property
    def steps(self) -> NDArray[np.int64]:
        """The steps of all values."""
        return np.array([entry.step for entry in self._entries], np.int64)

    @property
    def wall_times(self) -> NDArray[np.float64]:
        """When they were logged, in seconds since 1970."""
        return np.array([entry.wall_time for entry in self._entries], np.float64)

    @property
    def all(self) -> StoredSeries[Value]:
        """Every value of the current history in logging order, several of one step included."""
        entries = self._tag.run.logdir.media(self._tag.number)
        return StoredSeries(self.run, self._tag, self._kind, entries)

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, position: int) -> Value: ...
    @overload
    def __getitem__(self, position: slice) -> StoredSeries[Value]: ...
    def __getitem__(self, position: int | slice) -> Value | StoredSeries[Value]:
        if isinstance(position, slice):
            return StoredSeries(self.run, self._tag, self._kind, self._entries[position])
        return self._kind(self._tag, self._entries[position])

    def __repr__(self) -> str:
        return f"<{self.tag!r} of {self.run!r}: {len(self)} x {self._kind.__name__}>"
