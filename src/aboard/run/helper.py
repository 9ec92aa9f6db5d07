# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.run.helper SPOOL`: ships the files of a training that was not started by `aboard run`.

It is a process of its own, outlives the training however that ends, and ends itself when everything is shipped.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from aboard.errors import AboardError, InvalidValue, RunClaimed, StoreError
from aboard.model.names import check_name, check_workspace_name
from aboard.model.run import Run
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.model.uid import check_uid, new_uid
from aboard.run.environment import RunPlace
from aboard.run.local_json import read_json
from aboard.run.spool_files import OUTPUT, START
from aboard.run.supervisor.attempt import LiveAttempt, Outcome
from aboard.run.supervisor.code_state import code_state
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.find_run import find_run
from aboard.run.supervisor.host_state import host_name, host_state
from aboard.run.supervisor.python_state import python_state
from aboard.run.supervisor.secrets import Secrets
from aboard.run.supervisor.shipping import write_progress
from aboard.run.supervisor.spool_lock import SpoolLock
from aboard.run.training.helper_process import process_start
from aboard.ship import Spool, restore
from aboard.store import open_store
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.claiming import claim_attempt
from aboard.store.run.run_folder import RunFolder

_log = logging.getLogger("aboard.run")
LOOK_SECONDS = 0.2
FLUSH_SECONDS = 3600.0
RESOURCES_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    """Ship until the training has ended and everything is in the store."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if len(arguments) != 1:
        _log.error("Name the folder of one run.")
        return 2
    # What ends the training often goes to all processes of a person or a job; the rest is still to be shipped.
    for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(which, signal.SIG_IGN)
    folder = Path(arguments[0]).absolute()
    try:
        with SpoolLock(folder):
            return _Helper(folder).run()
    except AboardError as error:
        _log.error("%s", error)
        return 1


class _Training:
    """The process whose files are shipped."""

    def __init__(self, document: object) -> None:
        fields = cast("Mapping[str, object]", document) if isinstance(document, Mapping) else {}
        pid = fields.get("pid")
        if not isinstance(pid, int):
            raise InvalidValue(f"{START} does not say which process it is about.")
        self.pid = pid
        self._started = str(fields.get("started") or "")

    @property
    def is_alive(self) -> bool:
        if self._started:
            return process_start(self.pid) == self._started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class _Helper:
    def __init__(self, folder: Path) -> None:
        start = read_json(folder / START)
        self._folder = folder
        self._training = _Training(start.get("process"))
        self._is_named = start.get("is_named") is True
        self._store = str(start.get("store"))
        self._watched = str(start.get("tensorboard") or "")
        self._command = str(start.get("command") or "")
        self._secrets = Secrets.of(os.environ, self._command.split())
        self._run = Run(
            uid=check_uid(start.get("uid")),
            workspace=check_workspace_name(start.get("workspace")),
            created=now(),
            name=check_name(start.get("name"), "a run"),
            experiment=str(start.get("experiment") or "") or None,
            user=str(start.get("user") or ""),
            host=host_name(),
        )
        self._problem = ""

    def run(self) -> int:
        claim = self._claim()
        spool = Spool.at(self._folder)
        spool.write_run(self._run)
        spool.write_attempt(claim)
        destination = Destination(
            folder=self._folder,
            uid=self._run.uid,
            store=self._store,
            output=self._folder / OUTPUT,
            watched=(Path(self._watched),) if self._watched else (),
        )
        destination.write()
        write_progress(self._folder, [], attempt=claim.number, has_begun=True, problem=self._problem, is_over=False)
        place = RunPlace(
            spool=self._folder,
            uid=self._run.uid,
            name=self._run.name,
            workspace=self._run.workspace,
            attempt=claim.number,
            output=destination.output,
        )
        live = LiveAttempt(place, destination, self._secrets, resources_every=RESOURCES_SECONDS)
        live.start(claim.claimed)
        live.command_started(self._training.pid)
        while self._training.is_alive and not live.summary.said_status:
            time.sleep(LOOK_SECONDS)
            live.summary.look()
        states = live.finish(_outcome(live), FLUSH_SECONDS)
        _log.info("The end: %s", "; ".join(map(str, states)))
        return 0

    def _claim(self) -> AttemptClaim:
        """The attempt that this is; of an earlier run when the training gave its name."""
        claim = AttemptClaim(
            number=1, token=new_uid(), claimed=now(), host=host_name(), pid=self._training.pid, details=self._details()
        )
        if not self._is_named:
            return claim
        try:
            store = open_store(self._store, create=True)
            home = self._folder.parent.parent
            found = find_run(store, self._run.workspace, self._run.name, home)
            if found is None:
                return claim
            claim = claim_attempt(RunFolder(store, found.uid), claim)
            self._run = found
            restore(store, found.uid, self._folder / OUTPUT)
        except RunClaimed as error:
            self._problem = f"{error.message} This is another run of the same name."
        except StoreError as error:
            self._problem = f"{error.message} So nothing was resumed; this is another run of the same name."
        if self._problem:
            _log.warning("%s", self._problem)
        return claim

    def _details(self) -> dict[str, object]:
        code = code_state(Path.cwd())
        return {
            "command": self._secrets.mask(self._command),
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
    return Outcome(RunState.FAILED, "the training process was killed, or ended without the interpreter's end")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
