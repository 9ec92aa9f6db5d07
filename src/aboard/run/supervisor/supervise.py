# SPDX-License-Identifier: Apache-2.0
"""`aboard run`: a command as a run, from the claim to the last byte in the store, also as a restarted unit."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import psutil

from aboard.errors import AboardError, DamagedDocument, RunClaimed, StoreError
from aboard.model.hparams import hparams_to_json
from aboard.model.states import RunState
from aboard.run.environment import RunContext, user_name, variables_of
from aboard.run.secrets import Secrets
from aboard.run.spool import ATTEMPT, LOGS, FactLog
from aboard.run.supervisor.attempt import FinalFlush, LiveAttempt, Outcome
from aboard.run.supervisor.command import Command, OutputLog
from aboard.run.supervisor.console import Console
from aboard.run.supervisor.context import CodeState, code_state, host_state, python_state
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
from aboard.run.supervisor.uploads import Destination, spool_locked
from aboard.store import Patience, open_store
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from aboard.upload.scan import Spool

UNIT, REQUEUED = "ABOARD_UNIT_ID", "ABOARD_UNIT_REQUEUED"
_IN_UNIT = "attempt_in_unit"


@dataclass
class UnitRestarts:
    """The attempts of one unit; outside of units there are those of this process alone."""

    unit: str = ""
    requeued: int = 0
    made: int = 0

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Before anything is known of earlier attempts."""
        requeued = environ.get(REQUEUED, "")
        return cls(unit=environ.get(UNIT, ""), requeued=int(requeued) if requeued.isdecimal() else 0)

    def look(self, spool: Spool, store: str, patience: Patience) -> None:
        """Find out which attempts there were, here or in the store; who cannot be asked has told of none."""
        newest = spool.read_attempt()
        try:
            folder = RunFolder(open_store(store, read_only=True, patience=patience), spool.uid)
            number = max(folder.attempt_numbers(), default=0)
            if newest is None or number > newest.number:
                newest = folder.read_attempt(number) if number else newest
        except (StoreError, DamagedDocument):
            pass
        self.made = self._attempt_of(newest)

    def left(self, restarts: int) -> int:
        """How often the command may be started again after the start to come; below 0 when even that is too much."""
        return restarts + self.requeued - self.made

    def details(self) -> dict[str, object]:
        """What the claim on the attempt to come says of it."""
        if not self.unit:
            return {}
        # By the unit the executor of a job can be asked what became of it.
        return {"unit": self.unit, _IN_UNIT: self.made + 1}

    def _attempt_of(self, claim: AttemptClaim | None) -> int:
        if claim is None or not self.unit or claim.details.get("unit") != self.unit:
            return 0
        told = claim.details.get(_IN_UNIT)
        return told if isinstance(told, int) else 1


MARK, KEY = "ABOARD_CANCEL_MARK", "ABOARD_CANCEL_OBJECT"
TIMEOUT, BEGUN, LIMIT = "ABOARD_UNIT_TIMEOUT", "ABOARD_UNIT_BEGUN", "ABOARD_UNIT_LIMIT"
_CLOCK_GRAIN = 2.0  # starts of processes are told to a second, and an executor begins to count before one is there
# Of the time that is left to ship the rest.
_AT_THE_END = Patience(connect_seconds=3, stall_seconds=5, request_seconds=5, retries=1, retry_seconds=3)


def outcome_of_sigterm(environ: Mapping[str, str], store: str, asked: float, exit_code: int) -> Outcome:
    """How a run ends that was asked to at that time; who cannot be asked has cancelled nothing."""
    if is_cancelled(environ, store):
        return cancelled_outcome(exit_code)
    if said := _time_over(environ, asked):
        return Outcome(RunState.FAILED, said, exit_code, is_final=True)
    return Outcome(RunState.PREEMPTED, "ended by SIGTERM", exit_code, is_final=True)


def cancelled_outcome(exit_code: int) -> Outcome:
    return Outcome(RunState.CANCELLED, "its job was cancelled", exit_code, is_final=True)


def is_marked(environ: Mapping[str, str]) -> bool:
    """Whether there is a file that says that the job was cancelled."""
    mark = environ.get(MARK)
    return bool(mark) and os.path.exists(mark)  # noqa: PTH110 - a text from the environment


def is_cancelled(environ: Mapping[str, str], store: str) -> bool:
    """Whether there is a mark of either kind; who cannot be asked has left none."""
    if not (key := environ.get(KEY)):
        return is_marked(environ)
    with contextlib.suppress(AboardError):
        return open_store(store, read_only=True, patience=_AT_THE_END).exists(key)
    return False


def _time_over(environ: Mapping[str, str], asked: float) -> str:
    """Which time was over then; empty if none was."""
    timeout, limit = (_seconds(environ.get(name, "")) for name in (TIMEOUT, LIMIT))
    if timeout is not None and asked - _begin(environ) >= timeout - _CLOCK_GRAIN:
        return f"its time of {timeout:g} s was over"
    if limit is not None and asked >= limit - _CLOCK_GRAIN:
        return "the time limit of its scheduler was reached"
    return ""


def _begin(environ: Mapping[str, str]) -> float:
    """When the time of the unit began to count; the clock of who told it may be ahead of this machine's."""
    own, told = psutil.Process().create_time(), _seconds(environ.get(BEGUN, ""))
    return own if told is None else min(own, told)


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


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
