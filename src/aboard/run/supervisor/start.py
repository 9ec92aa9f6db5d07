# SPDX-License-Identifier: Apache-2.0
"""The start of an attempt: finds or creates the run, claims it, and restores the files of earlier attempts.

A store that cannot be reached does not delay the training: the attempt starts with what this machine knows, and the
claim is put into the store later.

`find_run` finds a run by its name without a server. The first search reads `run.json` of every run, sixteen at a time.
The result is cached below the home folder, so a later search lists what is new and reads only that. A name that a
server has changed since is noticed when the run is found by its old name, not when it is searched by its new one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, cast

from aboard.errors import AboardError, DamagedDocument, StorageUnavailable, StoreError
from aboard.foundation.files import make_private_folder
from aboard.model.hparams import HparamValue
from aboard.model.names import folded, is_uid, new_uid, offline_run_name
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.run.environment import RunContext, user_name
from aboard.run.spool import FACTS, LOGS, OUTPUT, FactLog, read_json, spools_of, write_json
from aboard.run.supervisor.console import Console
from aboard.run.supervisor.context import host_name
from aboard.run.supervisor.server_registration import ServerRegistration
from aboard.run.supervisor.uploads import Destination, finish_upload, read_destination, read_manifest
from aboard.store import Patience, Store, open_store
from aboard.store.run.claims import claim_attempt
from aboard.store.run.documents import AttemptClaim, render_summary
from aboard.store.run.listing import RunListing
from aboard.store.run.run_folder import RunFolder
from aboard.upload.restore import restore
from aboard.upload.scan import Spool
from aboard.upload.uploader import files_text


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A command, and the run that it is to be."""

    command: tuple[str, ...]
    home: Path
    store: str
    mirrors: tuple[str, ...] = ()
    workspace: str = "default"
    experiment: str = ""
    name: str | None = None
    """None: a new run, called after its uid. The name of a run that is there: a new attempt of that one."""
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    watched: tuple[Path, ...] = ()
    output: Path | None = None
    restarts: int = 0
    grace: float = 30.0
    """Seconds between a signal that asks the command to end and killing it."""
    flush_timeout: float = 300.0
    """Seconds for shipping the rest when the command has ended."""
    resources_every: float = 10.0
    """Seconds between looks at CPU, memory and GPUs; 0: none."""
    log_limit: int = 32 << 20
    """Bytes of the command's output that are kept from its beginning."""
    capture_code: bool = True
    must_ship: bool = False
    """Whether this disk goes with the command: what the store does not get is lost, which is a failure."""


_AT_ONCE = 16


class _Known(NamedTuple):
    workspace: str
    name: str


def find_run(store: Store, workspace: str, name: str, home: Path) -> RunRecord | None:
    """The newest run of that name in a workspace; None when there is none. Raises StoreError."""
    cache = home / "cache" / "names" / f"{hashlib.sha256(store.uri.encode()).hexdigest()[:24]}.json"
    known = _read_cache(cache)
    listed = RunListing(store).new()
    fresh = [uid for uid in listed if uid not in known]
    known = {uid: one for uid, one in known.items() if uid in set(listed)}
    known |= _read_names(store, fresh)
    if fresh:
        _write_cache(cache, store.uri, known)
    wanted = _Known(workspace, folded(name))
    for uid in sorted((uid for uid, one in known.items() if one == wanted), reverse=True):
        run = _readable(store, uid)
        if run and run.deleted is None and (run.workspace, folded(run.name)) == wanted:
            return run
    return None


def _read_names(store: Store, uids: list[str]) -> dict[str, _Known]:
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        runs = threads.map(_readable, [store] * len(uids), uids)
        # What cannot be read yet is asked for again next time.
        return {uid: _Known(run.workspace, folded(run.name)) for uid, run in zip(uids, runs, strict=True) if run}


def _readable(store: Store, uid: str) -> RunRecord | None:
    try:
        return RunFolder(store, uid).read_run()
    except DamagedDocument:
        return None


def _read_cache(path: Path) -> dict[str, _Known]:
    runs = read_json(path).get("runs")
    found: dict[str, _Known] = {}
    for uid, entry in (cast("dict[str, object]", runs) if isinstance(runs, dict) else {}).items():
        match entry:
            case [str(workspace), str(name)] if is_uid(uid):
                found[uid] = _Known(workspace, name)
            case _:
                continue
    return found


def _write_cache(path: Path, store: str, known: dict[str, _Known]) -> None:
    runs = {uid: list(one) for uid, one in known.items()}
    try:
        write_json(path, {"format": "aboard-names", "version": [1, 0], "store": store, "runs": runs})
    except AboardError:
        return  # the next search takes as long as this one


LEFTOVER_SECONDS = 60.0
# Nobody wants a training to wait long for a store that does not answer.
AT_THE_START = Patience(connect_seconds=5, stall_seconds=10, request_seconds=20, retries=2, retry_seconds=10)


@dataclass(frozen=True)
class ResolvedRun:
    run: RunRecord
    is_new: bool


def resolve_run(request: RunRequest, console: Console, server: ServerRegistration) -> ResolvedRun:
    """Find the run of the requested name, here or in the store; otherwise make a new one, and have the server know."""
    if request.name is not None:
        found = _in_spools(request) or _in_store(request, console)
        if found is not None:
            return ResolvedRun(found, is_new=False)
    uid = new_uid()
    run = RunRecord(
        uid=uid,
        workspace=request.workspace,
        created=now(),
        name=request.name or offline_run_name(uid),
        experiment=request.experiment or None,
        user=user_name(),
        host=host_name(),
    )
    return ResolvedRun(server.registered(run, request.store, is_named=request.name is not None), is_new=True)


def context_of(request: RunRequest, run: RunRecord, attempt: int) -> RunContext:
    """Where the files of an attempt go on this machine."""
    spool = spools_of(request.home) / run.uid
    return RunContext(
        spool=spool,
        uid=run.uid,
        name=run.name,
        workspace=run.workspace,
        experiment=run.experiment or "",
        attempt=attempt,
        output=request.output or spool / OUTPUT,
    )


def make_folders(place: RunContext) -> None:
    try:
        make_private_folder(place.spool)
        for folder in place.channels.values():
            folder.mkdir(parents=True, exist_ok=True)
        (place.spool / LOGS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(
            f"The folders of the run below {place.spool} cannot be made: {error.strerror}.",
            hint="Set ABOARD_HOME, or --output, to a place that can be written.",
        ) from None


class AttemptStarter:
    """Starts attempts of one run; the caller has locked its spool."""

    def __init__(
        self, found: ResolvedRun, destination: Destination, console: Console, *, must_ship: bool = False
    ) -> None:
        self._run = found.run
        self._must_ship = must_ship
        self._is_new = found.is_new
        self._destination = destination
        self._console = console
        self._spool = Spool.at(destination.folder)
        self._has_said_waiting = False

    def attempt(self, details: Callable[[], Mapping[str, object]]) -> AttemptClaim:
        """Claim the next attempt and have its files in place; raises RunClaimed while another one lives."""
        claim = AttemptClaim(
            number=1, token=new_uid(), claimed=now(), host=host_name(), pid=os.getpid(), details=dict(details())
        )
        before = self._spool.read_attempt()
        if not self._is_new or before is not None:
            claim = self._next(claim, before)
        elif self._must_ship:
            self._claim_first(claim)
        self._spool.write_run(self._run)
        self._spool.write_attempt(claim)
        self._destination.write()
        self._is_new = False
        return claim

    def _claim_first(self, claim: AttemptClaim) -> None:
        """Claim before the training starts, so that a store that refuses everything is noticed now."""
        try:
            store = open_store(self._destination.store, create=True, patience=AT_THE_START)
            claim_attempt(RunFolder(store, self._run.uid), claim, sleep=self._wait)
        except StoreError as error:
            if error.temporary:
                return
            self._console.warn("nothing of this run could be kept; the command was not started")
            raise

    def _next(self, claim: AttemptClaim, before: AttemptClaim | None) -> AttemptClaim:
        """Without the store an attempt begins only where its files are: one that began anew would hide the history."""
        try:
            store = open_store(self._destination.store, create=True, patience=AT_THE_START)
            if before is not None:
                self._finish_earlier(store, before)
            claim = claim_attempt(RunFolder(store, self._run.uid), claim, sleep=self._wait)
        except StoreError as error:
            if before is None:
                self._console.warn(
                    f"{self._run.name} has files in the store, which fails now; the command was not started"
                )
                raise
            claim = replace(claim, number=before.number + 1)
            self._console.warn(
                f"{error.message} Attempt {claim.number} begins with the files that are on this machine; "
                f"what it writes is kept here and shipped later. {error.hint}".rstrip()
            )
            return claim
        if claim.number > 1:
            was_elsewhere = before is None or claim.number != before.number + 1
            self._bring_back(is_needed=was_elsewhere)
        return claim

    def _wait(self, seconds: float) -> None:
        if not self._has_said_waiting:
            self._has_said_waiting = True
            self._console.say(
                f"{self._run.name} was not ended in an orderly way; watching for up to a minute if it lives …"
            )
        time.sleep(seconds)

    def _finish_earlier(self, store: Store, before: AttemptClaim) -> None:
        """An earlier attempt on this machine may have left files, and a claim that nobody holds any more."""
        manifest = read_manifest(RunFolder(store, self._run.uid))
        if manifest is not None and (manifest.sealed or manifest.attempt > before.number):
            return
        self._console.say("shipping what the earlier attempt has left …")
        for state in finish_upload(read_destination(self._destination.folder), LEFTOVER_SECONDS).states:
            if state.error:
                self._console.warn(f"of the earlier attempt: {state}")

    def _bring_back(self, *, is_needed: bool) -> None:
        try:
            store = open_store(self._destination.store)
            restored = restore(store, self._run.uid, self._destination.output)
            self._take_summary(RunFolder(store, self._run.uid))
        except StoreError as error:
            if is_needed:
                self._console.warn(
                    f"files of earlier attempts of {self._run.name} are missing; the command was not started"
                )
                raise
            self._console.warn(f"{error.message} The attempt begins with the files that are on this machine.")
            return
        if restored.files:
            verb = "is" if restored.files == 1 else "are"
            back = f"{files_text(restored.files)} of earlier attempts {verb} back in {self._destination.output}"
            self._console.say(back)
        for problem in restored.problems:
            self._console.warn(problem)

    def _take_summary(self, folder: RunFolder) -> None:
        """What earlier attempts on other machines have come to."""
        if (self._destination.folder / FACTS).exists():
            return
        try:
            summary = folder.read_summary()
        except DamagedDocument as error:
            self._console.warn(error.message)
            return
        if summary is not None:
            FactLog(self._destination.folder).append("earlier", summary=render_summary(summary).decode())


def _in_spools(request: RunRequest) -> RunRecord | None:
    """The newest run of this machine that goes to the same store, without those that were moved to trash there."""
    found: list[RunRecord] = []
    root = spools_of(request.home)
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            run = Spool.at(folder).read_run()
            if run and read_destination(folder).store == request.store and _is_meant(run, request):
                found.append(run)
        except AboardError:
            continue
    return next((run for run in reversed(found) if not _is_in_trash(run, request.store)), None)


def _is_in_trash(run: RunRecord, store: str) -> bool:
    """Spools do not hear of it. A store that does not answer is no reason to leave a run unfinished."""
    try:
        kept = RunFolder(open_store(store, patience=AT_THE_START), run.uid).read_run()
    except AboardError:
        return False
    return kept is not None and kept.deleted is not None


def _in_store(request: RunRequest, console: Console) -> RunRecord | None:
    assert request.name is not None
    try:
        store = open_store(request.store, create=True, patience=AT_THE_START)
        return find_run(store, request.workspace, request.name, request.home)
    except StoreError as error:
        console.warn(
            f"{error.message} So nobody knows whether there is a run {request.name!r} already: this is a new one."
        )
        return None


def _is_meant(run: RunRecord, request: RunRequest) -> bool:
    return run.workspace == request.workspace and folded(run.name) == folded(request.name or "")
