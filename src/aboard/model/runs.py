# SPDX-License-Identifier: Apache-2.0
"""The record of a run with its attempts, metric summaries and notes, and the JSON document it is stored as.

The document is `run.json` with the summary of the metrics and the attempts. Fields that aboard does not know are kept
in `RunRecord.details` and written back. `tags` may be a mapping or a list of bare names, `note` a single text or
`notes` a list of texts or mappings; `files` may be a manifest's rows, `alive` stands for `heartbeat`, and `claimed` for
an attempt's `started`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.documents import DocumentFields, to_json_number
from aboard.model.hparams import HparamValue, hparams_from_json, hparams_to_json
from aboard.model.names import check_uid, uid_time
from aboard.model.states import RunState, state_from
from aboard.model.times import time_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The `number`-th start of a run, counted from 1."""

    number: int
    status: RunState
    started: datetime | None = None
    ended: datetime | None = None
    heartbeat: datetime | None = None
    host: str = ""
    exit_code: int | None = None
    reason: str = ""
    details: Mapping[str, object] = field(default_factory=dict[str, object])  # what else its document says


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value, the step it was logged at, and when, in seconds since 1970."""

    value: float
    step: int
    wall_time: float


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of one run. NaN is a last value like others, but never the smallest or largest."""

    last: MetricPoint
    smallest: MetricPoint | None  # none when every value was NaN
    largest: MetricPoint | None
    count: int

    @classmethod
    def of(cls, point: MetricPoint) -> MetricSummary:
        extreme = None if math.isnan(point.value) else point
        return cls(point, extreme, extreme, 1)

    def including(self, point: MetricPoint) -> MetricSummary:
        """The summary with one point more, which becomes the last one. Of equal values the earlier is kept."""
        smallest, largest = self.smallest, self.largest
        if not math.isnan(point.value):
            smallest = point if smallest is None or point.value < smallest.value else smallest
            largest = point if largest is None or point.value > largest.value else largest
        return MetricSummary(point, smallest, largest, self.count + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text, with its author and time where they are known."""

    text: str
    author: str = ""
    written: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run as its store and the catalog know it. Numbers are given by a catalog and are None before."""

    uid: str
    workspace: str
    created: datetime
    status: RunState = RunState.CREATED
    number: int | None = None
    name: str = ""  # empty: the catalog calls it after its number
    experiment: str | None = None
    experiment_number: int | None = None
    user: str = ""
    host: str = ""
    store: str = ""  # the URI of the store that holds its files
    source_path: str | None = None  # of a run in a read-only source: its folder there, "." for the source itself
    started: datetime | None = None
    ended: datetime | None = None
    heartbeat: datetime | None = None
    updated: datetime | None = None  # when its document was last written, by the writer's clock
    revision: int | None = None  # counts how often its document was written; clocks of machines disagree
    exit_code: int | None = None
    reason: str = ""
    files: int | None = None
    bytes: int | None = None
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])  # a tag without a value has an empty one
    notes: tuple[Note, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    deleted: datetime | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])  # what else its document says

    @property
    def is_read_only(self) -> bool:
        """Whether its files are in a source, into which nothing is written."""
        return self.source_path is not None

    @property
    def duration(self) -> float | None:
        """Seconds from the start of the first attempt to the end of the last, with the time between attempts.

        While there is no end, to the last heartbeat.
        """
        until = self.ended or self.heartbeat
        if self.started is None or until is None:
            return None
        return max(0.0, (until - self.started).total_seconds())


_COUNTS = ("revision", "exit_code", "files", "bytes")


def run_from_document(document: object) -> RunRecord:
    """The run that a document describes; an error names the field that is wrong."""
    fields = DocumentFields(document, "the run's document")
    uid = check_uid(fields.text("uid"))
    started = fields.time("started")
    files, size = _files(fields)
    return RunRecord(
        uid=uid,
        workspace=fields.required_text("workspace"),
        experiment=fields.text("experiment") or None,
        experiment_number=_positive(fields.integer("experiment_number"), "experiment_number"),
        number=_positive(fields.integer("number"), "number"),
        name=fields.text("name"),
        status=state_from(RunState, fields.text("status") or RunState.CREATED, "a run"),
        user=fields.text("user"),
        host=fields.text("host"),
        store=fields.text("store"),
        source_path=fields.text("source_path") or None,
        created=fields.time("created") or started or uid_time(uid),
        started=started,
        ended=fields.time("ended"),
        heartbeat=fields.time("heartbeat") or fields.time("alive"),
        updated=fields.time("updated"),
        revision=fields.integer("revision"),
        exit_code=fields.integer("exit_code"),
        reason=fields.text("reason"),
        files=files,
        bytes=size,
        hparams=hparams_from_json(fields.mapping("hparams")),
        metrics={name: _metric(name, entry) for name, entry in fields.mapping("metrics").items()},
        tags=_tags(fields.anything("tags")),
        notes=_notes(fields),
        attempts=tuple(sorted((_attempt(entry) for entry in fields.entries("attempts")), key=lambda one: one.number)),
        deleted=fields.time("deleted"),
        details=fields.rest(),
    )


def run_to_document(run: RunRecord) -> dict[str, object]:
    """The document that `run_from_document` reads back."""
    times = {name: getattr(run, name) for name in ("created", "started", "ended", "heartbeat", "updated", "deleted")}
    texts = {name: getattr(run, name) or None for name in ("experiment", "name", "user", "host", "store", "reason")}
    numbers = {name: getattr(run, name) for name in ("number", "experiment_number", *_COUNTS)}
    document: dict[str, object] = {
        "uid": run.uid,
        "workspace": run.workspace,
        "status": str(run.status),
        **texts,
        "source_path": run.source_path,
        **numbers,
        **{name: time_text(moment) if moment else None for name, moment in times.items()},
        "hparams": hparams_to_json(run.hparams),
        "metrics": {name: _metric_document(metric) for name, metric in run.metrics.items()},
        "tags": dict(run.tags),
        "notes": [_without_nothing(text=n.text, author=n.author, written=n.written) for n in run.notes],
        "attempts": [_attempt_document(attempt) for attempt in run.attempts],
    }
    return {**run.details, **{name: value for name, value in document.items() if value is not None}}


def _files(fields: DocumentFields) -> tuple[int | None, int | None]:
    """How many files there are, and how large they are together; the rows of a manifest say it too."""
    files, size = fields.anything("files"), fields.integer("bytes")
    if not isinstance(files, (list, tuple)):
        return DocumentFields({"files": files}, "the run's document").integer("files"), size
    rows = [DocumentFields(row, "a file of the run") for row in cast("list[object]", files)]
    return len(rows), sum(row.required_integer("bytes") for row in rows)


def _positive(number: int | None, name: str) -> int | None:
    if number is not None and number < 1:
        raise InvalidValue(f"{name!r} of the run's document is {number}; numbers begin at 1")
    return number


def _metric(name: str, document: object) -> MetricSummary:
    fields = DocumentFields(document, f"the metric {name!r}")
    last, smallest, largest = (_point(name, which, fields.anything(which)) for which in ("last", "min", "max"))
    if last is None:
        raise InvalidValue(f"the metric {name!r} has no 'last'")
    return MetricSummary(last, smallest, largest, fields.required_integer("count"))


def _point(name: str, which: str, document: object) -> MetricPoint | None:
    if document is None:
        return None
    fields = DocumentFields(document, f"{which!r} of the metric {name!r}")
    return MetricPoint(fields.number("value"), fields.required_integer("step"), fields.number("wall_time"))


def _metric_document(metric: MetricSummary) -> dict[str, object]:
    points = {"last": metric.last, "min": metric.smallest, "max": metric.largest}
    return {
        **{which: _point_document(point) for which, point in points.items() if point},
        "count": to_json_number(metric.count),
    }


def _point_document(point: MetricPoint) -> dict[str, object]:
    return {
        "value": to_json_number(point.value),
        "step": to_json_number(point.step),
        "wall_time": to_json_number(point.wall_time),
    }


def _tags(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, (list, tuple)):
        return {str(name): "" for name in cast("list[object]", value)}
    if isinstance(value, Mapping):
        given = cast("Mapping[object, object]", value)
        return {str(name): "" if content is None else str(content) for name, content in given.items()}
    raise InvalidValue(f"'tags' of the run's document is {value!r}, which is neither a mapping nor a list")


def _notes(fields: DocumentFields) -> tuple[Note, ...]:
    single, many = fields.text("note"), fields.entries("notes")
    return tuple(_note(entry) for entry in ([single] if single else []) + many)


def _note(entry: object) -> Note:
    if isinstance(entry, str):
        return Note(text=entry)
    fields = DocumentFields(entry, "a note of the run")
    return Note(text=fields.text("text"), author=fields.text("author"), written=fields.time("written"))


def _attempt(document: object) -> Attempt:
    fields = DocumentFields(document, "an attempt of the run")
    return Attempt(
        number=fields.required_integer("number"),
        status=state_from(RunState, fields.text("status") or RunState.RUNNING, "an attempt"),
        started=fields.time("started") or fields.time("claimed"),
        ended=fields.time("ended"),
        heartbeat=fields.time("heartbeat"),
        host=fields.text("host"),
        exit_code=fields.integer("exit_code"),
        reason=fields.text("reason"),
        details=fields.rest(),
    )


def _attempt_document(attempt: Attempt) -> dict[str, object]:
    known = _without_nothing(
        number=attempt.number,
        status=str(attempt.status),
        started=attempt.started,
        ended=attempt.ended,
        heartbeat=attempt.heartbeat,
        host=attempt.host,
        exit_code=attempt.exit_code,
        reason=attempt.reason,
    )
    return {**attempt.details, **known}


def _without_nothing(**fields: object) -> dict[str, object]:
    """Only what says something, with times as text."""
    said = {name: value for name, value in fields.items() if value is not None and value != ""}
    return {name: time_text(value) if isinstance(value, datetime) else value for name, value in said.items()}
