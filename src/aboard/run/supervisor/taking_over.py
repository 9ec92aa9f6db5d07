# SPDX-License-Identifier: Apache-2.0
"""Takes a training that ended long ago, elsewhere or in another tool, into a store as a run, with its own dates.

It goes the way of every other run: a spool, a claim, a shipper. Its uid comes from its date and its identity, so that
taking it over again finds the same run, and ships only what is new.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aboard.errors import RunClaimed, StoreError
from aboard.events.file_names import is_event_file
from aboard.folder_files import make_private_folder
from aboard.model.hparams import HparamValue
from aboard.model.note import Note
from aboard.model.run import Run
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.model.uid import uid_of
from aboard.run.environment import user_name
from aboard.run.facts import FactLog
from aboard.run.spool_files import FACTS, LOGS, OUTPUT, spools_of
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.host_state import host_name
from aboard.run.supervisor.leftovers import read_manifest, ship_leftovers
from aboard.run.supervisor.shipping import is_complete
from aboard.run.supervisor.spool_lock import spool_locked
from aboard.run.supervisor.sync import State, Synced
from aboard.store import Store, open_store
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.claiming import claim_attempt
from aboard.store.run.run_folder import RunFolder
from aboard.store.run.summary import Summary, render_summary
from aboard.upload import Spool


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


def take_over(run: EarlierRun, store_uri: str, home: Path, timeout: float) -> Synced:
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
        states = ship_leftovers(destination, timeout).states
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
        Run(
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


def _synced(run: EarlierRun, state: State, text: str, files_left: int = 0, bytes_left: int = 0) -> Synced:
    return Synced(
        folder=run.folder,
        uid=run.uid,
        name=run.name,
        state=state,
        text=text,
        files_left=files_left,
        bytes_left=bytes_left,
    )
