# SPDX-License-Identifier: Apache-2.0
"""The points of curves of several runs, from the pool of open runs: which curves, which window, how many points."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from aboard._native import Points
from aboard.api.runs import RunProblem
from aboard.api.series import SharedTag, SharedTags
from aboard.board.tag_pattern import TagPattern
from aboard.errors import InvalidValue, UnknownName
from aboard.foundation.text import closest_names
from aboard.model.selections import SelectedRun
from aboard.reader.run import RunReader, Tag
from aboard.reader.tags import DataClass
from aboard.services.runs.open_runs import OpenRun, OpenRuns, ReadableRuns
from aboard.services.runs.tags import in_sections

Edge = TypeVar("Edge")
_LOWEST_STEP, _HIGHEST_STEP = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveWindow:
    """What is None does not narrow; times are seconds since 1970."""

    first_step: int | None = None
    last_step: int | None = None
    since: float | None = None
    until: float | None = None

    def of(self, points: Points) -> Points:
        """One point more on either side, so that a line can be drawn to the edge."""
        first, last = self.first_step, self.last_step
        if self.since is not None or self.until is not None:
            times = points.wall_times
            since = -np.inf if self.since is None else self.since
            until = np.inf if self.until is None else self.until
            inside = np.flatnonzero((times >= since) & (times <= until))
            if len(inside):
                begin, end = int(points.steps[inside[0]]), int(points.steps[inside[-1]])
            else:
                begin, end = _between_neighbours(points, since, until)
            first, last = begin if first is None else max(first, begin), end if last is None else min(last, end)
        if first is None and last is None:
            return points
        return points.window(_LOWEST_STEP if first is None else first, _HIGHEST_STEP if last is None else last)


def _between_neighbours(points: Points, since: float, until: float) -> tuple[int, int]:
    """The steps between the last point before a time without points and the first one after it; none at its ends."""
    times = points.wall_times
    before, after = np.flatnonzero(times < since), np.flatnonzero(times > until)
    if not len(before) or not len(after):
        return _HIGHEST_STEP, _LOWEST_STEP
    # Clocks may go back: the nearest in time need not be neighbours in the curve.
    near = sorted((before[np.argmax(times[before])], after[np.argmin(times[after])]))
    return int(points.steps[near[0]]) + 1, int(points.steps[near[1]]) - 1


def curve_windows(
    first_steps: Sequence[int], last_steps: Sequence[int], since: Sequence[float], until: Sequence[float]
) -> list[CurveWindow]:
    """Windows by their edges: of each edge none, one for all windows, or as many as of the others."""
    count = max(map(len, (first_steps, last_steps, since, until)))
    if any(len(edges) not in {0, 1, count} for edges in (first_steps, last_steps, since, until)):
        told = f"{len(first_steps)}, {len(last_steps)}, {len(since)} and {len(until)}"
        raise InvalidValue(
            f"from_step, to_step, since and until are named {told} times",
            hint="name each of them not at all, once for all runs, or once for each run",
        )
    return [
        CurveWindow(
            first_step=_edge(first_steps, at),
            last_step=_edge(last_steps, at),
            since=_edge(since, at),
            until=_edge(until, at),
        )
        for at in range(count)
    ]


def _edge(edges: Sequence[Edge], at: int) -> Edge | None:
    if not edges:
        return None
    return edges[at] if len(edges) > 1 else edges[0]


_MOST_CURVES = 20_000
_MOST_POINTS = 5_000_000
_PROCESS = secrets.token_hex(8)  # versions count from the start of a process


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveQuery:
    """Which curves. Empty and None fields do not narrow the query."""

    tags: Sequence[str] = ()
    prefixes: Sequence[str] = ()
    pattern: str = ""
    """A regular expression that is searched for in tags."""
    logdirs: Sequence[str] | None = None
    windows: Sequence[CurveWindow] = ()
    """One for all runs, or one for each in their order."""
    points: int = 0
    """At most so many of each curve; 0 for all."""
    means: bool = False
    """Whether the points of a reduced curve also tell the mean of what they stand for."""
    superseded: bool = False
    """The points that later attempts replaced, instead of the newest ones."""

    def windows_of(self, uids: Sequence[str]) -> dict[str, CurveWindow]:
        """The window of each run."""
        if len(self.windows) <= 1:
            return dict.fromkeys(uids, self.windows[0] if self.windows else CurveWindow())
        if len(self.windows) != len(uids):
            raise InvalidValue(
                f"{len(self.windows)} windows are named for {len(uids)} different runs",
                hint="name from_step, to_step, since and until once for all runs, or once for each run in their order",
            )
        return dict(zip(uids, self.windows, strict=True))


class BucketMeans(NamedTuple):
    """For each point of a downsampled curve the mean and the count of the finite values since the point before."""

    means: NDArray[np.float64]
    counts: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CurvePoints:
    """One curve, its points as columns."""

    run: SelectedRun
    logdir: str
    tag: str
    total: int
    points: Points
    parts: BucketMeans | None = None
    """For a downsampled curve, if the query asked for them."""


class CurveSet:
    """Curves that match a query, and runs that could not be read. Points are decoded when `points` is called."""

    def __init__(self, asked: CurveQuery, curves: Sequence[_Curve], problems: Sequence[RunProblem]) -> None:
        self._asked, self._curves, self.problems = asked, curves, problems

    @property
    def stamp(self) -> str:
        """Changes whenever what was read of the runs does."""
        known = [
            (one.run.uid, one.run.name, one.logdir, one.tag.name, one.tag.run.logdir.generation, one.tag.status)
            for one in self._curves
        ]
        said = repr((_PROCESS, self._asked, known, self.problems))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def points(self) -> list[CurvePoints]:
        """The points of all curves, in their windows, reduced."""
        found = [part for one in self._curves for part in one.cut(self._asked)]
        told = sum(len(one.points) for one in found)
        if told > _MOST_POINTS:
            raise InvalidValue(
                f"these are {told} points",
                hint=f"at most {_MOST_POINTS} are told at once; name fewer tags, or points=1000",
            )
        return found


def curves_of(
    pool: OpenRuns, readable: ReadableRuns, asked: CurveQuery, windows: Mapping[str, CurveWindow] | None = None
) -> CurveSet:
    """The curves of runs, in windows by their uids. Those that cannot be read are told beside the others."""
    runs = readable.places
    wanted = _TagFilter(asked)
    with pool.fresh(list(runs)) as opened:
        failed = {run.place: error for run in opened if (error := run.failure) is not None}
        if failed and len(failed) == len(opened):
            raise next(iter(failed.values()))
        found = [
            _Curve(runs[run.place], logdir, tag, (windows or {}).get(runs[run.place].uid, CurveWindow()))
            for run in opened
            if run.place not in failed
            for logdir, tag in _meant(run, wanted)
        ]
        if not failed and not readable.problems:
            _refuse_unknown(asked, opened, found)
    if len(found) > _MOST_CURVES:
        raise InvalidValue(f"these are {len(found)} curves", hint=f"ask for at most {_MOST_CURVES}; name fewer tags")
    problems = [RunProblem(run=runs[place].name, code=one.code, message=one.message) for place, one in failed.items()]
    return CurveSet(asked, found, [*readable.problems, *problems])


class _TagFilter:
    """Which tags and logdirs match a query."""

    def __init__(self, asked: CurveQuery) -> None:
        self._tags, self._prefixes = frozenset(asked.tags), tuple(asked.prefixes)
        self._pattern = TagPattern(asked.pattern) if asked.pattern else None
        self._all = not (self._tags or self._prefixes or self._pattern)
        logdirs = asked.logdirs
        self._logdirs = None if logdirs is None else {"" if one == "." else one for one in logdirs}

    def logdir(self, name: str) -> bool:
        return self._logdirs is None or name in self._logdirs

    def tag(self, name: str) -> bool:
        if self._all or name in self._tags or (self._prefixes and name.startswith(self._prefixes)):
            return True
        return self._pattern is not None and self._pattern.is_in(name)


@dataclass(frozen=True, slots=True)
class _Curve:
    run: SelectedRun
    logdir: str
    tag: Tag
    window: CurveWindow

    def cut(self, asked: CurveQuery) -> Iterator[CurvePoints]:
        """The curve in its window, downsampled; of superseded points one for each stretch of ascending steps."""
        for whole in self.tag.superseded() if asked.superseded else [self.tag.points()]:
            points, parts = self.window.of(whole), None
            total = len(points)
            if asked.points and total > asked.points and asked.means:
                points, *columns = points.reduced_with_means(asked.points)
                parts = BucketMeans(*columns)
            elif asked.points and total > asked.points:
                points = points.reduced(asked.points)
            yield CurvePoints(self.run, self.logdir, self.tag.name, total, points, parts)


def scalar_tags(reader: RunReader) -> dict[str, Tag]:
    """The tags of a logdir that hold numbers, by name; of two with one name the first."""
    found: dict[str, Tag] = {}
    for tag in reader.tags():
        if tag.meaning.data_class == DataClass.SCALAR:
            found.setdefault(tag.name, tag)
    return found


def _meant(opened: OpenRun, wanted: _TagFilter) -> Iterator[tuple[str, Tag]]:
    """By logdir and name."""
    for logdir, reader in sorted(opened.logdirs.items()):
        if wanted.logdir(logdir):
            tags = {name: tag for name, tag in scalar_tags(reader).items() if wanted.tag(name)}
            yield from ((logdir, tags[name]) for name in sorted(tags))


def _refuse_unknown(asked: CurveQuery, opened: Sequence[OpenRun], found: Sequence[_Curve]) -> None:
    """A tag that none of the runs has is an error that tells the nearest; one that some lack is not."""
    has = {one.tag.name for one in found}
    for wanted in asked.tags:
        if wanted not in has:
            known = {name for run in opened for reader in run.logdirs.values() for name in scalar_tags(reader)}
            raise _unknown("tag", wanted, known)
    logdirs = {logdir for run in opened for logdir in run.logdirs}
    for wanted in asked.logdirs or ():
        if wanted not in logdirs | {"."}:
            raise _unknown("logdir", wanted, logdirs)


def _unknown(what: str, name: str, known: set[str]) -> UnknownName:
    near = closest_names(name, known, 3) or sorted(known)[:5]
    hint = f"nearest: {', '.join(near)}" if near else "they have no curves yet"
    return UnknownName(f"none of the runs has the {what} {name!r}", hint=hint)


_MOST_FIRST_POINTS = 200_000
_SYSTEM = re.compile(r"system(/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstChartsQuery:
    """How many charts, of how many points a curve; tags that are pinned come first."""

    charts: int
    points: int
    means: bool = False
    pinned: Sequence[str] = ()


class FirstCharts(NamedTuple):
    """Curves, and which tags they are all of."""

    tags: Sequence[str]
    curves: CurveSet


def first_charts(pool: OpenRuns, runs: ReadableRuns, tags: SharedTags, asked: FirstChartsQuery) -> FirstCharts:
    """The curves of the charts that are seen first, of fewer where there are many runs; none while runs are read."""
    charts = min(asked.charts, max(1, _MOST_FIRST_POINTS // max(1, len(runs.places) * asked.points)))
    wanted = _in_sight(tags.items, asked.pinned)[:charts] if tags.read == tags.wanted else []
    question = CurveQuery(tags=wanted, points=asked.points, means=asked.means)
    if not wanted:
        return FirstCharts((), CurveSet(question, (), ()))
    return FirstCharts(wanted, curves_of(pool, runs, question))


def _in_sight(tags: Sequence[SharedTag], pinned: Sequence[str]) -> list[str]:
    """Tags of charts from the top: numbers of the training, not of its machine."""
    shown = [one.tag for one in tags if one.kind == "scalar" and not all(map(_SYSTEM.match, one.logdirs))]
    return [*(tag for tag in pinned if tag in set(shown)), *(tag for tag in in_sections(shown) if tag not in pinned)]
