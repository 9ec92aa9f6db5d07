# SPDX-License-Identifier: Apache-2.0
"""Puts a run together from its documents. A damaged one costs what it says and hides nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from aboard.errors import DamagedDocument
from aboard.model.runs import Attempt, RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store.run.claims import OLD_SECONDS
from aboard.store.run.documents import AttemptClaim, Manifest, Summary, removed_tags
from aboard.store.run.run_folder import ManifestRead, RunFolder

_Document = TypeVar("_Document")
_LARGEST = 2**63 - 1  # that a catalog can hold


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """What could be read of a run, and what could not."""

    uid: str
    run: RunRecord | None
    """None when nobody knows to whom it belongs: `run.json` is missing or damaged."""
    problems: tuple[str, ...] = ()
    manifest: ManifestRead | None = None
    """The manifest that it was put together with."""
    is_missing: bool = False
    """Whether there is no `run.json` at all."""
    is_gone: bool = False
    """Whether there is nothing at all under its uid: it was deleted, though announcements may still name it."""


def load_run(folder: RunFolder) -> LoadedRun:
    """The run with its attempts, status, metrics and sizes; raises only when the store cannot be read."""
    problems: list[str] = []

    def readable(read: Callable[[], _Document | None]) -> _Document | None:
        try:
            return read()
        except DamagedDocument as error:
            problems.append(error.message)
            return None

    run = readable(folder.read_run)
    if run is None:
        is_missing = not problems
        problems = problems or [f"There is no {folder.where('run.json')}."]
        is_gone = is_missing and next(iter(folder.list()), None) is None
        return LoadedRun(folder.uid, None, tuple(problems), is_missing=is_missing, is_gone=is_gone)
    read = readable(folder.read_manifest)
    summary = readable(folder.read_summary)
    claims = [readable(lambda number=number: folder.read_attempt(number)) for number in folder.attempt_numbers()]
    run = _with_summary(run, summary)
    run = _with_attempts(run, [claim for claim in claims if claim], read.manifest if read else None)
    return LoadedRun(folder.uid, replace(run, store=folder.store.uri, source_path=None), tuple(problems), read)


def _with_summary(run: RunRecord, summary: Summary | None) -> RunRecord:
    """What people said later, in `run.json`, goes before what the training said."""
    if summary is None:
        return run
    said = {note.text for note in run.notes}
    removed = removed_tags(run)
    return replace(
        run,
        started=summary.started,
        ended=summary.ended,
        exit_code=summary.exit_code,
        reason=summary.reason,
        hparams=summary.hparams,
        metrics=summary.metrics,
        tags={**{name: text for name, text in summary.tags.items() if name not in removed}, **run.tags},
        notes=(*(note for note in summary.notes if note.text not in said), *run.notes),
    )


def _with_attempts(run: RunRecord, claims: list[AttemptClaim], manifest: Manifest | None) -> RunRecord:
    attempts = tuple(_attempt(claim, manifest, run) for claim in claims)
    # The summary knows the attempt that wrote it; of several, the first one began the run.
    started = run.started
    if attempts and (started is None or len(attempts) > 1):
        started = attempts[0].started
    run = replace(run, attempts=attempts, started=started, host=attempts[-1].host if attempts else run.host)
    if manifest is None:
        return replace(run, status=_without_manifest(claims[-1])) if claims else run
    return replace(
        run,
        status=manifest.status,
        heartbeat=manifest.alive,
        revision=min((run.revision or 0) + manifest.serial, _LARGEST),  # both only rise
        ended=run.ended or (manifest.alive if manifest.sealed else None),
        files=len(manifest.files) + (manifest.outputs.files if manifest.outputs else 0),
        bytes=min(manifest.bytes, _LARGEST),
    )


def _without_manifest(claim: AttemptClaim) -> RunState:
    """An attempt that was claimed just now has its manifest soon."""
    is_young = (now() - claim.claimed).total_seconds() < OLD_SECONDS
    return RunState.RUNNING if is_young else RunState.LOST


def _attempt(claim: AttemptClaim, manifest: Manifest | None, run: RunRecord) -> Attempt:
    ends = {one.number: (one.status, one.alive) for one in manifest.earlier} if manifest else {}
    if manifest:
        ends[manifest.attempt] = (manifest.status, manifest.alive)
    status, alive = ends.get(claim.number, (RunState.LOST, None))
    over = manifest is None or manifest.sealed or claim.number != manifest.attempt
    is_last = manifest is not None and manifest.sealed and claim.number == manifest.attempt
    details: Mapping[str, object] = {**claim.details, **({"pid": claim.pid} if claim.pid else {})}
    return Attempt(
        number=claim.number,
        status=status,
        started=claim.claimed,
        ended=alive if over else None,
        heartbeat=alive,
        host=claim.host,
        exit_code=run.exit_code if is_last else None,  # the summary is that of the newest attempt
        reason=run.reason if is_last else "",
        details=details,
    )
