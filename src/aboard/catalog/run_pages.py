# SPDX-License-Identifier: Apache-2.0
"""Finds one page of a list of runs: which runs are on it, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, null, select

from aboard.catalog.candidates import few_candidates
from aboard.catalog.cursors import Cursor
from aboard.catalog.queries import QueryCompiler
from aboard.catalog.run_order import Phase, RunOrder
from aboard.catalog.schema import runs
from aboard.errors import InvalidValue
from aboard.model.query.syntax import Query


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
        found = select(func.count()).select_from(runs).where(*self._holds(runs.c.id))
        narrow = self._candidates() if self.query is not None else None
        if narrow is not None:
            found = found.where(runs.c.id.in_(narrow))
        return self.connection.execute(found).scalar_one()

    def _fits(self, mark: Cursor) -> bool:
        return mark.phase < len(self.order.phases) and self.order.phases[mark.phase].fits(mark)

    def _candidates(self) -> Select[tuple[int]] | None:
        return few_candidates(self.connection, self.compiler, self.query, self.few)

    def _holds(self, run_id: ColumnElement[int]) -> list[ColumnElement[bool]]:
        filtered = [] if self.query is None else [self.compiler.where(self.query, run_id)]
        if run_id.compare(runs.c.id):
            return [*self.compiler.scope.holds(), *filtered]
        # The filter stands first: it is asked before the run itself is looked up.
        return [*filtered, exists().where(runs.c.id == run_id, *self.compiler.scope.holds())]

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
        value = null() if phase.value is None else phase.value
        query = select(phase.run_id, value).where(*phase.holds, *self._holds(phase.run_id))
        if start is not None:
            query = query.where(phase.after(start))
        rows = self.connection.execute(query.order_by(*phase.order()).limit(limit))
        return [Cursor(index, value, number) for number, value in rows]

    def _sorted(self, narrow: Select[tuple[int]], limit: int, after: Cursor | None) -> list[Cursor]:
        """All of few runs, sorted here."""
        tables = runs if self.order.joined is None else runs.outerjoin(*self.order.joined)
        query = select(runs.c.id, *self.order.values()).select_from(tables)
        query = query.where(runs.c.id.in_(narrow), *self._holds(runs.c.id))
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


_Place = tuple[Any, int]  # a value and the number of a run


def _sortable(place: _Place) -> Any:
    return place[1] if place[0] is None else place


def _beyond(places: list[_Place], after: Cursor, phase: Phase) -> list[_Place]:
    mark = _sortable((after.value, after.number))
    if phase.descending:
        return [place for place in places if _sortable(place) < mark]
    return [place for place in places if _sortable(place) > mark]
