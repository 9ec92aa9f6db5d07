# SPDX-License-Identifier: Apache-2.0
"""Evaluates a filter for one run in Python, for runs that are not in a catalog, or not yet."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any

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
from aboard.model.runs import MetricSummary, RunRecord

_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}


def matches(query: Query, run: RunRecord, now: datetime) -> bool:
    """Whether a filter holds for a run, when it is asked at `now`."""
    match query:
        case And(parts):
            return all(matches(part, run, now) for part in parts)
        case Or(parts):
            return any(matches(part, run, now) for part in parts)
        case Not(part):
            return not matches(part, run, now)
        case _:
            return _holds(query, run, now)


def _holds(condition: Condition, run: RunRecord, now: datetime) -> bool:
    values = values_of(condition.field, run)
    match condition:
        case IsNone():
            return not values
        case IsNan():
            return any(isinstance(value, float) and math.isnan(value) for value in values)
        case FieldComparison(order=order, value=wanted):
            return any(_compare(value, order, wanted, now) for value in values)
        case Among(values=among):
            return any(_compare(value, Operator.EQUAL, wanted, now) for value in values for wanted in among)
        case TextMatch(pattern=pattern, text=text):
            return any(isinstance(value, str) and text_fits(value, pattern, text) for value in values)


def values_of(field: Field, run: RunRecord) -> list[object]:
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


def _metric_part(metric: MetricSummary, part: MetricPart) -> float | None:
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
