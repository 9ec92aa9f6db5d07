# SPDX-License-Identifier: Apache-2.0
"""What a filter says, as a tree.

A comparison with something that a run does not have is false, whatever the operator; so is one between different kinds
of values, as of a text with a number. `not` turns false into true. `!=`, `not in`, `not like` and the like mean that
there is a value, and that it is another one: the parser writes them as And(Not(IsNone), Not(…)). NaN is a value that
equals nothing and lies below and above nothing. Numbers are compared as 64-bit floating point.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the text something stands; `end` is the first character after it."""

    start: int
    end: int


NOWHERE = Place(0, 0)


class ColumnKind(StrEnum):
    """What a column of a run holds."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    STATUS = "status"


class MetricPart(StrEnum):
    """What of a metric is asked for."""

    LAST = "last"
    MIN = "min"
    MAX = "max"
    COUNT = "count"
    STEP = "step"
    MIN_STEP = "min_step"
    MAX_STEP = "max_step"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that every run has; `note` holds as many texts as there are notes."""

    name: str
    kind: ColumnKind
    place: Place = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Hparam:
    """A hyperparameter by its dotted name."""

    name: str
    place: Place = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"hparams.{self.name}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A part of a metric."""

    name: str
    part: MetricPart = MetricPart.LAST
    place: Place = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"metrics.{self.name}.{self.part}"


@dataclass(frozen=True, slots=True)
class Tag:
    """The text of a tag."""

    name: str
    place: Place = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"tags.{self.name}"


Field: TypeAlias = Column | Hparam | Metric | Tag


@dataclass(frozen=True, slots=True)
class Moment:
    """A fixed time, or one that moves along with the present: `now - 7d`."""

    at: datetime | None = None
    offset: timedelta = timedelta()

    def resolve(self, now: datetime) -> datetime:
        """The time that is meant when the filter is asked at `now`."""
        return (self.at or now) + self.offset


Value: TypeAlias = bool | int | float | str | Moment


class Order(StrEnum):
    """How a value and a field are compared."""

    EQUAL = "=="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


class Pattern(StrEnum):
    """How a text is searched. Only `ilike` takes A to Z for a to z."""

    LIKE = "like"
    ILIKE = "ilike"
    CONTAINS = "contains"
    STARTS = "startswith"
    ENDS = "endswith"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`hparams.lr < 0.01`."""

    field: Field
    order: Order
    value: Value


@dataclass(frozen=True, slots=True)
class Among:
    """`status in ["running", "queued"]`."""

    field: Field
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TextMatch:
    """`name startswith "base"`."""

    field: Field
    pattern: Pattern
    text: str


@dataclass(frozen=True, slots=True)
class IsNone:
    """`ended is none`: the run does not have it."""

    field: Field


@dataclass(frozen=True, slots=True)
class IsNan:
    """`metrics.loss.last is nan`."""

    field: Field


@dataclass(frozen=True, slots=True)
class And:
    """All of its parts hold; two parts at least."""

    parts: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of its parts holds; two parts at least."""

    parts: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Its part does not hold."""

    part: Query


Condition: TypeAlias = Comparison | Among | TextMatch | IsNone | IsNan
Query: TypeAlias = Condition | And | Or | Not


def conditions(query: Query) -> list[Condition]:
    """Every condition of a filter, from left to right."""
    match query:
        case And(parts) | Or(parts):
            return [condition for part in parts for condition in conditions(part)]
        case Not(part):
            return conditions(part)
        case _:
            return [query]
