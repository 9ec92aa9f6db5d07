# SPDX-License-Identifier: Apache-2.0
"""`aboard sync`: uploads what runs left on this machine, and imports trainings that ended elsewhere.

An imported training takes the way of every other run: a spool, a claim, an uploader. Its uid comes from its date and
its identity, so importing it again finds the same run and uploads only what is new.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from aboard.errors import AboardError, InvalidValue, RunClaimed, StoreError
from aboard.events.event import is_event_file
from aboard.foundation.files import make_private_folder
from aboard.model.hparams import HparamValue
from aboard.model.names import uid_of
from aboard.model.runs import Note, RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.run.environment import user_name
from aboard.run.spool import ATTEMPT, DESTINATION, FACTS, LOGS, OUTPUT, PROGRESS, START, FactLog, read_json, spools_of
from aboard.run.supervisor.context import host_name
from aboard.run.supervisor.log_spool import LogSpool, is_log_spool
from aboard.run.supervisor.unattended import UnattendedRun
from aboard.run.supervisor.uploads import (
    Destination,
    finish_upload,
    is_complete,
    read_destination,
    read_manifest,
    spool_locked,
)
from aboard.store import Store, open_store
from aboard.store.run.claims import claim_attempt
from aboard.store.run.documents import AttemptClaim, Summary, render_summary
from aboard.store.run.run_folder import RunFolder
from aboard.upload.scan import Spool

State = Literal["shipped", "complete", "in use", "left", "failed", "removed"]


@dataclass(frozen=True, kw_only=True)
class SyncResult:
    folder: Path
    uid: str = ""
    name: str = ""
    state: State
    text: str
    files_left: int = 0
    bytes_left: int = 0

    @property
    def is_well(self) -> bool:
        """Whether nothing is left to be done."""
        return self.state not in {"left", "failed"}


def spool_folders(home: Path) -> list[Path]:
    """The folders of all runs of this machine that aboard has begun."""
    root = spools_of(home)
    found = root.iterdir() if root.is_dir() else ()
    return sorted(path for path in found if (path / ATTEMPT).exists() or (path / START).exists())


def sync(folders: list[Path], *, timeout: float, clean: bool) -> Iterator[SyncResult]:
    """Ship one after the other, each within `timeout` seconds; the trouble of one does not stop the others."""
    for folder in folders:
        try:
            _refuse_others(folder)
            with spool_locked(folder):
                synced = _sync_one(folder, timeout)
                if clean and synced.state in {"shipped", "complete"}:
                    synced = _cleaned(synced)
            yield synced
        except RunClaimed as error:
            yield SyncResult(folder=folder, state="in use", text=error.message)
        except AboardError as error:
            yield SyncResult(folder=folder, state="failed", text=str(error))


def _refuse_others(folder: Path) -> None:
    """Nothing is written, not even a lock, into a folder that is no run's."""
    if not any((folder / name).exists() for name in (ATTEMPT, DESTINATION, START)):
        raise InvalidValue(
            f"{folder} is not the folder of a run that aboard has begun.",
            hint="Name one below $ABOARD_HOME/spool; `aboard sync FOLDER STORE` takes over a folder of event files.",
        )


def _sync_one(folder: Path, timeout: float) -> SyncResult:
    return _sync_logs(folder, timeout) if is_log_spool(folder) else _sync_run(folder, timeout)


def _sync_logs(folder: Path, timeout: float) -> SyncResult:
    """Log folders of `SummaryWriter("s3://…")`; what is in its store is removed here."""
    logs = LogSpool(folder)
    states = logs.ship_rest(timeout)
    return SyncResult(
        folder=folder,
        name=", ".join(logs.named),
        state="left" if any(state.files_left for state in states) else "shipped",
        text="; ".join(map(str, states)),
        files_left=sum(state.files_left for state in states),
        bytes_left=sum(state.bytes_left for state in states),
    )


def _sync_run(folder: Path, timeout: float) -> SyncResult:
    destination, name = _known(folder)
    if read_json(folder / PROGRESS).get("is_sealed") is True:
        return SyncResult(
            folder=folder, uid=destination.uid, name=name, state="complete", text=f"all in {destination.store}"
        )
    states = finish_upload(destination, timeout).states
    is_superseded = any(state.is_superseded for state in states)
    return SyncResult(
        folder=folder,
        uid=destination.uid,
        name=name,
        state="shipped" if is_complete(states) or is_superseded else "left",
        text="a later attempt has taken the run" if is_superseded else "; ".join(map(str, states)),
        files_left=sum(state.files_left for state in states),
        bytes_left=sum(state.bytes_left for state in states),
    )


def _known(folder: Path) -> tuple[Destination, str]:
    if (folder / START).exists() and not (folder / DESTINATION).exists():
        UnattendedRun(folder).prepare()
    run = Spool.at(folder).read_run()
    return read_destination(folder), run.name if run else ""


def _cleaned(synced: SyncResult) -> SyncResult:
    """Remove the folder of a run that is wholly in its store; an output folder elsewhere belongs to the person."""
    if read_json(synced.folder / PROGRESS).get("is_sealed") is not True:
        return synced
    shutil.rmtree(synced.folder, ignore_errors=True)
    return SyncResult(
        folder=synced.folder, uid=synced.uid, name=synced.name, state="removed", text="all is in the store"
    )


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """A training that is over."""

    folder: Path
    """Where its event files are; all below belongs to it."""
    name: str
    identity: bytes
    created: datetime
    ended: datetime | None = None
    status: RunState = RunState.COMPLETED
    workspace: str
    experiment: str | None = None
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    user: str = ""
    source: str
    """Where it comes from, as people know it."""

    @property
    def uid(self) -> str:
        """What it is called for ever."""
        return uid_of(self.created, self.identity)


def take_over(run: EarlierRun, store_uri: str, home: Path, timeout: float) -> SyncResult:
    """Ship a run and seal it; what became of it. Raises AboardError where nothing could be begun."""
    spool = Spool.at(spools_of(home) / run.uid)
    with contextlib.suppress(OSError):  # what is wrong there is said where it is needed
        make_private_folder(home)
    store = open_store(store_uri, create=True)
    with spool_locked(spool.folder):
        if _is_there(store, run):
            shutil.rmtree(spool.folder, ignore_errors=True)
            return _synced(run, "complete", f"all in {store_uri}")
        _begin(run, spool, store, store_uri)
        destination = _destination(run, spool, store_uri)
        states = finish_upload(destination, timeout).states
        if not is_complete(states):
            left = sum(state.files_left for state in states)
            return _synced(run, "left", "; ".join(map(str, states)), left, sum(state.bytes_left for state in states))
        shutil.rmtree(spool.folder, ignore_errors=True)
    return _synced(run, "shipped", "; ".join(map(str, states)))


def _begin(run: EarlierRun, spool: Spool, store: Store, store_uri: str) -> None:
    """Claim the run and write down what is known of it, as `aboard sync` would find it after a crash."""
    claim = spool.read_attempt()
    if claim is None:
        claim = AttemptClaim(
            number=1,
            token=f"{run.uid}-{now().timestamp()}",
            claimed=run.created,
            host=host_name(),
            details={"source": run.source, "taken_over": True},
        )
        claim = claim_attempt(RunFolder(store, run.uid), claim, watch=False)
    spool.output.mkdir(parents=True, exist_ok=True)
    (spool.folder / LOGS).mkdir(exist_ok=True)
    spool.write_run(
        RunRecord(
            uid=run.uid,
            workspace=run.workspace,
            created=run.created,
            name=run.name,
            experiment=run.experiment,
            user=run.user or user_name(),
            host=host_name(),
        )
    )
    spool.write_attempt(claim)
    _destination(run, spool, store_uri).write()
    (spool.folder / FACTS).unlink(missing_ok=True)
    facts = FactLog(spool.folder)
    facts.append("earlier", summary=render_summary(_summary(run)).decode())
    facts.append("status", status=str(run.status), reason="", is_certain=True)


def _destination(run: EarlierRun, spool: Spool, store_uri: str) -> Destination:
    return Destination(
        folder=spool.folder, uid=run.uid, store=store_uri, output=spool.folder / OUTPUT, watched=(run.folder,)
    )


def _summary(run: EarlierRun) -> Summary:
    notes = tuple(Note(text=text, author=run.user, written=run.created) for text in run.notes)
    details: dict[str, object] = {"source": run.source}
    return Summary(
        started=run.created, ended=run.ended, hparams=run.hparams, tags=run.tags, notes=notes, details=details
    )


def _is_there(store: Store, run: EarlierRun) -> bool:
    """Whether the store has all event files of the run, to their last byte, and knows that it is over."""
    try:
        manifest = read_manifest(RunFolder(store, run.uid))
    except StoreError:
        return False
    if manifest is None:
        return False
    if not manifest.sealed and (now() - manifest.alive).total_seconds() < 60:
        raise RunClaimed(f"{run.name} is being taken over by another process.", hint="Let it come to its end.")
    known = {row.source.split("/", 2)[-1]: row.bytes for row in manifest.files if not row.gone}
    here = {
        path.relative_to(run.folder).as_posix(): path.stat().st_size
        for path in run.folder.rglob("*")
        if path.is_file() and is_event_file(path.name)
    }
    return manifest.sealed and all(known.get(name) == size for name, size in here.items())


def _synced(run: EarlierRun, state: State, text: str, files_left: int = 0, bytes_left: int = 0) -> SyncResult:
    return SyncResult(
        folder=run.folder,
        uid=run.uid,
        name=run.name,
        state=state,
        text=text,
        files_left=files_left,
        bytes_left=bytes_left,
    )
