# SPDX-License-Identifier: Apache-2.0
"""Single conditions, checked: a field and a value must go together."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from typing import NoReturn

from aboard.errors import InvalidValue, QueryError
from aboard.model.query.like import LikePattern
from aboard.model.query.literals import Literal
from aboard.model.query.syntax import (
    Among,
    And,
    Column,
    ColumnKind,
    Comparison,
    Field,
    IsNan,
    Metric,
    Moment,
    Order,
    Pattern,
    Place,
    Query,
    Tag,
    TextMatch,
    Value,
)
from aboard.model.run_states import RunState
from aboard.model.times import parse_time

_MOST_VALUES = 1000
_DAY = len("2026-11-01")
_NUMBERED = {"experiment": "experiment_number", "name": "number"}  # experiment == 7, run == 343
_UNITS = {"s": "duration", "B": "bytes"}


class ConditionMaker:
    """Makes the conditions of one text."""

    def __init__(self, text: str, zone: tzinfo) -> None:
        self._text = text
        self._zone = zone

    def comparison(self, field: Field, order: Order, literal: Literal) -> Query:
        field = _numbered(field, [literal])
        value = self._value(field, literal)
        if isinstance(value, bool) and order is not Order.EQUAL:
            self._refuse(literal, "true and false are neither smaller nor larger than anything", "use == or !=")
        if order is Order.EQUAL and isinstance(value, Moment) and _is_day(literal):
            return self._on_day(field, value, literal)
        return Comparison(field, order, value)

    def among(self, field: Field, literals: Sequence[Literal]) -> Query:
        if len(literals) > _MOST_VALUES:
            self._refuse(literals[-1], f"a list has at most {_MOST_VALUES} values", "")
        field = _numbered(field, literals)
        for literal in literals:
            if literal.is_none or literal.is_nan:
                self._refuse(literal, "none and nan cannot stand in a list", "add `or … is none`")
        return Among(field, tuple(self._value(field, literal) for literal in literals))

    def text_match(self, field: Field, pattern: Pattern, literal: Literal) -> Query:
        if isinstance(field, Metric) or (isinstance(field, Column) and field.kind not in _TEXTS):
            start, end = field.place.start, field.place.end
            raise QueryError(f"{field} is not a text", self._text, start, end, hint="use ==, <, >, in …")
        if not isinstance(literal.value, str):
            self._refuse(literal, f"{pattern} needs a text", 'as in name like "base%"')
        if pattern in (Pattern.LIKE, Pattern.ILIKE):
            try:
                LikePattern(literal.value)
            except InvalidValue as error:
                self._refuse(literal, error.message, error.hint)
        return TextMatch(field, pattern, literal.value)

    def name_contains(self, text: str, place: Place) -> Query:
        """A plain word is part of a run's name, in capitals or not."""
        pattern = "".join(f"\\{character}" if character in "%_\\" else character for character in text)
        return self.text_match(Column("name", ColumnKind.TEXT, place), Pattern.ILIKE, Literal(f"%{pattern}%", place))

    def is_nan(self, field: Field) -> Query:
        if isinstance(field, (Column, Tag)):
            start, end = field.place.start, field.place.end
            hint = "write `is none` for what is not there"
            raise QueryError(f"{field} is never nan", self._text, start, end, hint=hint)
        return IsNan(field)

    def _value(self, field: Field, literal: Literal) -> Value:
        """The value as this field takes it."""
        value = literal.value
        if value is None or literal.is_nan:
            self._refuse(literal, "nothing can be compared with this", "write `is none` or `is nan`")
        if literal.unit and not (isinstance(field, Column) and field.name == _UNITS[literal.unit]):
            self._refuse(literal, f"{field} has no such unit", f"units go with {_UNITS[literal.unit]} and with now")
        match field:
            case Column(kind=ColumnKind.TIME):
                return self._moment(field, literal)
            case Column(kind=ColumnKind.STATUS):
                return self._status(literal)
            case Column(kind=ColumnKind.TEXT) | Tag():
                if not isinstance(value, str):
                    self._refuse(literal, f"{field} is compared with texts", "texts stand in quotes")
            case Column() | Metric():
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    self._refuse(literal, f"{field} is compared with numbers", "numbers stand without quotes")
            case _:
                if isinstance(value, Moment):
                    self._refuse(literal, f"{field} is no time", "hyperparameters are numbers, texts, true or false")
        return value

    def _moment(self, field: Field, literal: Literal) -> Moment:
        if isinstance(literal.value, Moment):
            return literal.value
        try:
            return Moment(parse_time(literal.value, zone=self._zone))
        except InvalidValue as error:
            self._refuse(literal, f"{field} is compared with times", f"{error.hint}, or now - 7d")

    def _on_day(self, field: Field, start: Moment, literal: Literal) -> Query:
        """A day is equal to each of its moments; which it has, depends on the zone."""
        try:
            next_day = date.fromisoformat(str(literal.value).strip()) + timedelta(days=1)
        except OverflowError:
            self._refuse(literal, "this day has no next one", "")
        end = Moment(parse_time(next_day.isoformat(), zone=self._zone))
        return And((Comparison(field, Order.GREATER_OR_EQUAL, start), Comparison(field, Order.LESS, end)))

    def _status(self, literal: Literal) -> str:
        name = literal.value.lower() if isinstance(literal.value, str) else ""
        if name not in set(RunState):
            near = difflib.get_close_matches(name, list(RunState), n=1)
            guess = f'did you mean "{near[0]}"? ' if near else ""
            self._refuse(literal, "no run has this status", f"{guess}it is one of: {', '.join(RunState)}")
        return name

    def _refuse(self, literal: Literal, problem: str, hint: str) -> NoReturn:
        raise QueryError(problem, self._text, literal.place.start, literal.place.end, hint=hint)


_TEXTS = (ColumnKind.TEXT, ColumnKind.STATUS)


def _numbered(field: Field, literals: Sequence[Literal]) -> Field:
    """Experiments and runs may be meant by their numbers too."""
    if isinstance(field, Column) and field.name in _NUMBERED and all(_is_integer(literal) for literal in literals):
        return Column(_NUMBERED[field.name], ColumnKind.NUMBER, field.place)
    return field


def _is_integer(literal: Literal) -> bool:
    return isinstance(literal.value, int) and not isinstance(literal.value, bool)


def _is_day(literal: Literal) -> bool:
    return isinstance(literal.value, str) and len(literal.value.strip()) == _DAY
