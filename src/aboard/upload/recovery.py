# SPDX-License-Identifier: Apache-2.0
"""How an upload continues after a crash: the journal of what was about to be sent, and the first contact with a store.

The journal is written before anything is sent. A manifest in the store with the journal's serial means that all of it
arrived. The journal is replaced without waiting for the disk: a lost or damaged one costs a listing, nothing else. When
manifest and journal do not fit together (the journal was lost, the disk was full, the manifest is damaged, somebody
deleted the folder), the objects are listed: what is whole is kept, and the rest is uploaded again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from aboard.errors import DamagedDocument, InvalidValue
from aboard.foundation.documents import fields_of, parse_document, render_document
from aboard.foundation.files import replace_file
from aboard.model.documents import DocumentFields
from aboard.model.names import uid_time
from aboard.model.runs import RunRecord
from aboard.model.states import RunState, state_from
from aboard.store.run.claims import announce, manifest_of_attempt, withdraw_columns
from aboard.store.run.documents import AttemptClaim, Manifest, Outputs
from aboard.store.run.file_rows import FileRow, Segment, row_to_json, rows_from_json
from aboard.store.run.layout import EVENTS, LOG, path_of, segment_path, split_segment
from aboard.store.run.run_folder import RunFolder, rebuild_growing, rebuild_outputs
from aboard.upload.retries import Superseded
from aboard.upload.segments import SegmentPlan

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
    plans: Mapping[str, SegmentPlan] = field(default_factory=dict[str, SegmentPlan])
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
    replace_file(path, render_document(FORMAT, document))


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


def _plan(value: object) -> SegmentPlan:
    match value:
        case [int(start), int(end), int(number), int(crc)]:
            return SegmentPlan(start, end, number, crc)
        case _:
            raise InvalidValue(f"'plans' of the journal holds {value!r}")


@dataclass(frozen=True)
class StoredState:
    """What a store has of a run when an upload starts or continues, and what was being sent."""

    manifest: Manifest
    """As it will go on: its files may be fewer or more than those of the one in the store."""
    is_put: bool
    """Whether the store has just this manifest."""
    outputs: Outputs
    plans: dict[str, SegmentPlan] = field(default_factory=dict[str, SegmentPlan])
    """By path: what may have been sent already."""
    garbage: tuple[str, ...] = ()
    """Objects that nobody names any more."""

    @property
    def files(self) -> tuple[FileRow, ...]:
        """The growing files."""
        return self.manifest.files


def unnamed_objects(rows: Iterable[FileRow], paths: Iterable[str]) -> list[str]:
    """Those of `paths` that are segments or earlier generations of the files, and not among their objects."""
    known = tuple(rows)
    named = {path for row in known for path in row.objects()}
    ours = {path_of(row.source, is_event_file=row.path.startswith(f"{EVENTS}/")) for row in known}
    ours |= {row.path for row in known}

    def is_ours(path: str) -> bool:
        base, _, generation = path.rpartition("~")
        return path in ours or (base in ours and generation.isdecimal())

    found = ((path, split_segment(path)) for path in paths if path not in named)
    return [path for path, parts in found if is_ours(path) or (parts and is_ours(parts[0]))]


LATE_SECONDS = 60.0


def reconcile(folder: RunFolder, claim: AttemptClaim, run: RunRecord | None, journal: Journal | None) -> StoredState:
    """Compare store and journal, and return what the store has; raises Superseded when a later attempt has the run."""
    is_new = _make_known(folder, claim, run)
    try:
        read = folder.read_manifest()
    except DamagedDocument:
        read, is_new = None, False
    before = read.manifest if read else None
    if before and before.attempt > claim.number:
        raise Superseded
    outputs = _outputs(folder, before)
    if journal and not _is_about(journal, folder, claim):
        journal = None
    if before and journal and before.attempt == claim.number and before.serial <= journal.serial:
        return _by_journal(before, journal, outputs)
    if before is None and is_new:
        return StoredState(manifest_of_attempt(None, claim.number), is_put=False, outputs=outputs)
    return _by_listing(folder, claim, before, journal, outputs)


def _is_about(journal: Journal, folder: RunFolder, claim: AttemptClaim) -> bool:
    """Whether a journal tells what was shipped of this attempt; one without a serial tells its end only."""
    return journal.store == folder.store.uri and journal.attempt == claim.number and journal.serial > 0


def _make_known(folder: RunFolder, claim: AttemptClaim, run: RunRecord | None) -> bool:
    """Put the documents that are missing; whether nobody had been there before."""
    numbers = folder.attempt_numbers()
    if max(numbers, default=0) > claim.number:
        raise Superseded
    is_late = abs(time.time() - uid_time(folder.uid).timestamp()) > LATE_SECONDS
    if run is not None and folder.create_run(run) and is_late:
        announce(folder)
    if not folder.create_attempt(claim):
        raise Superseded
    return not numbers


def _outputs(folder: RunFolder, before: Manifest | None) -> Outputs:
    try:
        outputs = folder.read_outputs()
    except DamagedDocument:
        outputs = None
        is_lost = True
    else:
        is_lost = outputs is None and before is not None and before.outputs is not None
    if is_lost:
        serial = before.outputs.serial if before and before.outputs else 0
        return Outputs(serial=serial, files=rebuild_outputs(folder))
    return outputs or Outputs(serial=0)


def _by_journal(before: Manifest, journal: Journal, outputs: Outputs) -> StoredState:
    """The journal knows what was sent, also what no manifest names yet."""
    is_put = before.serial == journal.serial
    manifest = before if is_put else replace(before, files=journal.files, serial=journal.serial)
    return StoredState(
        manifest,
        is_put=is_put,
        outputs=outputs,
        plans=dict(journal.plans),
        garbage=journal.garbage,
    )


def _by_listing(
    folder: RunFolder, claim: AttemptClaim, before: Manifest | None, journal: Journal | None, outputs: Outputs
) -> StoredState:
    sizes = {entry.key: entry.size for top in (EVENTS, LOG) for entry in folder.list(top)}
    if before is None and journal is None:
        rows = rebuild_growing(folder)
    else:
        rows = before.files if before else journal.files if journal else ()
    numbers = _numbers(sizes)
    kept = tuple(_as_found(row, sizes, numbers.get(row.path, [])) for row in rows)
    manifest = before or manifest_of_attempt(None, claim.number)
    if before and before.attempt < claim.number:
        withdraw_columns(folder, before)
        manifest = manifest_of_attempt(before, claim.number)
        if before.sealed:
            announce(folder)
    serial = max(manifest.serial, journal.serial if journal else 0)
    return StoredState(
        replace(manifest, files=kept, serial=serial),
        is_put=False,
        outputs=outputs,
        garbage=tuple(unnamed_objects(kept, sizes)),
    )


def _numbers(paths: Iterable[str]) -> dict[str, list[int]]:
    """The numbers of all segments that are there, by the path of their file."""
    found: dict[str, list[int]] = {}
    for path in paths:
        if parts := split_segment(path):
            found.setdefault(parts[0], []).append(parts[1])
    return found


def _as_found(row: FileRow, sizes: Mapping[str, int], numbers: list[int]) -> FileRow:
    """A row as far as its objects are there. If they are not, its checksum is not known: local files are sent anew."""
    if row.segments is None:
        size = sizes.get(row.path, 0)
        return row if size >= row.bytes else replace(row, bytes=size, crc32=None if size else 0)
    whole: list[Segment] = []
    for segment in row.segments:
        if sizes.get(segment_path(row.path, segment.number), -1) < segment.bytes:
            break
        whole.append(segment)
    following = max([row.next_segment, *(number + 1 for number in numbers)])
    if len(whole) == len(row.segments):
        return replace(row, next_segment=following)
    size = sum(segment.bytes for segment in whole)
    return replace(row, bytes=size, segments=tuple(whole), next_segment=following, crc32=None if size else 0)
