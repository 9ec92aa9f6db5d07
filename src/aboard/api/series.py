# SPDX-License-Identifier: Apache-2.0
"""What is told about the points of runs: curves of several runs at once, and which tags a run has."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.api.runs import RunProblem

COLUMNS_TYPE = "application/vnd.aboard.columns"
"""The content type of curves as binary columns; docs/series.md describes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One tag of one logdir of one run: the newest point of each step, in ascending steps."""

    run: int | None
    """The number of the run."""
    uid: str
    name: str
    """The name of the run."""
    workspace: str
    logdir: str
    """Empty for the run itself."""
    tag: str
    total: int
    """How many points there are in the window; more than are told where they were reduced."""
    steps: tuple[int, ...]
    wall_times: tuple[float, ...]
    values: tuple[float, ...]
    means: tuple[float, ...] | None = None
    """Where they were asked for and the curve was reduced: of the finite values since the point before each."""
    counts: tuple[int, ...] | None = None
    """And how many these are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Curves, and runs that could not be read."""

    items: tuple[Curve, ...]
    problems: tuple[RunProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagInfo:
    """A tag of a run, what it holds, and how far it has come."""

    logdir: str
    """Empty for the run itself."""
    tag: str
    kind: str
    """scalar, image, audio, text, histogram, graph or tensor."""
    plugin: str
    """The dashboard of TensorBoard that shows it."""
    count: int
    """Points or entries, the newest of each step."""
    first_step: int | None
    last_step: int | None
    last_wall_time: float | None
    """Seconds since 1970."""
    superseded: int = 0
    """Points of earlier attempts that a later one has logged anew."""
    other_kind: str = ""
    """Another kind of data that was logged under this tag and is left out; empty if there is none."""
    description: str = ""
    """As its writer gave it; not to be shown as HTML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTag:
    """A tag that at least one of some runs has."""

    tag: str
    kind: str
    """scalar, image, audio, text, histogram, graph or tensor."""
    logdirs: tuple[str, ...]
    """Those that it is in; the empty name is a run itself."""
    runs: int
    """How many of the runs have it."""
    superseded: int
    """How many points later attempts of these runs replaced; `GET series` returns them with `superseded`."""
    other_kinds: tuple[str, ...]
    """Other kinds of data that were logged under this tag in the same logdir of a run. They are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTags:
    """The tags that some runs have together, in the order of their charts."""

    items: tuple[SharedTag, ...]
    newest: float | None
    """When the newest point was logged, in seconds since 1970."""
    read: int
    """How many of the runs have been read; while it is below `wanted`, tags may be missing."""
    wanted: int
    problems: tuple[RunProblem, ...] = ()
