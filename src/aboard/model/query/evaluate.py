# SPDX-License-Identifier: Apache-2.0
"""Evaluates a filter in Python, for runs that are not in a catalog, or not yet."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from aboard.model.hparams import HparamValue
from aboard.model.query.tree import (
    Among,
    And,
    ColumnField,
    Condition,
    Field,
    FieldComparison,
    HparamField,
    IsNan,
    IsNone,
    LikePattern,
    MetricField,
    MetricPart,
    Not,
    Operator,
    Or,
    Pattern,
    Query,
    TagField,
    TextMatch,
    TimeValue,
    Value,
    ascii_lower,
)
from aboard.model.runs import Attempt, Note
from aboard.model.states import RunState

_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


class QueriedPoint(Protocol):
    """A point of a metric, as far as filters look at it."""

    @property
    def value(self) -> float: ...
    @property
    def step(self) -> int: ...


class QueriedMetric(Protocol):
    """The summary of a metric, as far as filters look at it; `MetricSummary` is one."""

    @property
    def last(self) -> QueriedPoint: ...
    @property
    def smallest(self) -> QueriedPoint | None: ...
    @property
    def largest(self) -> QueriedPoint | None: ...
    @property
    def count(self) -> int: ...


class QueriedRun(Protocol):
    """What filters and sort orders look at; `RunRecord` is one. Columns are looked up by name."""

    @property
    def uid(self) -> str: ...
    @property
    def number(self) -> int | None: ...
    @property
    def name(self) -> str: ...
    @property
    def workspace(self) -> str: ...
    @property
    def experiment_number(self) -> int | None: ...
    @property
    def status(self) -> RunState: ...
    @property
    def deleted(self) -> datetime | None: ...
    @property
    def hparams(self) -> Mapping[str, HparamValue]: ...
    @property
    def metrics(self) -> Mapping[str, QueriedMetric]: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def notes(self) -> Sequence[Note]: ...
    @property
    def attempts(self) -> Sequence[Attempt]: ...


RunTest: TypeAlias = Callable[[QueriedRun], bool]


def compile_query(query: Query, now: datetime) -> RunTest:
    """A function that tells whether the filter, asked at `now`, matches a run."""
    match query:
        case And(parts):
            tests = [compile_query(part, now) for part in parts]
            return lambda run: all(test(run) for test in tests)
        case Or(parts):
            tests = [compile_query(part, now) for part in parts]
            return lambda run: any(test(run) for test in tests)
        case Not(part):
            test = compile_query(part, now)
            return lambda run: not test(run)
        case IsNone(field):
            return lambda run: not values_of(field, run)
        case _:
            return _compile_condition(query, now)


def _compile_condition(condition: Condition, now: datetime) -> RunTest:
    field, holds = condition.field, _value_test(condition, now)
    return lambda run: any(holds(value) for value in values_of(field, run))


def _value_test(condition: Condition, now: datetime) -> Callable[[object], bool]:
    match condition:
        case IsNan():
            return lambda value: isinstance(value, float) and math.isnan(value)
        case FieldComparison(order=order, value=wanted):
            return lambda value: _compare(value, order, wanted, now)
        case Among(values=among):
            return lambda value: any(_compare(value, Operator.EQUAL, wanted, now) for wanted in among)
        case TextMatch(pattern=pattern, text=text):
            return lambda value: isinstance(value, str) and text_fits(value, pattern, text)
        case IsNone():
            return lambda _: False


def values_of(field: Field, run: QueriedRun) -> list[object]:
    """What a run has in a field: nothing, one value, or several notes."""
    match field:
        case HparamField(name):
            value: object = run.hparams.get(name)
        case TagField(name):
            value = run.tags.get(name)
        case MetricField(name, part):
            value = _metric_part(run.metrics[name], part) if name in run.metrics else None
        case ColumnField("note"):
            return [note.text for note in run.notes]
        case ColumnField("attempts"):
            value = len(run.attempts)
        case ColumnField("status"):
            value = str(run.status)
        case ColumnField(name):
            value = getattr(run, name)
            value = None if value == "" else value
    return [] if value is None else [value]


def _metric_part(metric: QueriedMetric, part: MetricPart) -> float | None:
    point = {"min": metric.smallest, "max": metric.largest}.get(part.removesuffix("_step"), metric.last)
    if part is MetricPart.COUNT:
        return metric.count
    if point is None:
        return None
    return point.step if part in (MetricPart.STEP, MetricPart.MIN_STEP, MetricPart.MAX_STEP) else point.value


def _compare(value: object, order: Operator, wanted: Value, now: datetime) -> bool:
    if isinstance(wanted, TimeValue):
        wanted_value: object = wanted.resolve(now)
        comparable = isinstance(value, datetime)
    elif isinstance(wanted, bool):
        wanted_value, comparable = wanted, isinstance(value, bool)
    elif isinstance(wanted, str):
        wanted_value, comparable = wanted, isinstance(value, str)
    else:
        comparable = isinstance(value, (int, float)) and not isinstance(value, bool)
        if comparable:
            return _ORDERS[order](as_double(value), as_double(wanted))
        return False
    return comparable and _ORDERS[order](value, wanted_value)


def as_double(number: object) -> float:
    """A number as 64-bit floating point; what is too large is infinite."""
    assert isinstance(number, (int, float))
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def text_fits(text: str, pattern: Pattern, wanted: str) -> bool:
    """Whether a text fits what was asked."""
    match pattern:
        case Pattern.CONTAINS:
            return wanted in text
        case Pattern.STARTS:
            return text.startswith(wanted)
        case Pattern.ENDS:
            return text.endswith(wanted)
        case Pattern.LIKE:
            return LikePattern(wanted).matches(text)
        case Pattern.ILIKE:
            return LikePattern(ascii_lower(wanted)).matches(ascii_lower(text))
