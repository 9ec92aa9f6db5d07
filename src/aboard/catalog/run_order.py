# SPDX-License-Identifier: Apache-2.0
"""The order of a list of runs, as phases that follow each other: numbers, then texts, then flags, then the rest.

A phase is walked along an index: of `runs`, or of `hparams` or `metrics` for one field of a workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, FromClause, and_, exists, not_, or_, select, type_coerce

from aboard.catalog.columns import Moment, Words
from aboard.catalog.cursors import Cursor
from aboard.catalog.queries import QueryCompiler, metric_column, run_column
from aboard.catalog.schema import hparams, metrics, runs, workspaces
from aboard.model.query.sorting import Sort
from aboard.model.query.syntax import And, Column, Comparison, Field, Hparam, Metric, Query


@dataclass(frozen=True, slots=True)
class Phase:
    """Runs that have a value in `value`, in its order; or the rest, by number, when that is None."""

    run_id: ColumnElement[int]
    value: ColumnElement[Any] | None
    descending: bool
    holds: tuple[ColumnElement[bool], ...] = ()

    def order(self) -> list[ColumnElement[Any]]:
        columns = [self.run_id] if self.value is None else [self.value, self.run_id]
        return [column.desc() if self.descending else column.asc() for column in columns]

    def fits(self, cursor: Cursor) -> bool:
        """Whether a mark can be one of this phase."""
        if self.value is None or cursor.value is None:
            return self.value is None and cursor.value is None
        return isinstance(cursor.value, str) == isinstance(self.value.type, Words)

    def after(self, cursor: Cursor) -> ColumnElement[bool]:
        """What holds for the runs that come after the mark, in this phase."""
        beyond = self.run_id < cursor.number if self.descending else self.run_id > cursor.number
        if self.value is None:
            return beyond
        if self.descending:
            return and_(self.value <= cursor.value, or_(self.value < cursor.value, beyond))
        return and_(self.value >= cursor.value, or_(self.value > cursor.value, beyond))


@dataclass(frozen=True, slots=True)
class RunOrder:
    """The phases of an order, and where the values of all of them stand for one run."""

    phases: tuple[Phase, ...]
    joined: tuple[FromClause, ColumnElement[bool]] | None  # what `runs` is joined with to have the values

    def values(self) -> list[ColumnElement[Any]]:
        return [phase.value for phase in self.phases if phase.value is not None]


def run_order(sort: Sort, compiler: QueryCompiler, query: Query | None) -> RunOrder:
    """The phases in which the runs that a filter holds for are walked."""
    match sort.field:
        case Hparam() | Metric() as field:
            return _by_other_table(field, sort.descending, compiler, _required(query, field))
        case Column(name="number"):
            return RunOrder((Phase(runs.c.id, None, sort.descending),), None)
        case Column() as field:
            return _by_column(field, sort.descending)
        case _:
            raise AssertionError(sort)


def _required(query: Query | None, field: Field) -> list[Comparison]:
    """What must hold for the very field that runs are sorted by; walking begins and ends where it does."""
    parts = query.parts if isinstance(query, And) else [query]
    return [part for part in parts if isinstance(part, Comparison) and part.field == field]


def _by_other_table(
    field: Hparam | Metric, descending: bool, compiler: QueryCompiler, required: Sequence[Comparison]
) -> RunOrder:
    scope = compiler.scope
    rows, values = _value_columns(field)
    about = scope.has_field(rows.c.field_id, field)
    holds = [about, *(compiler.row_holds(condition, rows) for condition in required)]
    phases = [Phase(rows.c.run_id, value, descending, (*holds, value.is_not(None))) for value in values]
    if required:  # no run without a value is asked for
        return RunOrder(tuple(phases), (rows, and_(rows.c.run_id == runs.c.id, about)))
    other, other_values = _value_columns(field)
    has_value = exists().where(
        other.c.run_id == runs.c.id,
        scope.has_field(other.c.field_id, field),
        or_(*(value.is_not(None) for value in other_values)),
    )
    rest = Phase(runs.c.id, None, descending=True, holds=(not_(has_value),))
    return RunOrder((*phases, rest), (rows, and_(rows.c.run_id == runs.c.id, about)))


def _value_columns(field: Hparam | Metric) -> tuple[FromClause, list[ColumnElement[Any]]]:
    if isinstance(field, Metric):
        rows = metrics.alias()
        return rows, [metric_column(rows, field.part)]
    rows = hparams.alias()
    return rows, [rows.c.number, rows.c.text_head, rows.c.flag]


def _by_column(field: Column, descending: bool) -> RunOrder:
    if field.name == "workspace":
        name: ColumnElement[Any] = (
            select(workspaces.c.name).where(workspaces.c.id == runs.c.workspace_id).scalar_subquery()
        )
        return RunOrder((Phase(runs.c.id, name, descending),), None)
    column = run_column(runs, field)
    value = type_coerce(column, BigInteger) if isinstance(column.type, Moment) else column
    if not getattr(column, "nullable", True):
        return RunOrder((Phase(runs.c.id, value, descending),), None)
    with_value = Phase(runs.c.id, value, descending, (column.is_not(None),))
    return RunOrder((with_value, Phase(runs.c.id, None, descending=True, holds=(column.is_(None),))), None)
