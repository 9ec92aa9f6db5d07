# SPDX-License-Identifier: Apache-2.0
"""The tree of a filter, its `like` patterns, and its canonical text.

A comparison with something that a run does not have is false, whatever the operator; so is one between different kinds
of values, such as a text and a number. `not` turns false into true. `!=`, `not in`, `not like` and the others mean that
there is a value, and that it is another one: the parser writes them as And(Not(IsNone), Not(…)). NaN is a value that
equals nothing and lies below and above nothing. Numbers are compared as 64-bit floating point.

In a `like` pattern `%` stands for any characters and `_` for one; a backslash escapes them. The canonical text of a
tree has one spelling, and its times mean the same in every time zone.
"""

from __future__ import annotations

import json
import re
import string
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from aboard.errors import InvalidValue
from aboard.model.times import time_text


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A span of the filter's text; `end` is the first character after it."""

    start: int
    end: int


NOWHERE = TextSpan(0, 0)


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
class ColumnField:
    """A column that every run has; `note` holds as many texts as there are notes."""

    name: str
    kind: ColumnKind
    place: TextSpan = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class HparamField:
    """A hyperparameter by its dotted name."""

    name: str
    place: TextSpan = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"hparams.{self.name}"


@dataclass(frozen=True, slots=True)
class MetricField:
    """A part of a metric."""

    name: str
    part: MetricPart = MetricPart.LAST
    place: TextSpan = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"metrics.{self.name}.{self.part}"


@dataclass(frozen=True, slots=True)
class TagField:
    """The text of a tag."""

    name: str
    place: TextSpan = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"tags.{self.name}"


Field: TypeAlias = ColumnField | HparamField | MetricField | TagField


@dataclass(frozen=True, slots=True)
class TimeValue:
    """A fixed time, or one relative to the time of evaluation: `now - 7d`."""

    at: datetime | None = None
    offset: timedelta = timedelta()

    def resolve(self, now: datetime) -> datetime:
        """The time that is meant when the filter is asked at `now`."""
        return (self.at or now) + self.offset


Value: TypeAlias = bool | int | float | str | TimeValue


class Operator(StrEnum):
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
class FieldComparison:
    """`hparams.lr < 0.01`."""

    field: Field
    order: Operator
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


Condition: TypeAlias = FieldComparison | Among | TextMatch | IsNone | IsNan
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


_LONGEST = 400
_MOST_GAPS = 8  # engines that match patterns go back and forth between gaps
_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def ascii_lower(text: str) -> str:
    """`text` with A to Z made small. Other letters are left alone, because databases disagree about them."""
    return text.translate(_SMALL)


class LikePattern:
    """A pattern that was checked. Its pieces are characters, None for one of any kind, and ... for any number."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self._pieces: list[str | object | None] = []
        if len(pattern) > _LONGEST:
            raise InvalidValue(f"a pattern has at most {_LONGEST} characters", hint="use contains or startswith")
        characters = iter(pattern)
        for character in characters:
            if character == "\\":
                following = next(characters, None)
                if following is None:
                    raise InvalidValue("a pattern cannot end with a backslash", hint="write two for one")
                self._pieces.append(following)
            else:
                self._pieces.append({"%": ..., "_": None}.get(character, character))
        if self._pieces.count(...) > _MOST_GAPS:
            raise InvalidValue(f"a pattern has at most {_MOST_GAPS} %", hint="use several conditions")

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` fits, in time proportional to its length times the pattern's."""
        at, piece, gap, resume = 0, 0, -1, 0
        while at < len(text):
            current = self._pieces[piece] if piece < len(self._pieces) else ""
            if current is ...:
                gap, resume = piece, at
                piece += 1
            elif current is None or current == text[at]:
                at, piece = at + 1, piece + 1
            elif gap >= 0:
                piece, resume = gap + 1, resume + 1
                at = resume
            else:
                return False
        return all(rest is ... for rest in self._pieces[piece:])

    def as_glob(self) -> str:
        """The same pattern for GLOB of SQLite, whose own LIKE takes capitals for small letters."""
        return "".join(map(_glob_piece, self._pieces))

    def as_like(self) -> str:
        """The same pattern for LIKE of PostgreSQL."""
        return "".join(map(_like_piece, self._pieces))


def _glob_piece(piece: object) -> str:
    if piece is ...:
        return "*"
    return "?" if piece is None else (f"[{piece}]" if str(piece) in "*?[" else str(piece))


def _like_piece(piece: object) -> str:
    if piece is ...:
        return "%"
    return "_" if piece is None else (f"\\{piece}" if str(piece) in "%_\\" else str(piece))


_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_PLAIN_NAME = re.compile(r"\w(?:[\w/:@%+-]*\w)?(?:\.\w(?:[\w/:@%+-]*\w)?)*")


def query_text(query: Query) -> str:
    """The text from which the parser makes this very tree."""
    if (negated := _negated(query)) is not None:
        return negated
    match query:
        case And(parts):
            return " and ".join(_in_brackets(part, And, Or) for part in parts)
        case Or(parts):
            return " or ".join(_in_brackets(part, Or) for part in parts)
        case Not(part=IsNone(field)):
            return f"{_field(field)} is not none"
        case Not(part):
            return f"not {_in_brackets(part, And, Or)}"
        case FieldComparison(field, order, value):
            return f"{_field(field)} {order} {value_text(value)}"
        case Among(field, values):
            return f"{_field(field)} in [{', '.join(map(value_text, values))}]"
        case TextMatch(field, pattern, text):
            return f"{_field(field)} {pattern} {_quoted(text)}"
        case IsNone(field):
            return f"{_field(field)} is none"
        case IsNan(field):
            return f"{_field(field)} is nan"


def value_text(value: Value) -> str:
    """A value as a filter has it, on one line."""
    match value:
        case bool():
            return json.dumps(value)
        case str():
            return _quoted(value)
        case TimeValue(at=None, offset=offset):
            return _from_now(offset)
        case TimeValue():
            assert value.at is not None
            return _quoted(time_text(value.at + value.offset))
        case _:
            return repr(value)


def _in_brackets(query: Query, *weaker: type[And | Or]) -> str:
    text = query_text(query)
    return f"({text})" if isinstance(query, weaker) and _negated(query) is None else text


def _negated(query: Query) -> str | None:
    """`!=` and the like, which the parser writes as two conditions: there is a value, and it is another one."""
    match query:
        case And((Not(part=IsNone(field)), Not(part=condition))):
            pass
        case _:
            return None
    match condition:
        case FieldComparison(other, Operator.EQUAL, value) if other == field:
            return f"{_field(field)} != {value_text(value)}"
        case Among(other, values) if other == field:
            return f"{_field(field)} not in [{', '.join(map(value_text, values))}]"
        case TextMatch(other, pattern, text) if other == field:
            return f"{_field(field)} not {pattern} {_quoted(text)}"
        case IsNan(other) if other == field:
            return f"{_field(field)} is not nan"
        case _:
            return None


def _field(field: Field) -> str:
    match field:
        case ColumnField(name):
            return name
        case HparamField(name):
            return f"hparams.{_name(name)}"
        case MetricField(name, part):
            return f"metrics.{_name(name)}.{part}"
        case TagField(name):
            return f"tags.{_name(name)}"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _from_now(offset: timedelta) -> str:
    if not offset:
        return "now"
    return f"now {'-' if offset < timedelta() else '+'} {abs(offset).total_seconds()!r}s"


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPED)}"'
