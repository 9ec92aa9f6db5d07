# SPDX-License-Identifier: Apache-2.0
"""The order of a list of runs, and one page of it.

The order consists of phases that follow each other: numbers, then texts, then flags, then the rest. A phase is walked
along an index: of `runs`, or of `hparams` or `metrics` for one field of a workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    exists,
    func,
    not_,
    null,
    or_,
    select,
    type_coerce,
)

from aboard.catalog.columns import Moment, Words
from aboard.catalog.paging import Cursor
from aboard.catalog.runs.filters import QueryCompiler, few_candidates, metric_column, run_column
from aboard.catalog.schema import hparams, metrics, runs, workspaces
from aboard.errors import InvalidValue
from aboard.model.query.fields import Sort
from aboard.model.query.tree import (
    And,
    ColumnField,
    Field,
    FieldComparison,
    HparamField,
    MetricField,
    Query,
    conditions,
)


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
        case HparamField() | MetricField() as field:
            return _by_other_table(field, sort.descending, compiler, _required(query, field))
        case ColumnField(name="number"):
            return RunOrder((Phase(runs.c.id, None, sort.descending),), None)
        case ColumnField() as field:
            return _by_column(field, sort.descending)
        case _:
            raise AssertionError(sort)


def _required(query: Query | None, field: Field) -> list[FieldComparison]:
    """What must hold for the very field that runs are sorted by; walking begins and ends where it does."""
    parts = query.parts if isinstance(query, And) else [query]
    return [part for part in parts if isinstance(part, FieldComparison) and part.field == field]


def _by_other_table(
    field: HparamField | MetricField, descending: bool, compiler: QueryCompiler, required: Sequence[FieldComparison]
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


def _value_columns(field: HparamField | MetricField) -> tuple[FromClause, list[ColumnElement[Any]]]:
    if isinstance(field, MetricField):
        rows = metrics.alias()
        return rows, [metric_column(rows, field.part)]
    rows = hparams.alias()
    return rows, [rows.c.number, rows.c.text_head, rows.c.flag]


def _by_column(field: ColumnField, descending: bool) -> RunOrder:
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


_FIRST = 2000


@dataclass(frozen=True, slots=True)
class RunPages:
    """Pages of the runs that a filter holds for, in one order."""

    connection: Connection
    compiler: QueryCompiler
    query: Query | None
    order: RunOrder
    few: int  # up to so many candidates are sorted here instead of walked along an index

    def page(self, limit: int, after: Cursor | None) -> list[Cursor]:
        """The runs of the page, as marks."""
        if after is not None and not self._fits(after):
            raise InvalidValue("this is not where a page of this list ended", hint="begin with the first page")
        by_own_column = self.order.joined is None
        # Without a filter an index of `runs` gives the page at once.
        narrow = None if self.query is None and by_own_column else self._candidates()
        return self._walked(limit, after) if narrow is None else self._sorted(narrow, limit, after)

    def count(self) -> int:
        """How many runs there are on all pages."""
        found = select(func.count()).select_from(runs).where(*self._holds(runs.c.id, self.compiler))
        narrow = self._candidates() if self.query is not None else None
        if narrow is not None:
            found = found.where(runs.c.id.in_(narrow))
        return self.connection.execute(found).scalar_one()

    def _fits(self, mark: Cursor) -> bool:
        return mark.phase < len(self.order.phases) and self.order.phases[mark.phase].fits(mark)

    def _candidates(self) -> Select[tuple[int]] | None:
        return few_candidates(self.connection, self.compiler, self.query, self.few)

    def _holds(self, run_id: ColumnElement[int], compiler: QueryCompiler) -> list[ColumnElement[bool]]:
        filtered = [] if self.query is None else [compiler.where(self.query, run_id)]
        if run_id.compare(runs.c.id):
            return [*compiler.scope.holds(), *filtered]
        # The filter stands first: it is asked before the run itself is looked up.
        return [*filtered, compiler.exists(runs.c.id == run_id, *compiler.scope.holds())]

    def _walked(self, limit: int, after: Cursor | None) -> list[Cursor]:
        """Along the phases, one after the other, until the page is full."""
        page: list[Cursor] = []
        for index, phase in enumerate(self.order.phases):
            if after is None or index >= after.phase:
                start = after if after is not None and index == after.phase else None
                page += self._walked_phase(index, phase, limit - len(page), start)
            if len(page) == limit:
                break
        return page

    def _walked_phase(self, index: int, phase: Phase, limit: int, start: Cursor | None) -> list[Cursor]:
        in_order = self._in_order(phase, start)
        if self.query is not None and not self.compiler.is_sqlite:
            page = self._marks(index, self._among_first(phase, in_order, limit))
            if len(page) == limit:
                return page
        return self._marks(index, in_order.where(*self._holds(phase.run_id, self.compiler)).limit(limit))

    def _marks(self, index: int, query: Select[Any, Any]) -> list[Cursor]:
        return [Cursor(index, row[1], row[0]) for row in self.connection.execute(query).all()]

    def _in_order(self, phase: Phase, start: Cursor | None) -> Select[Any, Any]:
        value = null() if phase.value is None else phase.value
        query = select(phase.run_id.label("run_id"), value.label("value")).where(*phase.holds)
        if start is not None:
            query = query.where(phase.after(start))
        return query.order_by(*phase.order())

    def _among_first(self, phase: Phase, in_order: Select[Any, Any], limit: int) -> Select[Any, Any]:
        """A page out of the first runs of the order, a few thousand.

        For PostgreSQL, which would otherwise join whole tables and sort them. When these runs do not fill the page it
        may do so: then the filter holds for few of them.
        """
        if phase.run_id.compare(runs.c.id):
            own = [self.compiler.where(part, runs.c.id) for part in _parts(self.query) if _is_about_columns(part)]
            in_order = in_order.where(*self.compiler.scope.holds(), *own)
        first = in_order.limit(_FIRST).subquery()
        walking = replace(self.compiler, is_walking=True)
        ordered = Phase(first.c.run_id, None if phase.value is None else first.c.value, phase.descending).order()
        query = select(first.c.run_id, first.c.value).where(*self._holds(first.c.run_id, walking))
        return query.order_by(*ordered).limit(limit)

    def _sorted(self, narrow: Select[tuple[int]], limit: int, after: Cursor | None) -> list[Cursor]:
        """All of few runs, sorted here."""
        tables = runs if self.order.joined is None else runs.outerjoin(*self.order.joined)
        query = select(runs.c.id, *self.order.values()).select_from(tables)
        query = query.where(runs.c.id.in_(narrow), *self._holds(runs.c.id, self.compiler))
        phases: list[list[_Place]] = [[] for _ in self.order.phases]
        for row in self.connection.execute(query).all():
            values = row[1:]
            index = next((index for index, value in enumerate(values) if value is not None), len(values))
            phases[index].append((values[index], row[0]) if index < len(values) else (None, row[0]))
        page: list[Cursor] = []
        for index, (phase, places) in enumerate(zip(self.order.phases, phases, strict=True)):
            places.sort(key=_sortable, reverse=phase.descending)
            if after is not None and index <= after.phase:
                places = _beyond(places, after, phase) if index == after.phase else []  # noqa: PLW2901
            page += [Cursor(index, value, number) for value, number in places[: limit - len(page)]]
        return page


def _parts(query: Query | None) -> Sequence[Query]:
    """What must hold together."""
    return query.parts if isinstance(query, And) else ([] if query is None else [query])


def _is_about_columns(query: Query) -> bool:
    """Whether a row of `runs` alone answers it."""
    return all(isinstance(one.field, ColumnField) and one.field.name != "note" for one in conditions(query))


_Place = tuple[Any, int]  # a value and the number of a run


def _sortable(place: _Place) -> Any:
    return place[1] if place[0] is None else place


def _beyond(places: list[_Place], after: Cursor, phase: Phase) -> list[_Place]:
    mark = _sortable((after.value, after.number))
    if phase.descending:
        return [place for place in places if _sortable(place) < mark]
    return [place for place in places if _sortable(place) > mark]
