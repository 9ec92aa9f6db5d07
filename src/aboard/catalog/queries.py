# SPDX-License-Identifier: Apache-2.0
"""Filters as SQL. Values travel only as bound parameters.

Each condition becomes true or false and never NULL, so that `not` means in SQL what it means in
`aboard.model.query.evaluate`: conditions on other tables are EXISTS, and a column that may be NULL is asked for it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    and_,
    exists,
    false,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
)

from aboard.catalog.columns import storable
from aboard.catalog.keys import stored_key
from aboard.catalog.schema import TEXT_HEAD, hparams, metrics, notes, runs, tags, workspaces
from aboard.catalog.scope import Scope
from aboard.catalog.text_conditions import text_fits
from aboard.model.query.evaluate import as_double
from aboard.model.query.syntax import (
    Among,
    And,
    Column,
    Comparison,
    Condition,
    Hparam,
    IsNan,
    IsNone,
    Metric,
    MetricPart,
    Moment,
    Not,
    Or,
    Order,
    Query,
    Tag,
    TextMatch,
    Value,
)

_ORDERS: dict[Order, Callable[[Any, Any], ColumnElement[bool]]] = {
    Order.EQUAL: operator.eq,
    Order.LESS: operator.lt,
    Order.LESS_OR_EQUAL: operator.le,
    Order.GREATER: operator.gt,
    Order.GREATER_OR_EQUAL: operator.ge,
}
_METRIC_COLUMNS = {MetricPart.STEP: "last_step"}  # all others are named as their part
_RUN_COLUMNS = {"number": "id", "experiment_number": "experiment_id"}  # all others are named as the field
_INT64 = 2**63


def run_column(rows: FromClause, field: Column) -> ColumnElement[Any]:
    """The column of `runs` that holds a field."""
    return rows.c[_RUN_COLUMNS.get(field.name, field.name)]


def metric_column(rows: FromClause, part: MetricPart) -> ColumnElement[Any]:
    """The column of `metrics` that holds a part."""
    return rows.c[_METRIC_COLUMNS.get(part, str(part))]


@dataclass(frozen=True, slots=True)
class QueryCompiler:
    """Writes filters about runs of a scope, asked at `now`."""

    scope: Scope
    now: datetime
    is_sqlite: bool
    is_walking: bool = False  # rows are taken in an index's order until there are enough

    def where(self, query: Query, run_id: ColumnElement[int]) -> ColumnElement[bool]:
        """Whether a filter holds for the run whose number is in the column `run_id`."""
        match query:
            case And(parts):
                return and_(*(self.where(part, run_id) for part in parts))
            case Or(parts):
                return or_(*(self.where(part, run_id) for part in parts))
            case Not(part):
                return not_(self.where(part, run_id))
            case _:
                return self._condition(query, run_id)

    def _condition(self, condition: Condition, run_id: ColumnElement[int]) -> ColumnElement[bool]:
        match condition.field:
            case Column(name="note") | Tag() | Hparam() | Metric():
                table = self.rows_of(condition.field)
                found = self.exists(table.c.run_id == run_id, self.row_holds(condition, table))
                return not_(found) if isinstance(condition, IsNone) else found
            case Column():
                if run_id.compare(runs.c.id):
                    return self.row_holds(condition, runs)
                rows = runs.alias()
                return self.exists(rows.c.id == run_id, self.row_holds(condition, rows))

    def exists(self, *holds: ColumnElement[bool]) -> ColumnElement[bool]:
        """Whether there is such a row.

        PostgreSQL likes to turn this into a join of whole tables, which it then sorts. OFFSET keeps it from that.
        """
        rows = select(literal(1)).where(*holds)
        return (rows.offset(literal_column("0")) if self.is_walking and not self.is_sqlite else rows).exists()

    def rows_of(self, field: Column | Tag | Hparam | Metric) -> FromClause:
        """The table, under a name of its own, whose rows may hold such a field."""
        match field:
            case Tag():
                return tags.alias()
            case Hparam():
                return hparams.alias()
            case Metric():
                return metrics.alias()
            case Column():
                return notes.alias()

    def row_holds(self, condition: Condition, rows: FromClause) -> ColumnElement[bool]:
        """Whether one row makes a condition true. For IsNone of other tables: whether it makes it false."""
        match condition.field:
            case Hparam() as field:
                return and_(self.scope.has_field(rows.c.field_id, field), self._hparam(condition, rows))
            case Metric() as field:
                return and_(self.scope.has_field(rows.c.field_id, field), self._metric(condition, field.part, rows))
            case Tag(name):
                return and_(rows.c.name == stored_key(name), self._text(condition, rows.c.value))
            case Column(name="note"):
                return self._text(condition, rows.c.text)
            case Column(name="workspace"):
                names = workspaces.alias()
                found = exists().where(names.c.id == rows.c.workspace_id, self._text(condition, names.c.name))
                return not_(found) if isinstance(condition, IsNone) else found
            case Column() as field:
                return self._column(condition, run_column(rows, field))

    def _hparam(self, condition: Condition, rows: FromClause) -> ColumnElement[bool]:
        is_text = rows.c.text_head.is_not(None)
        match condition:
            case IsNone():
                return rows.c.kind != "none"
            case IsNan():
                return and_(rows.c.kind == "float", rows.c.number.is_(None))
            case TextMatch(pattern=pattern, text=text):
                return and_(is_text, text_fits(rows.c.text, pattern, text, is_sqlite=self.is_sqlite))
            case Comparison(order=order, value=bool(flag)):
                return _ORDERS[order](rows.c.flag, int(flag))
            case Comparison(order=order, value=str(text)):
                if order is not Order.EQUAL:
                    return and_(is_text, _ORDERS[order](rows.c.text, text))
                begins = rows.c.text_head == storable(text)[:TEXT_HEAD]
                return begins if len(storable(text)) < TEXT_HEAD else and_(begins, rows.c.text == text)
            case Comparison(order=order, value=value):
                return _ORDERS[order](rows.c.number, as_double(value))
            case Among(values=values):
                return or_(*(self._hparam(Comparison(condition.field, Order.EQUAL, value), rows) for value in values))

    def _metric(self, condition: Condition, part: MetricPart, rows: FromClause) -> ColumnElement[bool]:
        column = metric_column(rows, part)
        match condition:
            case IsNone() if part is MetricPart.LAST:
                return true()  # NULL stands for NaN there
            case IsNone():
                return column.is_not(None)
            case IsNan():
                return column.is_(None) if part is MetricPart.LAST else false()
            case Comparison(order=order, value=value):
                exact = part not in (MetricPart.LAST, MetricPart.MIN, MetricPart.MAX)
                return _ORDERS[order](column, _whole(value) if exact else as_double(value))
            case Among(values=values):
                return or_(*(self._metric(Comparison(condition.field, Order.EQUAL, one), part, rows) for one in values))
            case TextMatch():
                return false()

    def _text(self, condition: Condition, column: ColumnElement[str]) -> ColumnElement[bool]:
        match condition:
            case IsNone():
                return true()
            case Comparison(order=order, value=value):
                return _ORDERS[order](column, value)
            case Among(values=values):
                return column.in_(values)
            case TextMatch(pattern=pattern, text=text):
                return text_fits(column, pattern, text, is_sqlite=self.is_sqlite)
            case IsNan():
                return false()

    def _column(self, condition: Condition, column: ColumnElement[Any]) -> ColumnElement[bool]:
        match condition:
            case IsNone():
                return column.is_(None)
            case Comparison(order=order, value=value):
                holds = _ORDERS[order](column, self._column_value(value))
            case Among(values=values):
                holds = column.in_([self._column_value(value) for value in values])
            case TextMatch():
                holds = self._text(condition, column)
            case IsNan():
                return false()
        return and_(column.is_not(None), holds) if getattr(column, "nullable", True) else holds

    def _column_value(self, value: Value) -> object:
        if isinstance(value, Moment):
            return value.resolve(self.now)
        return value if isinstance(value, str) else _whole(value)


def _whole(value: Value) -> object:
    """A number for a column of whole numbers; what these can hold is compared exactly."""
    assert isinstance(value, (int, float))
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return literal(value)
    return int(value) if abs(value) < _INT64 else literal(as_double(value))
