# SPDX-License-Identifier: Apache-2.0
"""A run as the unit of a job: what SIGTERM means, and how often the command may be started again.

SIGTERM is the same signal for a cancelled job, a time limit and a preemption. A cancelled job has a mark: a file where
this process shares a file system with the submitter, else an object in the store. The time of a unit counts from the
moment that its executor names, which may be long before this process started: it was restarted, or its image was slow
to pull. Without such a moment it counts from the start of the process.

Each claim on an attempt names its number within the unit, so the newest claim tells how many there were. Starts that a
scheduler makes by itself, after a preemption or a node failure, are not counted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import psutil

from aboard.errors import AboardError, DamagedDocument, StoreError
from aboard.model.states import RunState
from aboard.run.supervisor.attempt import Outcome
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
