# SPDX-License-Identifier: Apache-2.0
"""Filters as SQL: the runs in question, the conditions, and the choice of an index. Values are bound parameters only.

Each condition becomes true or false and never NULL, so that `not` means in SQL what it means in
`aboard.model.query.evaluate`: conditions on other tables are EXISTS, and a nullable column is checked for NULL.

A filter that few runs match is answered from candidates found along an index. One that many match is answered by
walking along the order of the list until a page is full. Which of the two it is, is counted up to a limit: databases
estimate it badly where values depend on each other, and SQLite has no statistics.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Subquery,
    and_,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
    union_all,
)

from aboard.catalog.columns import storable
from aboard.catalog.lookup import VisibleWorkspaces, stored_key, text_fits, visible_workspace_ids, workspace_ids
from aboard.catalog.schema import SORTED_COLUMNS, TEXT_HEAD, fields, hparams, metrics, notes, runs, tags, workspaces
from aboard.model.query.evaluate import as_double
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
    MetricField,
    MetricPart,
    Not,
    Operator,
    Or,
    Query,
    TagField,
    TextMatch,
    TimeValue,
    Value,
)


@dataclass(frozen=True, slots=True)
class RunScope:
    """The workspaces that a query is about, or all of them, and the ids of the fields that it uses there."""

    workspaces: tuple[int, ...] | None
    in_bin: bool = False
    field_ids: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict[tuple[str, str], tuple[int, ...]])

    @classmethod
    def of(
        cls,
        connection: Connection,
        names: Iterable[str] | None,
        asked: Iterable[Field],
        *,
        in_bin: bool = False,
        seen: VisibleWorkspaces = None,
    ) -> RunScope:
        """The scope of these workspaces, or of all that are seen, ready for questions about these fields."""
        if names is not None:
            ids = tuple(workspace_ids(connection, names, seen))
        else:
            ids = None if seen is None else visible_workspace_ids(connection, seen)
        return cls(ids, in_bin, _field_ids(connection, ids, asked))

    def holds(self) -> list[ColumnElement[bool]]:
        """What must hold for a row of `runs`."""
        state: ColumnElement[bool] = runs.c.deleted.is_not(None) if self.in_bin else runs.c.deleted.is_(None)
        return [state] if self.workspaces is None else [_one_of(runs.c.workspace_id, self.workspaces), state]

    def newest(self, count: int, *columns: ColumnElement[Any]) -> Subquery:
        """The numbers of the newest runs, with these columns of theirs: what is asked of them stays quick."""
        query = select(runs.c.id, *columns).where(*self.holds())
        return query.order_by(runs.c.id.desc()).limit(count).subquery()

    def has_field(self, column: ColumnElement[int], asked: HparamField | MetricField) -> ColumnElement[bool]:
        """Whether a row of `hparams` or `metrics` is about this field."""
        return _one_of(column, self.field_ids.get(_key(asked), ()))


def _one_of(column: ColumnElement[int], values: tuple[int, ...]) -> ColumnElement[bool]:
    # A single value keeps the order of an index that begins with this column.
    return column == values[0] if len(values) == 1 else column.in_(values)


def _key(asked: HparamField | MetricField) -> tuple[str, str]:
    return ("hparam" if isinstance(asked, HparamField) else "metric", stored_key(asked.name))


def _field_ids(
    connection: Connection, workspaces: tuple[int, ...] | None, asked: Iterable[Field]
) -> dict[tuple[str, str], tuple[int, ...]]:
    wanted = {_key(one) for one in asked if isinstance(one, (HparamField, MetricField))}
    if not wanted:
        return {}
    query = select(fields.c.kind, fields.c.name, fields.c.id).where(
        fields.c.kind.in_(sorted({kind for kind, _ in wanted})), fields.c.name.in_(sorted({name for _, name in wanted}))
    )
    if workspaces is not None:
        query = query.where(fields.c.workspace_id.in_(workspaces))
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for kind, name, number in connection.execute(query.order_by(fields.c.id)):
        found[kind, name] = (*found.get((kind, name), ()), number)
    return found


_ORDERS: dict[Operator, Callable[[Any, Any], ColumnElement[bool]]] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}
_METRIC_COLUMNS = {MetricPart.STEP: "last_step"}  # all others are named as their part
_RUN_COLUMNS = {"number": "id", "experiment_number": "experiment_id"}  # all others are named as the field
_INT64 = 2**63


def run_column(rows: FromClause, field: ColumnField) -> ColumnElement[Any]:
    """The column of `runs` that holds a field."""
    return rows.c[_RUN_COLUMNS.get(field.name, field.name)]


def metric_column(rows: FromClause, part: MetricPart) -> ColumnElement[Any]:
    """The column of `metrics` that holds a part."""
    return rows.c[_METRIC_COLUMNS.get(part, str(part))]


@dataclass(frozen=True, slots=True)
class QueryCompiler:
    """Writes filters about runs of a scope, asked at `now`."""

    scope: RunScope
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
            case ColumnField(name="note") | TagField() | HparamField() | MetricField():
                table = self.rows_of(condition.field)
                found = self.exists(table.c.run_id == run_id, self.row_holds(condition, table))
                return not_(found) if isinstance(condition, IsNone) else found
            case ColumnField():
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

    def rows_of(self, field: ColumnField | TagField | HparamField | MetricField) -> FromClause:
        """The table, under a name of its own, whose rows may hold such a field."""
        match field:
            case TagField():
                return tags.alias()
            case HparamField():
                return hparams.alias()
            case MetricField():
                return metrics.alias()
            case ColumnField():
                return notes.alias()

    def row_holds(self, condition: Condition, rows: FromClause) -> ColumnElement[bool]:
        """Whether one row makes a condition true. For IsNone of other tables: whether it makes it false."""
        match condition.field:
            case HparamField() as field:
                return and_(self.scope.has_field(rows.c.field_id, field), self._hparam(condition, rows))
            case MetricField() as field:
                return and_(self.scope.has_field(rows.c.field_id, field), self._metric(condition, field.part, rows))
            case TagField(name):
                return and_(rows.c.name == stored_key(name), self._text(condition, rows.c.value))
            case ColumnField(name="note"):
                return self._text(condition, rows.c.text)
            case ColumnField(name="workspace"):
                names = workspaces.alias()
                found = exists().where(names.c.id == rows.c.workspace_id, self._text(condition, names.c.name))
                return not_(found) if isinstance(condition, IsNone) else found
            case ColumnField() as field:
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
            case FieldComparison(order=order, value=bool(flag)):
                return _ORDERS[order](rows.c.flag, int(flag))
            case FieldComparison(order=order, value=str(text)):
                if order is not Operator.EQUAL:
                    return and_(is_text, _ORDERS[order](rows.c.text, text))
                begins = rows.c.text_head == storable(text)[:TEXT_HEAD]
                return begins if len(storable(text)) < TEXT_HEAD else and_(begins, rows.c.text == text)
            case FieldComparison(order=order, value=value):
                return _ORDERS[order](rows.c.number, as_double(value))
            case Among(values=values):
                return or_(
                    *(self._hparam(FieldComparison(condition.field, Operator.EQUAL, value), rows) for value in values)
                )

    def _metric(self, condition: Condition, part: MetricPart, rows: FromClause) -> ColumnElement[bool]:
        column = metric_column(rows, part)
        match condition:
            case IsNone() if part is MetricPart.LAST:
                return true()  # NULL stands for NaN there
            case IsNone():
                return column.is_not(None)
            case IsNan():
                return column.is_(None) if part is MetricPart.LAST else false()
            case FieldComparison(order=order, value=value):
                exact = part not in (MetricPart.LAST, MetricPart.MIN, MetricPart.MAX)
                return _ORDERS[order](column, _whole(value) if exact else as_double(value))
            case Among(values=values):
                return or_(
                    *(self._metric(FieldComparison(condition.field, Operator.EQUAL, one), part, rows) for one in values)
                )
            case TextMatch():
                return false()

    def _text(self, condition: Condition, column: ColumnElement[str]) -> ColumnElement[bool]:
        match condition:
            case IsNone():
                return true()
            case FieldComparison(order=order, value=value):
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
            case FieldComparison(order=order, value=value):
                holds = _ORDERS[order](column, self._column_value(value))
            case Among(values=values):
                holds = column.in_([self._column_value(value) for value in values])
            case TextMatch():
                holds = self._text(condition, column)
            case IsNan():
                return false()
        return and_(column.is_not(None), holds) if getattr(column, "nullable", True) else holds

    def _column_value(self, value: Value) -> object:
        if isinstance(value, TimeValue):
            return value.resolve(self.now)
        return value if isinstance(value, str) else _whole(value)


def _whole(value: Value) -> object:
    """A number for a column of whole numbers; what these can hold is compared exactly."""
    assert isinstance(value, (int, float))
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return literal(value)
    return int(value) if abs(value) < _INT64 else literal(as_double(value))


FEW = 1000
_MOST_TRIED = 8
_INDEXED = frozenset({*SORTED_COLUMNS, "number", "uid", "experiment_number"})


def few_candidates(
    connection: Connection, compiler: QueryCompiler, query: Query | None, few: int
) -> Select[tuple[int]] | None:
    """A query for the numbers of at most `few` runs, or None when there is no such query."""
    everything = select(runs.c.id).where(*compiler.scope.holds())
    found = [*(_supersets(compiler, query)[: _MOST_TRIED - 1] if query else []), everything]
    counts = [select(func.count()).select_from(one.limit(few + 1).subquery()).scalar_subquery() for one in found]
    counted = connection.execute(select(*counts)).one()
    smallest = min(range(len(found)), key=lambda index: counted[index])
    return found[smallest] if counted[smallest] <= few else None


def _supersets(compiler: QueryCompiler, query: Query) -> list[Select[tuple[int]]]:
    """Queries for runs, each of which finds all that `query` holds for, and maybe others."""
    match query:
        case And(parts):
            return [superset for part in parts for superset in _supersets(compiler, part)]
        case Or(parts):
            choices = [_supersets(compiler, part) for part in parts]
            if not all(choices):
                return []
            together = union_all(*(choice[0] for choice in choices)).subquery()
            return [select(together.c[0])]
        case Not(part=IsNone(field=HparamField() | MetricField() | TagField()) as absent):
            return [_rows(compiler, absent)]
        case Not():
            return []
        case IsNone():
            return []
        case _:
            return _condition(compiler, query)


def _condition(compiler: QueryCompiler, condition: Condition) -> list[Select[tuple[int]]]:
    match condition.field:
        case ColumnField(name=name):
            if name not in _INDEXED or isinstance(condition, TextMatch):
                return []
            return [select(runs.c.id).where(*compiler.scope.holds(), compiler.row_holds(condition, runs))]
        case _ if isinstance(condition, TextMatch):
            return [_rows(compiler, IsNone(condition.field))]  # whatever has this field
        case _:
            return [_rows(compiler, condition)]


def _rows(compiler: QueryCompiler, condition: Condition) -> Select[Any]:
    rows = compiler.rows_of(condition.field)
    return select(rows.c.run_id).where(compiler.row_holds(condition, rows))
