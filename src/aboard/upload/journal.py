# SPDX-License-Identifier: Apache-2.0
"""What the shipper was about to do, written before it does it.

After a crash the journal and the manifest in the store together say what happened: a manifest with the journal's serial
means that all of it did. The journal is written aside and renamed, without waiting for the disk: a lost or damaged one
costs a listing, and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aboard.errors import DamagedDocument, InvalidValue
from aboard.model.document_fields import DocumentFields
from aboard.model.run_states import RunState
from aboard.model.state_changes import state_from
from aboard.store.local_files import aside_name
from aboard.store.run.document import fields_of, parse_document, render_document
from aboard.store.run.file_row import FileRow, row_to_json, rows_from_json
from aboard.upload.growing_file import Plan

FORMAT = "aboard-journal"


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The state of shipping one run to one store."""

    store: str
    attempt: int
    serial: int
    """Of the manifest that is put when everything planned is done."""
    files: tuple[FileRow, ...] = ()
    """What is in the store for certain."""
    plans: Mapping[str, Plan] = field(default_factory=dict[str, Plan])
    """By path: what is being sent."""
    garbage: tuple[str, ...] = ()
    """Objects that the manifest no longer names when it has this serial."""
    status: RunState | None = None
    """How the run ended, once it has."""


def write_journal(path: Path, journal: Journal) -> None:
    """Replace the journal; raises OSError."""
    document: dict[str, object] = {
        "store": journal.store,
        "attempt": journal.attempt,
        "serial": journal.serial,
        "status": str(journal.status) if journal.status else None,
        "files": [row_to_json(row) for row in journal.files],
        "plans": {where: list(plan) for where, plan in journal.plans.items()},
        "garbage": list(journal.garbage),
    }
    aside = path.parent / aside_name()
    try:
        aside.write_bytes(render_document(FORMAT, document))
        aside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


def read_journal(path: Path) -> Journal | None:
    """The journal, or None when there is none that can be used."""
    try:
        return _parse(path.read_bytes(), str(path))
    except (OSError, DamagedDocument):
        return None


def _parse(data: bytes, where: str) -> Journal:
    document = parse_document(data, FORMAT, where)
    with fields_of(where):
        fields = DocumentFields(document, "the journal")
        status = fields.text("status")
        return Journal(
            store=fields.text("store"),
            attempt=fields.required_integer("attempt"),
            serial=fields.required_integer("serial"),
            files=rows_from_json(fields.entries("files")),
            plans={path: _plan(value) for path, value in fields.mapping("plans").items()},
            garbage=tuple(str(path) for path in fields.entries("garbage")),
            status=state_from(RunState, status, "a run") if status else None,
        )


def _plan(value: object) -> Plan:
    match value:
        case [int(start), int(end), int(number), int(crc)]:
            return Plan(start, end, number, crc)
        case _:
            raise InvalidValue(f"'plans' of the journal holds {value!r}")
