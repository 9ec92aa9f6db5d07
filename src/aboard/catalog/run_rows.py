# SPDX-License-Identifier: Apache-2.0
"""A run as rows of tables, and rows of tables as a run."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from aboard.catalog.columns import storable
from aboard.catalog.keys import stored_key
from aboard.catalog.names import Names
from aboard.catalog.schema import TEXT_HEAD
from aboard.model.attempt import Attempt
from aboard.model.hparams import HparamValue
from aboard.model.metric_summary import MetricPoint, MetricSummary
from aboard.model.note import Note
from aboard.model.query.evaluate import as_double
from aboard.model.run import Run
from aboard.model.run_document import run_to_document
from aboard.model.run_states import RunState

Row = dict[str, Any]
Found = Mapping[Any, Any]  # a row that was read
_EXACT = 2**53
_COUNTS = ("revision", "exit_code", "files", "bytes")


def digest(run: Run) -> str:
    """A word that is the same as long as nothing in the run's document changes."""
    document = json.dumps(run_to_document(run), sort_keys=True, default=str)
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()


def run_row(run: Run, names: Names) -> Row:
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
        "reason": run.reason or None,
        **{name: getattr(run, name) for name in (*times, *_COUNTS)},
        "attempts": len(run.attempts),
        "details": dict(run.details),
        "digest": digest(run),
    }


def hparam_rows(run_id: int, run: Run, names: Names) -> list[Row]:
    """The rows of `hparams`."""
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
    """The value that a row of `hparams` holds."""
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


def metric_rows(run_id: int, run: Run, names: Names) -> list[Row]:
    """The rows of `metrics`."""
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
    """The summary that a row of `metrics` holds."""
    value, step, wall_time = last
    return MetricSummary(
        MetricPoint(math.nan if value is None else value, step, wall_time),
        _extreme(*smallest),
        _extreme(*largest),
        count,
    )


def _extreme(value: float | None, step: int, wall_time: float) -> MetricPoint | None:
    return None if value is None else MetricPoint(value, step, wall_time)


def tag_rows(run_id: int, run: Run) -> list[Row]:
    """The rows of `tags`."""
    kept = {stored_key(name): storable(value) for name, value in run.tags.items()}
    return [{"run_id": run_id, "name": name, "value": value} for name, value in kept.items()]


def note_rows(run_id: int, run: Run) -> list[Row]:
    """The rows of `notes`."""
    return [
        {"run_id": run_id, "position": position, "text": storable(note.text)}
        | {"author": storable(note.author), "written": note.written}
        for position, note in enumerate(run.notes)
    ]


def attempt_rows(run_id: int, run: Run) -> list[Row]:
    """The rows of `attempts`."""
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
    """The attempt that a row of `attempts` holds."""
    names = ("started", "ended", "heartbeat", "host", "exit_code", "reason", "details")
    return Attempt(number=number, status=RunState(status), **dict(zip(names, rest, strict=True)))


def note_of(_position: int, text: str, author: str, written: datetime | None) -> Note:
    """The note that a row of `notes` holds."""
    return Note(text=text, author=author, written=written)


def run_of(row: Found, **parts: Any) -> Run:
    """The run that a row of `runs` holds, with the name of its workspace and the parts that other tables hold."""
    plain = ("uid", "workspace", "experiment", "name", "created", "started", "ended", "heartbeat", "updated")
    return Run(
        number=row["id"],
        status=RunState(row["status"]),
        experiment_number=row["experiment_id"],
        **{name: row[name] for name in plain},
        **{name: row[name] or "" for name in ("user", "host", "store", "reason")},
        **{name: row[name] for name in (*_COUNTS, "deleted")},
        **parts,
    )
