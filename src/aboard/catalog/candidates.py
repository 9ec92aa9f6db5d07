# SPDX-License-Identifier: Apache-2.0
"""Few runs that include all which a filter can hold for, found along an index.

A filter that holds for few runs is answered from these, and one that holds for many by walking along the order in which
they are shown until a page is full. Which of the two it is, is counted, up to a limit: databases guess it, badly where
values depend on each other, and SQLite without any knowledge of them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, func, select, union_all

from aboard.catalog.queries import QueryCompiler
from aboard.catalog.schema import SORTED_COLUMNS, runs
from aboard.model.query.syntax import (
    And,
    Column,
    Condition,
    Hparam,
    IsNone,
    Metric,
    Not,
    Or,
    Query,
    Tag,
    TextMatch,
)

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
        case Not(part=IsNone(field=Hparam() | Metric() | Tag()) as absent):
            return [_rows(compiler, absent)]
        case Not():
            return []
        case IsNone():
            return []
        case _:
            return _condition(compiler, query)


def _condition(compiler: QueryCompiler, condition: Condition) -> list[Select[tuple[int]]]:
    match condition.field:
        case Column(name=name):
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
