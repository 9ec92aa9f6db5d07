# SPDX-License-Identifier: Apache-2.0
"""Runs out of the catalog, with their hyperparameters, metrics, tags, notes and attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, select

from aboard.catalog.keys import stored_key
from aboard.catalog.run_rows import attempt_of, hparam_value, metric_summary, note_of, run_of
from aboard.catalog.schema import attempts, fields, hparams, metrics, notes, runs, tags, workspaces
from aboard.model.run import Run

_HEAVY = ("details", "digest", "indexed", "deleted_why", "name_key")


def read_runs(
    connection: Connection,
    numbers: Sequence[int],
    *,
    hparam_names: Sequence[str] | None = None,
    metric_names: Sequence[str] | None = None,
    with_details: bool = False,
) -> list[Run]:
    """The runs with these numbers, in this order; a number that is nobody's is left out.

    Of hyperparameters and metrics only the named ones are read; all, when there are no names.
    """
    if not numbers:
        return []
    columns = [column for column in runs.c if column.name not in _HEAVY]
    query = select(*columns, workspaces.c.name.label("workspace")).join_from(runs, workspaces)
    if with_details:
        query = query.add_columns(runs.c.details)
    rows = {row["id"]: row for row in connection.execute(query.where(runs.c.id.in_(numbers))).mappings()}
    parts = _parts(connection, numbers, hparam_names, metric_names)
    return [
        run_of(
            rows[number],
            hparams=parts[0][number],
            metrics=parts[1][number],
            tags=parts[2][number],
            notes=tuple(parts[3][number].values()),
            attempts=tuple(parts[4][number].values()),
            details=rows[number]["details"] if with_details else {},
        )
        for number in numbers
        if number in rows
    ]


_Parts = Mapping[int, dict[Any, Any]]


def _parts(
    connection: Connection,
    numbers: Sequence[int],
    hparam_names: Sequence[str] | None,
    metric_names: Sequence[str] | None,
) -> tuple[_Parts, _Parts, _Parts, _Parts, _Parts]:
    return (
        _by_field(connection, hparams, numbers, hparam_names, hparam_value),
        _by_field(connection, metrics, numbers, metric_names, metric_summary),
        _grouped(_rows(connection, tags, numbers, tags.c.name), "name", lambda row: row["value"]),
        _grouped(_rows(connection, notes, numbers, notes.c.position), "position", note_of),
        _grouped(_rows(connection, attempts, numbers, attempts.c.number), "number", attempt_of),
    )


def _by_field(
    connection: Connection,
    table: Table,
    numbers: Sequence[int],
    names: Sequence[str] | None,
    value_of: Callable[[RowMapping], Any],
) -> _Parts:
    if names is not None and not names:
        return defaultdict(dict)
    query = select(table, fields.c.name.label("field_name")).join_from(table, fields)
    query = query.where(table.c.run_id.in_(numbers)).order_by(table.c.run_id, fields.c.name)
    if names is not None:
        query = query.where(fields.c.name.in_([stored_key(name) for name in names]))
    return _grouped(connection.execute(query).mappings(), "field_name", value_of)


def _rows(
    connection: Connection, table: Table, numbers: Sequence[int], order: ColumnElement[Any]
) -> Iterator[RowMapping]:
    query = select(table).where(table.c.run_id.in_(numbers)).order_by(table.c.run_id, order)
    return iter(connection.execute(query).mappings())


def _grouped(rows: Iterator[RowMapping] | Any, key: str, value_of: Callable[[RowMapping], Any]) -> _Parts:
    grouped: dict[int, dict[Any, Any]] = defaultdict(dict)
    for row in rows:
        grouped[row["run_id"]][row[key]] = value_of(row)
    return grouped
