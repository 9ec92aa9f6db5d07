# SPDX-License-Identifier: Apache-2.0
"""A run whose training process asked for help itself: `Run` without `aboard run`."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

from aboard.errors import InvalidValue, RunClaimed, StoreError
from aboard.model.names import check_name, check_uid, check_workspace_name, new_uid
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.run.environment import RunContext
from aboard.run.secrets import Secrets
from aboard.run.spool import LOGS, OUTPUT, START, read_json
from aboard.run.supervisor.attempt import LiveAttempt, Outcome
from aboard.run.supervisor.context import code_state, host_name, host_state, python_state
from aboard.run.supervisor.server_registration import ServerRegistration
from aboard.run.supervisor.start import find_run
from aboard.run.supervisor.uploads import Destination, read_destination, write_progress
from aboard.run.training.starting import process_start
from aboard.store import open_store
from aboard.store.run.claims import claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.upload.restore import restore
from aboard.upload.scan import Spool
from aboard.upload.uploader import UploadState

_log = logging.getLogger("aboard.run")
LOOK_SECONDS = 0.2
RESOURCES_SECONDS = 10.0


class TrainingProcess:
    """The process whose files are shipped; it is not a child of this one."""

    def __init__(self, document: object) -> None:
        fields = cast("dict[str, object]", document) if isinstance(document, dict) else dict[str, object]()
        pid = fields.get("pid")
        if not isinstance(pid, int):
            raise InvalidValue(f"{START} does not say which process it is about.")
        self.pid = pid
        self._started = str(fields.get("started") or "")

    @property
    def is_alive(self) -> bool:
        """Whether it runs; another process with the same number does not count."""
        if self._started:
            return process_start(self.pid) == self._started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class UnattendedRun:
    """Ships such a run. Its spool is locked by the caller. May be taken up again by another process at any time."""

    def __init__(self, folder: Path) -> None:
        start = read_json(folder / START)
        self._folder = folder
        self._training = TrainingProcess(start.get("process"))
        self._is_named = start.get("is_named") is True
        self._store = str(start.get("store"))
        self._watched = str(start.get("tensorboard") or "")
        self._command = shlex.split(str(start.get("command") or ""))
        self._secrets = Secrets.of(os.environ, self._command)
        self._spool = Spool.at(folder)
        self._run = RunRecord(
            uid=check_uid(start.get("uid")),
            workspace=check_workspace_name(start.get("workspace")),
            created=now(),
            name=check_name(start.get("name"), "a run"),
            experiment=str(start.get("experiment") or "") or None,
            user=str(start.get("user") or ""),
            host=host_name(),
        )
        self._problem = ""

    def prepare(self) -> tuple[Destination, AttemptClaim]:
        """Claim the run unless somebody has done so from here before, and note where its files go."""
        claim = self._spool.read_attempt()
        if claim is None:
            claim = self._claim()
            self._spool.write_run(self._run)
            self._spool.write_attempt(claim)
            destination = Destination(
                folder=self._folder,
                uid=self._run.uid,
                store=self._store,
                output=self._folder / OUTPUT,
                watched=(Path(self._watched),) if self._watched else (),
            )
            (self._folder / LOGS).mkdir(exist_ok=True)
            destination.write()
        destination = read_destination(self._folder)
        self._run = self._spool.read_run() or replace(self._run, uid=destination.uid)
        return destination, claim

    def ship_to_the_end(self, timeout: float) -> list[UploadState]:
        """Ship until the training has ended, and then the rest."""
        destination, claim = self.prepare()
        server = ServerRegistration()
        if claim.number == 1:  # its name is known to the training already
            server.registered(self._run, self._store, is_named=True)
        with server.kept_informed(self._run.uid):
            return self._ship(destination, claim, timeout)

    def _ship(self, destination: Destination, claim: AttemptClaim, timeout: float) -> list[UploadState]:
        write_progress(self._folder, [], attempt=claim.number, has_begun=True, problem=self._problem, is_over=False)
        place = RunContext(
            spool=self._folder,
            uid=self._run.uid,
            name=self._run.name,
            workspace=self._run.workspace,
            attempt=claim.number,
            output=destination.output,
        )
        live = LiveAttempt(place, destination, self._secrets, resources_every=RESOURCES_SECONDS)
        live.start(claim.claimed)
        if self._training.is_alive:
            live.command_started(self._training.pid)
        while self._training.is_alive and not live.summary.said_status:
            time.sleep(LOOK_SECONDS)
            live.summary.look()
        return live.finish(_outcome(live), timeout)

    def _claim(self) -> AttemptClaim:
        """The attempt that this is; of an earlier run when the training gave its name."""
        claim = AttemptClaim(
            number=1, token=new_uid(), claimed=now(), host=host_name(), pid=self._training.pid, details=self._details()
        )
        if not self._is_named:
            return claim
        try:
            store = open_store(self._store, create=True)
            found = find_run(store, self._run.workspace, self._run.name, self._folder.parent.parent)
            if found is not None:
                claim = claim_attempt(RunFolder(store, found.uid), claim)
                self._run = found
        except RunClaimed as error:
            self._problem = f"{error.message} This is another run of the same name."
        except StoreError as error:
            self._problem = f"{error.message} So nothing was resumed; this is another run of the same name."
        if claim.number > 1:
            self._problem = self._bring_back()
        if self._problem:
            _log.warning("%s", self._problem)
        return claim

    def _bring_back(self) -> str:
        """Restore the output folder; what went wrong."""
        try:
            return " ".join(restore(open_store(self._store), self._run.uid, self._folder / OUTPUT).problems)
        except StoreError as error:
            return f"Files of earlier attempts are missing: {error.message}"

    def _details(self) -> dict[str, object]:
        code = code_state(Path.cwd())
        return {
            "command": shlex.join(self._secrets.mask_command(self._command)),
            "folder": str(Path.cwd()),
            "user": self._run.user,
            "machine": host_state(),
            "python": python_state([sys.executable], os.environ),
            **({"code": self._secrets.mask_value("", code.details)} if code else {}),
        }


def _outcome(live: LiveAttempt) -> Outcome:
    summary = live.summary
    summary.look()
    if summary.said_status:
        return Outcome(RunState(summary.said_status), summary.said_reason)
    if summary.last_signal:
        status = RunState.CANCELLED if summary.last_signal == "SIGINT" else RunState.FAILED
        return Outcome(status, f"ended by {summary.last_signal}")
    return Outcome(RunState.FAILED, "the training process was killed, or ended without the end of its interpreter")
