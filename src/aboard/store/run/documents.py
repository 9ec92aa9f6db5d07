# SPDX-License-Identifier: Apache-2.0
"""The JSON documents of a run in a store, and how each is written and parsed.

- `run.json`: what people say about a run: its name, workspace, tags and notes.
- `manifest.json`: the growing files of a run, its status and its heartbeat. Only the newest attempt writes it.
- `outputs.json`: the files that are uploaded whole; apart from the manifest, which is read often.
- `summary.json`: hyperparameters, metrics and annotations of a run, and how it ended.
- `attempts/<n>.json`: who started the n-th attempt, and with what. Created once and never changed.

Parsing raises `DamagedDocument`; fields that this version does not know are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

from aboard.errors import InvalidValue
from aboard.foundation.documents import fields_of, parse_document, render_document
from aboard.model.documents import DocumentFields
from aboard.model.hparams import HparamValue
from aboard.model.names import check_name, check_workspace_name, usable_name
from aboard.model.runs import MetricSummary, Note, RunRecord, run_from_document, run_to_document
from aboard.model.states import RunState, state_from
from aboard.model.times import parse_time, time_text
from aboard.store.run.file_rows import FileRow, row_to_json, rows_from_json
from aboard.store.run.layout import MANIFEST, OUTPUTS, RUN, SUMMARY, is_columns_path

RUN_FORMAT = "aboard-run"
# These belong to the manifest, the attempts and the summary, which have other writers.
_FIELDS_OF_OTHER_DOCUMENTS = {
    *("status", "started", "ended", "heartbeat", "exit_code", "reason", "files", "bytes", "host", "store"),
    *("hparams", "metrics", "attempts"),
}


_REMOVED_TAGS = "removed_tags"


def removed_tags(run: RunRecord) -> frozenset[str]:
    """Tags that people have taken away, though the training gave them."""
    named = run.details.get(_REMOVED_TAGS)
    return frozenset(map(str, cast("list[object]", named))) if isinstance(named, list) else frozenset()


def with_tags(run: RunRecord, given: Mapping[str, str], removed: Iterable[str]) -> RunRecord:
    """The run with some tags more and others less."""
    hidden = (removed_tags(run) | frozenset(removed)) - given.keys()
    kept = {name: text for name, text in run.tags.items() if name not in hidden}
    details = {name: value for name, value in run.details.items() if name != _REMOVED_TAGS}
    if hidden:
        details[_REMOVED_TAGS] = sorted(hidden)
    return replace(run, tags={**kept, **given}, details=details)


def render_run(run: RunRecord) -> bytes:
    document = run_to_document(run)
    return render_document(
        RUN_FORMAT, {name: value for name, value in document.items() if name not in _FIELDS_OF_OTHER_DOCUMENTS}
    )


def parse_run(data: bytes, where: str = RUN) -> RunRecord:
    """The opposite; raises DamagedDocument.

    Names that nobody could select or show, as with a slash, a newline or half a character, become names near to them.
    A workspace decides who sees the run, so a name that no workspace may have is an error.
    """
    document = parse_document(data, RUN_FORMAT, where)
    with fields_of(where):
        run = run_from_document(document)
        check_workspace_name(run.workspace)
    experiment = _allowed_name(run.experiment) if run.experiment else None
    return replace(run, name=_allowed_name(run.name), experiment=experiment or None)


def _allowed_name(name: str) -> str:
    try:
        return check_name(name, "a run") if name else ""
    except InvalidValue:
        return usable_name(name, "")


MANIFEST_FORMAT = "aboard-manifest"


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """How an attempt ended, or was last seen."""

    number: int
    status: RunState
    alive: datetime


@dataclass(frozen=True, slots=True)
class OutputsMark:
    """Which `outputs.json` belongs to a manifest, and what it adds up to."""

    serial: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ColumnsMark:
    """The object with what was decoded of the event files; see `aboard.store.run.columns`."""

    path: str
    bytes: int
    crc32: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What the newest attempt says of a run."""

    attempt: int
    status: RunState
    alive: datetime
    serial: int
    """Counts the manifests of a run."""
    sealed: bool = False
    files: tuple[FileRow, ...] = ()
    outputs: OutputsMark | None = None
    earlier: tuple[EarlierAttempt, ...] = ()
    columns: ColumnsMark | None = None
    """Of sealed runs only."""
    details: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def bytes(self) -> int:
        """Of all files, outputs included."""
        return sum(row.bytes for row in self.files) + (self.outputs.bytes if self.outputs else 0)


def render_manifest(manifest: Manifest) -> bytes:
    document: dict[str, object] = {
        **manifest.details,
        "attempt": manifest.attempt,
        "status": str(manifest.status),
        "alive": time_text(manifest.alive),
        "sealed": manifest.sealed,
        "serial": manifest.serial,
        "files": [row_to_json(row) for row in manifest.files],
    }
    if manifest.outputs:
        mark = manifest.outputs
        document["outputs"] = {"serial": mark.serial, "files": mark.files, "bytes": mark.bytes}
    if manifest.earlier:
        document["earlier"] = [[one.number, str(one.status), time_text(one.alive)] for one in manifest.earlier]
    if manifest.columns:
        columns = manifest.columns
        document["columns"] = {"path": columns.path, "bytes": columns.bytes, "crc32": columns.crc32}
    return render_document(MANIFEST_FORMAT, document)


def parse_manifest(data: bytes, where: str = MANIFEST) -> Manifest:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, MANIFEST_FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the manifest")
        return Manifest(
            attempt=fields.required_integer("attempt"),
            status=state_from(RunState, fields.required_text("status"), "a run"),
            alive=_required_time(fields, "alive"),
            serial=fields.required_integer("serial"),
            sealed=fields.anything("sealed") is True,
            files=rows_from_json(fields.entries("files")),
            outputs=_parse_outputs_mark(fields.anything("outputs")),
            earlier=tuple(_parse_earlier_attempt(entry) for entry in fields.entries("earlier")),
            columns=_parse_columns_mark(fields.anything("columns")),
            details=fields.rest(),
        )


def _required_time(fields: DocumentFields, name: str) -> datetime:
    moment = fields.time(name)
    if moment is None:
        raise InvalidValue(f"the manifest has no {name!r}")
    return moment


def _parse_outputs_mark(value: object) -> OutputsMark | None:
    if value is None:
        return None
    fields = DocumentFields(value, "'outputs' of the manifest")
    serial, files, size = (fields.required_integer(name) for name in ("serial", "files", "bytes"))
    return OutputsMark(serial, files, size)


def _parse_columns_mark(value: object) -> ColumnsMark | None:
    """What cannot be understood is as if it were not there: nobody needs it."""
    match value:
        case {"path": str(path), "bytes": int(size), "crc32": int(crc32)} if size > 0 and is_columns_path(path):
            return ColumnsMark(path, size, crc32)
        case _:
            return None


def _parse_earlier_attempt(entry: object) -> EarlierAttempt:
    values = cast("list[object]", entry) if isinstance(entry, list) else []
    match values:
        case [int(number), status, alive]:
            return EarlierAttempt(number, state_from(RunState, status, "an attempt"), parse_time(alive))
        case _:
            raise InvalidValue(f"'earlier' of the manifest holds {entry!r}, which is not a number, a status and a time")


OUTPUTS_FORMAT = "aboard-outputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Everything below `output/`."""

    serial: int
    files: tuple[FileRow, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict[str, object])


def render_outputs(outputs: Outputs) -> bytes:
    rows = [row_to_json(row) for row in outputs.files]
    return render_document(OUTPUTS_FORMAT, {**outputs.details, "serial": outputs.serial, "files": rows})


def parse_outputs(data: bytes, where: str = OUTPUTS) -> Outputs:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, OUTPUTS_FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the list of outputs")
        serial, files = fields.required_integer("serial"), rows_from_json(fields.entries("files"))
        return Outputs(serial=serial, files=files, details=fields.rest())


SUMMARY_FORMAT = "aboard-summary"
SUMMARY_FIELDS = ("started", "ended", "exit_code", "reason", "hparams", "metrics", "tags", "notes")
# A summary is part of a run's document; these make it a whole one, for the functions that know how to read it.
_PLACEHOLDER_RUN = {"uid": "0" * 26, "workspace": "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the training side knows of its run; tags and notes are those that the training gave."""

    started: datetime | None = None
    ended: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    metrics: Mapping[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[Note, ...] = ()
    annotations: tuple[Mapping[str, object], ...] = ()
    """Events at a step, as the training logged them."""
    details: Mapping[str, object] = field(default_factory=dict[str, object])


def render_summary(summary: Summary) -> bytes:
    run = RunRecord(**_PLACEHOLDER_RUN, created=_EPOCH, **{name: getattr(summary, name) for name in SUMMARY_FIELDS})
    document = run_to_document(run)
    said = {name: document[name] for name in SUMMARY_FIELDS if name in document}
    return render_document(SUMMARY_FORMAT, {**summary.details, **said, "annotations": list(summary.annotations)})


def parse_summary(data: bytes, where: str = SUMMARY) -> Summary:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, SUMMARY_FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the summary")
        annotations = fields.entries("annotations")
        run = run_from_document({**fields.rest(), **_PLACEHOLDER_RUN})
        return Summary(
            **{name: getattr(run, name) for name in SUMMARY_FIELDS},
            annotations=tuple(DocumentFields(entry, "an annotation").rest() for entry in annotations),
            details=run.details,
        )


_EPOCH = datetime.fromtimestamp(0, UTC)


CLAIM_FORMAT = "aboard-attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptClaim:
    """The claim of a process on a run."""

    number: int
    token: str
    """Made by the process that claims: tells its own claim, whose answer may have been lost, from that of others."""
    claimed: datetime
    host: str = ""
    pid: int | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """Command, code, packages, and whatever else was noted at the start."""


def render_claim(claim: AttemptClaim) -> bytes:
    known = {
        "number": claim.number,
        "token": claim.token,
        "claimed": time_text(claim.claimed),
        "host": claim.host or None,
        "pid": claim.pid,
    }
    said = {name: value for name, value in known.items() if value is not None}
    return render_document(CLAIM_FORMAT, {**claim.details, **said})


def parse_claim(data: bytes, where: str) -> AttemptClaim:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, CLAIM_FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the attempt")
        claimed = fields.time("claimed")
        if claimed is None:
            raise InvalidValue("the attempt has no 'claimed'")
        return AttemptClaim(
            number=fields.required_integer("number"),
            token=fields.text("token"),
            claimed=claimed,
            host=fields.text("host"),
            pid=fields.integer("pid"),
            details=fields.rest(),
        )
