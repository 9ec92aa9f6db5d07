# SPDX-License-Identifier: Apache-2.0
"""The first contact with a store: makes the run and its attempt known there, and finds out how the run stands.

Usually the manifest and the journal say it together. When they do not fit (the journal was lost, the disk was full, the
manifest is damaged, somebody deleted the folder), the objects are listed: what is whole is kept, and the rest is
shipped again from the local files.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from aboard.errors import DamagedDocument
from aboard.model.run import Run
from aboard.model.uid import uid_time
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.claiming import announce, manifest_of_attempt, withdraw_columns
from aboard.store.run.file_row import FileRow, Segment
from aboard.store.run.layout import EVENTS, LOG, segment_path, split_segment
from aboard.store.run.manifest import Manifest
from aboard.store.run.outputs import Outputs
from aboard.store.run.rebuilding import rebuild_growing, rebuild_outputs
from aboard.store.run.run_folder import RunFolder
from aboard.upload.failures import Superseded
from aboard.upload.journal import Journal
from aboard.upload.leftovers import leftovers
from aboard.upload.standing import Standing

LATE_SECONDS = 60.0


def arrive(folder: RunFolder, claim: AttemptClaim, run: Run | None, journal: Journal | None) -> Standing:
    """How the run stands; raises Superseded when another attempt has taken it."""
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
        return Standing(manifest_of_attempt(None, claim.number), is_put=False, outputs=outputs)
    return _by_listing(folder, claim, before, journal, outputs)


def _is_about(journal: Journal, folder: RunFolder, claim: AttemptClaim) -> bool:
    """Whether a journal tells what was shipped of this attempt; one without a serial tells its end only."""
    return journal.store == folder.store.uri and journal.attempt == claim.number and journal.serial > 0


def _make_known(folder: RunFolder, claim: AttemptClaim, run: Run | None) -> bool:
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


def _by_journal(before: Manifest, journal: Journal, outputs: Outputs) -> Standing:
    """The journal knows what was sent, also what no manifest names yet."""
    is_put = before.serial == journal.serial
    manifest = before if is_put else replace(before, files=journal.files, serial=journal.serial)
    return Standing(
        manifest,
        is_put=is_put,
        outputs=outputs,
        plans=dict(journal.plans),
        garbage=journal.garbage,
    )


def _by_listing(
    folder: RunFolder, claim: AttemptClaim, before: Manifest | None, journal: Journal | None, outputs: Outputs
) -> Standing:
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
    return Standing(
        replace(manifest, files=kept, serial=serial),
        is_put=False,
        outputs=outputs,
        garbage=tuple(leftovers(kept, sizes)),
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
