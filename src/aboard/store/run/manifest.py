# SPDX-License-Identifier: Apache-2.0
"""`manifest.json`: the growing files of a run, its status and its sign of life. Written by the newest attempt alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.document_fields import DocumentFields
from aboard.model.run_states import RunState
from aboard.model.state_changes import state_from
from aboard.model.times import parse_time, time_text
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.file_row import FileRow, row_to_json, rows_from_json
from aboard.store.run.layout import MANIFEST, is_columns_path

FORMAT = "aboard-manifest"


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
    """The object with what was decoded of the event files; see `aboard.store.run.columns_object`."""

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
    """The bytes of `manifest.json`."""
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
    return render_document(FORMAT, document)


def parse_manifest(data: bytes, where: str = MANIFEST) -> Manifest:
    """The opposite; raises DamagedDocument."""
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the manifest")
        return Manifest(
            attempt=fields.required_integer("attempt"),
            status=state_from(RunState, fields.required_text("status"), "a run"),
            alive=_moment(fields, "alive"),
            serial=fields.required_integer("serial"),
            sealed=fields.anything("sealed") is True,
            files=rows_from_json(fields.entries("files")),
            outputs=_mark(fields.anything("outputs")),
            earlier=tuple(_earlier(entry) for entry in fields.entries("earlier")),
            columns=_columns(fields.anything("columns")),
            details=fields.rest(),
        )


def _moment(fields: DocumentFields, name: str) -> datetime:
    moment = fields.time(name)
    if moment is None:
        raise InvalidValue(f"the manifest has no {name!r}")
    return moment


def _mark(value: object) -> OutputsMark | None:
    if value is None:
        return None
    fields = DocumentFields(value, "'outputs' of the manifest")
    serial, files, size = (fields.required_integer(name) for name in ("serial", "files", "bytes"))
    return OutputsMark(serial, files, size)


def _columns(value: object) -> ColumnsMark | None:
    """What cannot be understood is as if it were not there: nobody needs it."""
    match value:
        case {"path": str(path), "bytes": int(size), "crc32": int(crc32)} if size > 0 and is_columns_path(path):
            return ColumnsMark(path, size, crc32)
        case _:
            return None


def _earlier(entry: object) -> EarlierAttempt:
    values = cast("list[object]", entry) if isinstance(entry, list) else []
    match values:
        case [int(number), status, alive]:
            return EarlierAttempt(number, state_from(RunState, status, "an attempt"), parse_time(alive))
        case _:
            raise InvalidValue(f"'earlier' of the manifest holds {entry!r}, which is not a number, a status and a time")
