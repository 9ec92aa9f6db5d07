# SPDX-License-Identifier: Apache-2.0
"""What Slurm's state of a job, together with its keeper's record, says about a unit."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeGuard

from aboard.errors import InvalidValue
from aboard.executors.kept_units import ended_status, starts_of
from aboard.model.times import parse_time
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED"})
_ENDS = {
    "BOOT_FAIL": EndReason.NODE_FAILED,
    "CANCELLED": EndReason.STOPPED,
    "DEADLINE": EndReason.TIMEOUT,
    "NODE_FAIL": EndReason.NODE_FAILED,
    "OUT_OF_MEMORY": EndReason.OUT_OF_MEMORY,
    "PREEMPTED": EndReason.PREEMPTED,
    "TIMEOUT": EndReason.TIMEOUT,
}
# What a shell says of a process that SIGTERM or SIGKILL ended.
_ENDED_FROM_OUTSIDE = frozenset({128 + signal.SIGTERM, 128 + signal.SIGKILL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as Slurm tells of it."""

    state: str
    reason: str = ""
    exit_code: int | None = None
    """As a shell tells it: 128 and more for a signal."""
    signal: int = 0
    """The one that ended the job's own process, which is the keeper; not one that ended the unit."""
    node: str = ""
    restarts: int = 0
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def was_killed(self) -> bool:
        """Whether it was killed without Slurm's doing, who does not queue such a job again by itself.

        A keeper that ends by itself has written down how, also where that is not to be seen yet.
        """
        return self.state == "OUT_OF_MEMORY" or (self.state == "FAILED" and self.signal != 0)


def job_from(told: dict[str, str]) -> Job:
    """From the fields of `scontrol show job`, or from those of sacct under the same names."""
    code, _, told_signal = told.get("ExitCode", "").partition(":")
    signal = int(told_signal) if told_signal.isdecimal() else 0
    exit_code = 128 + signal if signal else int(code) if code.isdecimal() else None
    return Job(
        state=told.get("JobState", "").partition("+")[0].partition(" ")[0],
        reason=told.get("Reason", "").replace("None", ""),
        exit_code=exit_code,
        signal=signal,
        node=told.get("BatchHost", "") or told.get("NodeList", "").replace("(null)", ""),
        restarts=int(told.get("Restarts") or 0),
        started=_moment(told.get("StartTime", "")),
        ended=_moment(told.get("EndTime", "")),
    )


def keeper_knows_the_end(state: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether Slurm need not be asked: a signal may have been its own, which reaches unit and keeper at once."""
    if state is None or not _is_own_end(state):
        return False
    end: dict[str, Any] = state["end"]
    return not (end["reason"] == "exited" and end["code"] in _ENDED_FROM_OUTSIDE)


def slurm_status(job: Job | None, state: dict[str, Any] | None, *, complaint: str, was_asked: bool) -> UnitStatus:
    """The status of a unit. Slurm says whether it lives; its keeper, when it could, wrote down how it ended."""
    if keeper_knows_the_end(state):
        return ended_status(state)
    if job is None:
        return _forgotten(state, was_asked=was_asked)
    attempt = job.restarts + 1
    if job.state in _WAITING:
        again = " after it was interrupted" if job.restarts else ""
        message = f"waits{again}: {job.reason}" if job.reason else ""
        return UnitStatus(state=UnitState.PENDING, message=message, attempt=attempt)
    if job.state == "RUNNING":
        return _running(job, state, attempt)
    if job.state in {"COMPLETING", "STOPPING", "SIGNALING", "STAGE_OUT"}:
        return UnitStatus(state=UnitState.STOPPING, started=job.started, host=job.node, attempt=attempt)
    return _ended(job, state, attempt, complaint)


def _running(job: Job, state: dict[str, Any] | None, attempt: int) -> UnitStatus:
    now = UnitState.STARTING
    if state is not None and state["attempt"] >= attempt and "pid" in state:
        now = UnitState.STOPPING if "end" in state else UnitState.RUNNING
        attempt = starts_of(state)
    return UnitStatus(state=now, started=job.started, host=job.node, attempt=attempt)


def _ended(job: Job, state: dict[str, Any] | None, attempt: int, complaint: str) -> UnitStatus:
    reason = _ENDS.get(job.state)
    if reason is None and state is not None and state["attempt"] >= attempt and _is_own_end(state):
        return ended_status(state)
    message = f"Slurm: {job.state}" + (f" ({job.reason})" if job.reason else "")
    if reason is None and job.exit_code == 0:
        reason, message = EndReason.COMPLETED, ""
    elif reason is None and state is None:
        reason, message = EndReason.NOT_STARTED, complaint or message
    elif reason is None:
        reason = EndReason.EXITED
    # A job that ended before it began has no exit code of its own.
    code = None if state is None and reason is not EndReason.COMPLETED else job.exit_code
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=message,
        exit_code=code,
        started=job.started,
        ended=job.ended,
        host=job.node,
        attempt=attempt,
    )


def _is_own_end(state: dict[str, Any]) -> bool:
    return "end" in state and state["end"]["reason"] != "signalled"


def _forgotten(state: dict[str, Any] | None, *, was_asked: bool) -> UnitStatus:
    if was_asked:  # a waiting task of an array vanishes when it is cancelled
        return UnitStatus(state=UnitState.STOPPED, reason=EndReason.STOPPED)
    if state is not None and "end" in state:
        return replace(ended_status(state), message="Slurm has forgotten why it was ended")
    message = "Slurm knows nothing of its job any more, and its keeper wrote down no end"
    return UnitStatus(state=UnitState.LOST, reason=EndReason.LOST, message=message)


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except InvalidValue:
        return None  # Unknown, None, N/A
