# SPDX-License-Identifier: Apache-2.0
"""Runs out of the catalog, with their hyperparameters, metrics, tags, notes and attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, select

from aboard.catalog.keys import stored_key
from aboard.catalog.run_rows import attempt_of, hparam_value, metric_summary, note_of, run_of
from aboard.catalog.schema import attempts, fields, hparams, metrics, notes, runs, tags, workspaces
from aboard.model.run import Run

_T = TypeVar("_T")
_HEAVY = ("details", "digest", "deleted_why", "name_key")


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
    of_hparams = _hparams(connection, numbers, hparam_names)
    of_metrics = _metrics(connection, numbers, metric_names)
    of_tags = _tags(connection, numbers)
    of_notes = _listed(connection, notes, numbers, note_of)
    of_attempts = _listed(connection, attempts, numbers, attempt_of)
    return [
        run_of(
            rows[number],
            hparams=of_hparams[number],
            metrics=of_metrics[number],
            tags=of_tags[number],
            notes=tuple(of_notes[number]),
            attempts=tuple(of_attempts[number]),
            details=rows[number]["details"] if with_details else {},
        )
        for number in numbers
        if number in rows
    ]


# Rows are taken as plain tuples below, because a page has a thousand of them.
_Parts = Mapping[int, dict[str, Any]]


def _hparams(connection: Connection, numbers: Sequence[int], names: Sequence[str] | None) -> _Parts:
    columns = [hparams.c[name] for name in ("kind", "number", "text", "flag")]
    found: _Parts = defaultdict(dict)
    for run_id, name, kind, number, text, flag in _by_field(connection, hparams, columns, numbers, names):
        found[run_id][name] = hparam_value(kind, number, text, flag)
    return found


def _metrics(connection: Connection, numbers: Sequence[int], names: Sequence[str] | None) -> _Parts:
    columns = [column for column in metrics.c if column.name not in ("run_id", "field_id")]
    found: _Parts = defaultdict(dict)
    for run_id, name, *values in _by_field(connection, metrics, columns, numbers, names):
        last, smallest, largest = tuple(values[0:3]), tuple(values[3:6]), tuple(values[6:9])
        found[run_id][name] = metric_summary(last, smallest, largest, values[9])
    return found


def _tags(connection: Connection, numbers: Sequence[int]) -> _Parts:
    found: _Parts = defaultdict(dict)
    for run_id, name, value in _rows(connection, tags, numbers):
        found[run_id][name] = value
    return found


def _listed(
    connection: Connection, table: Table, numbers: Sequence[int], make: Callable[..., _T]
) -> Mapping[int, list[_T]]:
    found: dict[int, list[_T]] = defaultdict(list)
    for run_id, *values in _rows(connection, table, numbers):
        found[run_id].append(make(*values))
    return found


def _by_field(
    connection: Connection,
    table: Table,
    columns: Sequence[ColumnElement[Any]],
    numbers: Sequence[int],
    names: Sequence[str] | None,
) -> Sequence[Any]:
    if names is not None and not names:
        return []
    query = select(table.c.run_id, fields.c.name, *columns).join_from(table, fields)
    query = query.where(table.c.run_id.in_(numbers)).order_by(table.c.run_id, fields.c.name)
    if names is not None:
        query = query.where(fields.c.name.in_([stored_key(name) for name in names]))
    return connection.execute(query).all()


def _rows(connection: Connection, table: Table, numbers: Sequence[int]) -> Sequence[Any]:
    query = select(table).where(table.c.run_id.in_(numbers)).order_by(*table.primary_key.columns)
    return connection.execute(query).all()
