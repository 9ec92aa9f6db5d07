# SPDX-License-Identifier: Apache-2.0
"""Points of several runs at once, from the pool of open runs: which curves are meant, which window, how many points."""

from __future__ import annotations

import difflib
import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aboard._native import Points
from aboard.api.runs import RunProblem
from aboard.board.tag_pattern import TagPattern
from aboard.errors import InvalidValue, UnknownName
from aboard.model.selected_run import SelectedRun
from aboard.reader.run_reader import DataClass, RunReader, Tag
from aboard.services.curve_window import CurveWindow
from aboard.services.open_run import OpenRun
from aboard.services.open_runs import OpenRuns
from aboard.services.readable_runs import ReadableRuns

_MOST_CURVES = 20_000
_MOST_POINTS = 5_000_000
_PROCESS = secrets.token_hex(8)  # versions count from the start of a process


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvesAsked:
    """Which curves; what is empty or None does not narrow."""

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


class PartMeans(NamedTuple):
    """For each point of a reduced curve the mean of the finite values since the one before, and how many these are."""

    means: NDArray[np.float64]
    counts: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FoundCurve:
    """One curve, its points as columns."""

    run: SelectedRun
    logdir: str
    tag: str
    total: int
    points: Points
    parts: PartMeans | None = None
    """Where the curve was reduced and they were asked for."""


class FoundCurves:
    """Curves that were found, and runs that could not be read. Points are looked at when they are asked for."""

    def __init__(self, asked: CurvesAsked, curves: Sequence[_Curve], problems: Sequence[RunProblem]) -> None:
        self._asked, self._curves, self.problems = asked, curves, problems

    @property
    def stamp(self) -> str:
        """Changes whenever what was read of the runs does."""
        known = [
            (one.run.uid, one.run.name, one.logdir, one.tag.name, one.tag.run.logdir.generation, *one.tag.status)
            for one in self._curves
        ]
        said = repr((_PROCESS, self._asked, known, self.problems))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def points(self) -> list[FoundCurve]:
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
    pool: OpenRuns, readable: ReadableRuns, asked: CurvesAsked, windows: Mapping[str, CurveWindow] | None = None
) -> FoundCurves:
    """The curves of runs, in windows by their uids. Those that cannot be read are told beside the others."""
    runs = readable.places
    wanted = _Wanted(asked)
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
    return FoundCurves(asked, found, [*readable.problems, *problems])


class _Wanted:
    """Says which tags are meant."""

    def __init__(self, asked: CurvesAsked) -> None:
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

    def cut(self, asked: CurvesAsked) -> Iterator[FoundCurve]:
        """The curve in its window, downsampled; of superseded points one for each stretch of ascending steps."""
        for whole in self.tag.superseded() if asked.superseded else [self.tag.points()]:
            points, parts = self.window.of(whole), None
            total = len(points)
            if asked.points and total > asked.points and asked.means:
                points, *columns = points.reduced_with_means(asked.points)
                parts = PartMeans(*columns)
            elif asked.points and total > asked.points:
                points = points.reduced(asked.points)
            yield FoundCurve(self.run, self.logdir, self.tag.name, total, points, parts)


def scalar_tags(reader: RunReader) -> dict[str, Tag]:
    """The tags of a logdir that hold numbers, by name; of two with one name the first."""
    found: dict[str, Tag] = {}
    for tag in reader.tags():
        if tag.meaning.data_class == DataClass.SCALAR:
            found.setdefault(tag.name, tag)
    return found


def _meant(opened: OpenRun, wanted: _Wanted) -> Iterator[tuple[str, Tag]]:
    """By logdir and name."""
    for logdir, reader in sorted(opened.logdirs.items()):
        if wanted.logdir(logdir):
            tags = {name: tag for name, tag in scalar_tags(reader).items() if wanted.tag(name)}
            yield from ((logdir, tags[name]) for name in sorted(tags))


def _refuse_unknown(asked: CurvesAsked, opened: Sequence[OpenRun], found: Sequence[_Curve]) -> None:
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
    near = difflib.get_close_matches(name, known, n=3) or sorted(known)[:5]
    hint = f"nearest: {', '.join(near)}" if near else "they have no curves yet"
    return UnknownName(f"none of the runs has the {what} {name!r}", hint=hint)
