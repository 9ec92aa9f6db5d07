# SPDX-License-Identifier: Apache-2.0
"""Points of runs in the API: curves of several runs, their binary form, tags, and annotations of trainings.

docs/series.md describes the binary form.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from aboard.api.runs import RunProblem
from aboard.errors import InvalidValue

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Something that happened in a run, as `Run.log_event` has it."""

    run: str
    """The uid."""
    name: str
    wall_time: float | None
    """Seconds since 1970."""
    step: int | None
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Annotations of some runs, of each in the order in which they were logged."""

    items: tuple[Annotation, ...]
    left_out: int
    """How many earlier ones are not among these, because they were too many."""
    problems: tuple[RunProblem, ...]
    """Runs whose annotations cannot be read."""


MAGIC = b"ABCOLUMN"
VERSION = 1
_LENGTH = struct.Struct("<I")
_WIDTH = 8
_STEPS = {"f8": "d", "i8": "q"}


class Columns(NamedTuple):
    """What is said of one curve, and its columns as bytes: little-endian, eight bytes a number."""

    about: Mapping[str, Any]
    steps_kind: str
    """`f8` for floats or, where steps go beyond 2^53, `i8` for integers."""
    steps: memoryview
    wall_times: memoryview
    values: memoryview
    means: memoryview | None = None
    """Of what each point of a reduced curve stands for, where they were asked for."""
    counts: memoryview | None = None


def read_columns(data: bytes) -> tuple[list[Columns], list[Any]]:
    """The curves, and what is said of runs that could not be read; InvalidValue where the bytes make no sense."""
    begin = len(MAGIC) + _LENGTH.size
    if data[: len(MAGIC)] != MAGIC or len(data) < begin:
        raise InvalidValue("this is not aboard's binary form of curves")
    end = begin + _LENGTH.unpack_from(data, len(MAGIC))[0]
    try:
        head = json.loads(data[begin:end])
        if head["version"] != VERSION:
            raise InvalidValue(f"the curves are in version {head['version']}, and only {VERSION} is known")
        return list(_parts(memoryview(data)[end:], head["items"])), list(head.get("problems", []))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"the head of the curves cannot be read: {error!r}") from None


def _parts(body: memoryview, items: list[Any]) -> Iterator[Columns]:
    at = 0
    for item in items:
        about = cast("Mapping[str, Any]", item)
        length = int(about["points"]) * _WIDTH
        count = 5 if about.get("means") else 3
        if about["steps"] not in _STEPS or length < 0 or at + count * length > len(body):
            raise InvalidValue("the columns are shorter than their head says")
        parts = [body[at + column * length : at + (column + 1) * length] for column in range(count)]
        at += count * length
        yield Columns(about, str(about["steps"]), *parts)
