# SPDX-License-Identifier: Apache-2.0
"""`aboard run`: a command as a run, from the claim to the last byte in the store."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

from aboard.errors import RunClaimed
from aboard.model.hparams import hparams_to_json
from aboard.model.states import RunState
from aboard.run.environment import RunContext, user_name, variables_of
from aboard.run.secrets import Secrets
from aboard.run.spool import ATTEMPT, LOGS, FactLog
from aboard.run.supervisor.attempt import FinalFlush, LiveAttempt, Outcome
from aboard.run.supervisor.command import Command, OutputLog
from aboard.run.supervisor.console import Console
from aboard.run.supervisor.context import CodeState, code_state, host_state, python_state
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.event_files import SHARED
from aboard.run.supervisor.server_registration import ServerRegistration
from aboard.run.supervisor.start import (
    AT_THE_START,
    AttemptStarter,
    ResolvedRun,
    RunRequest,
    context_of,
    make_folders,
    resolve_run,
)
from aboard.run.supervisor.unit import UnitRestarts, cancelled_outcome, is_cancelled, is_marked, outcome_of_sigterm
from aboard.run.supervisor.uploads import spool_locked
from aboard.upload.scan import Spool

_NOT_SHIPPED = os.EX_IOERR
_STARTED_OFTEN_ENOUGH = 1
_ENDED_BY_SIGTERM = 128 + signal.SIGTERM


def supervise(request: RunRequest, console: Console) -> int:
    """Run the command to its end, again if asked to; its exit code."""
    if is_marked(os.environ):  # as when its scheduler took it only after somebody had given up on it
        console.warn("its job was cancelled; the command was not started")
        return _ENDED_BY_SIGTERM
    server = ServerRegistration()
    found = resolve_run(request, console, server)
    first = context_of(request, found.run, 1)
    with spool_locked(first.spool), server.kept_informed(found.run.uid):
        make_folders(first)
        destination = Destination(
            folder=first.spool,
            uid=found.run.uid,
            store=request.store,
            mirrors=request.mirrors,
            output=first.output,
            watched=request.watched,
            shared=() if any(SHARED.is_relative_to(one) for one in request.watched) else (SHARED,),
        )
        try:
            supervision = _Supervision(request, found, destination, console)
            left = supervision.restarts_left() if request.restarts else 0
            if left < 0:
                console.warn(
                    f"{found.run.name} was started again {request.restarts} times, which is all it may; it ends here"
                )
                return _STARTED_OFTEN_ENOUGH
            return _attempts(supervision, left, console)
        except RunClaimed:
            if not (first.spool / ATTEMPT).exists():  # nothing was begun here
                shutil.rmtree(first.spool, ignore_errors=True)
            raise


def _attempts(supervision: _Supervision, restarts: int, console: Console) -> int:
    """Run the command until it does not fail, or was started often enough; its exit code."""
    for left in range(restarts, 0, -1):
        outcome = supervision.attempt(may_restart=True)
        if not outcome.may_go_on:
            return outcome.exit_code or 0
        console.say(f"starting again; {left - 1} more times if needed")
    return supervision.attempt(may_restart=False).exit_code or 0


class _Supervision:
    """The attempts of one run by one supervisor."""

    def __init__(self, request: RunRequest, found: ResolvedRun, destination: Destination, console: Console) -> None:
        self._request = request
        self._destination = destination
        self._run = found.run
        self._beginning = AttemptStarter(found, destination, console, must_ship=request.must_ship)
        self._console = console
        self._environ = {"PYTHONUNBUFFERED": "1", **os.environ}
        self._secrets = Secrets.of(self._environ, request.command)
        self._facts = FactLog(destination.folder)
        self._restarts = UnitRestarts.of(os.environ)
        self._has_told = False

    def restarts_left(self) -> int:
        """How often the command may be started again, after what this unit has done before."""
        self._restarts.look(Spool.at(self._destination.folder), self._request.store, AT_THE_START)
        return self._restarts.left(self._request.restarts)

    def attempt(self, *, may_restart: bool) -> Outcome:
        code = code_state(Path.cwd()) if self._request.capture_code else None
        claim = self._beginning.attempt(lambda: self._details(code))
        place = context_of(self._request, self._run, claim.number)
        self._restarts.made += 1
        self._write_diff(place, code)
        live = LiveAttempt(
            place,
            self._destination,
            self._secrets,
            resources_every=self._request.resources_every,
            finds_folders=True,
        )
        self._facts.append("attempt", number=claim.number)
        self._tell_facts()
        self._console.say(f"{place.name}, attempt {place.attempt}, kept in {self._destination.store}")
        live.start(claim.claimed)
        return self._run_command(live, place, may_restart=may_restart)

    def _run_command(self, live: LiveAttempt, place: RunContext, *, may_restart: bool) -> Outcome:
        request = self._request
        log = OutputLog(place.spool / LOGS / f"{place.attempt}.txt", self._secrets, head_bytes=request.log_limit)
        must_ship = request.must_ship
        flush = self._final_flush(live)
        try:
            command = Command(
                request.command,
                {**self._environ, "ABOARD_STORE": request.store, **variables_of(place)},
                log,
                grace=request.grace,
                started=live.command_started,
            )
        except BaseException as error:
            log.close()
            flush.run(place, Outcome(RunState.FAILED, str(error), None))
            raise
        try:
            exit_code = command.wait()
        finally:
            log.close()
        try:
            outcome = _outcome(command, exit_code, live, request.store)
            goes_on = may_restart and outcome.may_go_on
            if goes_on:
                flush.hurry(lambda: command.asked_to_end is not None)
            is_shipped = flush.run(place, outcome)
            wanted = _wanted_end(command, exit_code, request.store) if goes_on else None
            if wanted is not None:
                outcome = wanted
                is_shipped = self._final_flush(live).run(place, outcome)
        finally:
            command.release_signals()
        if must_ship and not is_shipped and outcome.exit_code == 0:
            return replace(outcome, exit_code=_NOT_SHIPPED)
        return outcome

    def _final_flush(self, live: LiveAttempt) -> FinalFlush:
        request = self._request
        return FinalFlush(live, self._destination, self._console, request.flush_timeout, must_ship=request.must_ship)

    def _details(self, code: CodeState | None) -> dict[str, object]:
        request, secrets = self._request, self._secrets
        python = python_state(request.command, self._environ)
        details: dict[str, object] = {
            "command": shlex.join(secrets.mask_command(request.command)),
            "folder": str(Path.cwd()),
            "user": user_name(),
            "machine": host_state(),
            **({"python": python} if python else {}),
            **self._restarts.details(),
            **({"code": secrets.mask_value("", code.details)} if code else {}),
        }
        return details

    def _write_diff(self, place: RunContext, code: CodeState | None) -> None:
        if code and code.diff:
            text = self._secrets.mask_diff(code.diff.decode("utf-8", "surrogateescape"))
            path = place.spool / LOGS / f"{place.attempt}.diff"
            path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def _tell_facts(self) -> None:
        if self._has_told:
            return
        self._has_told = True
        if self._request.hparams:
            self._facts.append("hparams", values=hparams_to_json(self._request.hparams))
        if self._request.tags:
            self._facts.append("tags", values=dict(self._request.tags))
        for note in self._request.notes:
            self._facts.append("note", text=note, author=user_name())


def _asked_end(command: Command, asked: signal.Signals, exit_code: int, store: str) -> Outcome:
    """How a run ends that a signal asked to."""
    if asked is not signal.SIGTERM:
        return Outcome(RunState.CANCELLED, f"ended by {asked.name}", exit_code)
    asked_at = time.time() - (time.monotonic() - command.asked_at)
    return outcome_of_sigterm(os.environ, store, asked_at, exit_code)


def _wanted_end(command: Command, exit_code: int, store: str) -> Outcome | None:
    """The end that somebody wanted while a failed attempt was shipped, if anybody did: it is not started again."""
    if command.asked_to_end is not None:
        return _asked_end(command, command.asked_to_end, exit_code, store)
    return cancelled_outcome(exit_code) if is_cancelled(os.environ, store) else None


def _outcome(command: Command, exit_code: int, live: LiveAttempt, store: str) -> Outcome:
    """What the end of a command means for its run."""
    live.summary.look()
    if command.asked_to_end is not None:
        return _asked_end(command, command.asked_to_end, exit_code, store)
    if exit_code > 128 and exit_code - 128 in set(signal.Signals):
        name = signal.Signals(exit_code - 128).name
        hint = ", which is often a lack of memory" if name == "SIGKILL" else ""
        return Outcome(RunState.FAILED, f"killed by {name}{hint}", exit_code)
    if exit_code:
        said = live.summary.said_reason
        return Outcome(RunState.FAILED, f"exit code {exit_code}" + (f": {said}" if said else ""), exit_code)
    if live.summary.said_status in {"failed", "cancelled", "preempted"}:
        return Outcome(RunState(live.summary.said_status), live.summary.said_reason, exit_code)
    return Outcome(RunState.COMPLETED, "", exit_code)
