# SPDX-License-Identifier: Apache-2.0
"""Runs as rows of tables and back, with their hyperparameters, metrics, tags, notes and attempts."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, select

from aboard.catalog.columns import storable
from aboard.catalog.lookup import stored_fold, stored_key
from aboard.catalog.schema import TEXT_HEAD, attempts, fields, hparams, metrics, notes, runs, tags, workspaces
from aboard.model.hparams import HparamValue
from aboard.model.query.evaluate import as_double
from aboard.model.runs import Attempt, MetricPoint, MetricSummary, Note, RunRecord, run_to_document
from aboard.model.states import RunState


@dataclass(frozen=True, slots=True)
class NameIds:
    """Database ids of the workspaces, experiments and fields that some runs name."""

    workspaces: Mapping[str, int]  # by folded name
    experiments: Mapping[tuple[int, str], tuple[int, str]]  # key and name, by workspace and folded name
    fields: Mapping[tuple[int, str, str], int]  # by workspace, kind and name

    def workspace(self, run: RunRecord) -> int:
        return self.workspaces[stored_fold(run.workspace)]

    def experiment(self, run: RunRecord) -> tuple[int | None, str | None]:
        if run.experiment is None:
            return None, None
        return self.experiments[self.workspace(run), stored_fold(run.experiment)]


Row = dict[str, Any]
StoredRow = Mapping[Any, Any]  # a row that was read
_EXACT = 2**53
_COUNTS = ("revision", "exit_code", "files", "bytes")


def run_digest(run: RunRecord) -> str:
    """A word that is the same as long as nothing in the run's document changes."""
    document = json.dumps(run_to_document(run), sort_keys=True, default=str)
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()


def run_row(run: RunRecord, names: NameIds) -> Row:
    """The row of `runs`, without what only the catalog knows: number, and whether it is in the bin."""
    experiment_id, experiment = names.experiment(run)
    times = ("created", "started", "ended", "heartbeat", "updated", "duration")
    return {
        "uid": run.uid,
        "workspace_id": names.workspace(run),
        "experiment_id": experiment_id,
        "experiment": experiment,
        "status": str(run.status),
        **{name: stored_key(getattr(run, name)) or None for name in ("user", "host", "store")},
        "source_path": run.source_path,
        "reason": run.reason or None,
        **{name: getattr(run, name) for name in (*times, *_COUNTS)},
        "attempts": len(run.attempts),
        "details": dict(run.details),
        "digest": run_digest(run),
    }


def hparam_rows(run_id: int, run: RunRecord, names: NameIds) -> list[Row]:
    workspace = names.workspace(run)
    keys = {names.fields[workspace, "hparam", stored_key(name)]: value for name, value in run.hparams.items()}
    return [{"run_id": run_id, "field_id": field, **_hparam(value)} for field, value in keys.items()]


def _hparam(value: HparamValue) -> Row:
    row: Row = {"kind": "none", "number": None, "text": None, "text_head": None, "flag": None}
    match value:
        case None:
            return row
        case bool():
            return {**row, "kind": "bool", "flag": int(value)}
        case str():
            text = storable(value)
            return {**row, "kind": "text", "text": text, "text_head": text[:TEXT_HEAD]}
        case int():
            digits = None if abs(value) <= _EXACT else _digits(value)
            return {**row, "kind": "int", "number": as_double(value), "text": digits}
        case float():
            return {**row, "kind": "float", "number": _not_nan(value)}


def _digits(number: int) -> str | None:
    try:
        return str(number)
    except ValueError:  # more digits than Python writes; as large as infinity all the same
        return None


def hparam_value(kind: str, number: float | None, text: str | None, flag: int | None) -> HparamValue:
    match kind:
        case "bool":
            return bool(flag)
        case "text":
            return text
        case "int" if text is not None:
            return int(text)
        case "int" if number is not None and math.isfinite(number):
            return int(number)
        case "int" | "float":
            return math.nan if number is None else number
        case _:
            return None


def metric_rows(run_id: int, run: RunRecord, names: NameIds) -> list[Row]:
    workspace = names.workspace(run)
    keys = {names.fields[workspace, "metric", stored_key(name)]: metric for name, metric in run.metrics.items()}
    return [
        {
            "run_id": run_id,
            "field_id": field,
            **_point("last", metric.last),
            **_point("min", metric.smallest),
            **_point("max", metric.largest),
            "count": metric.count,
        }
        for field, metric in keys.items()
    ]


def _point(part: str, point: MetricPoint | None) -> Row:
    value, step, time = (None, None, None) if point is None else (_not_nan(point.value), point.step, point.wall_time)
    return {part: value, f"{part}_step": step, f"{part}_time": None if time is None else _not_nan(time) or 0.0}


def _not_nan(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def metric_summary(
    last: tuple[float | None, int, float],
    smallest: tuple[float | None, int, float],
    largest: tuple[float | None, int, float],
    count: int,
) -> MetricSummary:
    value, step, wall_time = last
    return MetricSummary(
        MetricPoint(math.nan if value is None else value, step, wall_time),
        _extreme(*smallest),
        _extreme(*largest),
        count,
    )


def _extreme(value: float | None, step: int, wall_time: float) -> MetricPoint | None:
    return None if value is None else MetricPoint(value, step, wall_time)


def tag_rows(run_id: int, run: RunRecord) -> list[Row]:
    kept = {stored_key(name): storable(value) for name, value in run.tags.items()}
    return [{"run_id": run_id, "name": name, "value": value} for name, value in kept.items()]


def note_rows(run_id: int, run: RunRecord) -> list[Row]:
    return [
        {"run_id": run_id, "position": position, "text": storable(note.text)}
        | {"author": storable(note.author), "written": note.written}
        for position, note in enumerate(run.notes)
    ]


def attempt_rows(run_id: int, run: RunRecord) -> list[Row]:
    attempts = {attempt.number: attempt for attempt in run.attempts}
    return [_attempt_row(run_id, attempt) for attempt in attempts.values()]


def _attempt_row(run_id: int, attempt: Attempt) -> Row:
    return {
        "run_id": run_id,
        "number": attempt.number,
        "status": str(attempt.status),
        "started": attempt.started,
        "ended": attempt.ended,
        "heartbeat": attempt.heartbeat,
        "host": storable(attempt.host),
        "exit_code": attempt.exit_code,
        "reason": storable(attempt.reason),
        "details": dict(attempt.details),
    }


def attempt_of(number: int, status: str, *rest: Any) -> Attempt:
    names = ("started", "ended", "heartbeat", "host", "exit_code", "reason", "details")
    return Attempt(number=number, status=RunState(status), **dict(zip(names, rest, strict=True)))


def note_of(_position: int, text: str, author: str, written: datetime | None) -> Note:
    return Note(text=text, author=author, written=written)


def run_of(row: StoredRow, **parts: Any) -> RunRecord:
    """The run that a row of `runs` holds, with the name of its workspace and the parts that other tables hold."""
    plain = ("uid", "workspace", "experiment", "name", "created", "started", "ended", "heartbeat", "updated")
    return RunRecord(
        number=row["id"],
        status=RunState(row["status"]),
        experiment_number=row["experiment_id"],
        **{name: row[name] for name in plain},
        **{name: row[name] or "" for name in ("user", "host", "store", "reason")},
        **{name: row[name] for name in (*_COUNTS, "deleted", "source_path")},
        **parts,
    )


_T = TypeVar("_T")
_HEAVY = ("details", "digest", "deleted_why", "name_key")


def read_runs(
    connection: Connection,
    numbers: Sequence[int],
    *,
    hparam_names: Sequence[str] | None = None,
    metric_names: Sequence[str] | None = None,
    with_details: bool = False,
) -> list[RunRecord]:
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
