# SPDX-License-Identifier: Apache-2.0
"""Slurm's programs, their refusals as errors with a next step, and the status of a job.

Slurm says whether a unit lives; its keeper, when it could, wrote down how it ended.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeGuard

from aboard.errors import AboardError, ExecutorUnavailable, InvalidValue, UnitRefused
from aboard.executors.keeper_client import ended_status, starts_of
from aboard.model.states import UnitState
from aboard.model.times import parse_time
from aboard.model.units import EndReason, UnitStatus, state_after

_PROGRAM_SECONDS = 60
_LARGEST_ARRAY = re.compile(r"^MaxArraySize\s*=\s*(\d+)", re.MULTILINE)
_FIELD = re.compile(r"(\w+(?:/\w+)?)=(\S*)")
_DOWN = (
    "Unable to contact slurm controller",
    "Connection refused",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "configuration source",
    "Communication connection failure",
    "Protocol authentication error",
)
_NEXT_STEPS = {
    "invalid partition": "`sinfo -s` lists the partitions",
    "Invalid account": "`sacctmgr show associations user=$USER` lists your accounts",
    "Invalid qos": "`sacctmgr show qos` lists them",
    "time limit": "`sinfo -o '%P %l'` lists the limits of the partitions",
    "node configuration is not available": "no node there has that: `sinfo -o '%P %c %m %G'` lists what they have",
    "More processors": "`sinfo -o '%P %c'` lists how many the nodes have",
    "Invalid generic resource": "`sinfo -o '%P %G'` lists what the nodes have",
    "violates accounting": "a limit of your account or QOS is reached: wait for other jobs, or ask for less",
    "Invalid job array": "this cluster takes no such array: `scontrol show config | grep MaxArraySize` tells how many",
    "Invalid feature": "`sinfo -o '%P %f'` lists what the nodes have",
    "QOSMax": "a limit of your QOS is reached: wait for other jobs, or ask for less",
}
UNKNOWN_JOB = ("Invalid job id", "not found")  # the second of a task of an array


class SlurmRefused(UnitRefused):
    """What one of Slurm's programs said when it failed."""


def check_installed() -> None:
    """Refuse to submit where Slurm is not installed: nothing can have been taken, so nothing needs to be kept."""
    if shutil.which("sbatch") is None:
        hint = "Submit from a machine that has Slurm, or use another executor, as --executor local."
        raise SlurmRefused("Slurm is not installed on this machine: there is no program sbatch.", hint=hint)


def run_slurm(program: str, *arguments: str) -> str:
    """What the program prints; times are in UTC."""
    path = shutil.which(program)
    if path is None:
        hint = "use it on a machine that can submit to Slurm"
        raise ExecutorUnavailable(f"there is no program {program} here", hint=hint)
    # What a unit gets of aboard it gets through its own environment.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ABOARD_")}
    for name in ("SLURM_RESTART_COUNT", "SLURM_JOB_END_TIME"):
        environ.pop(name, None)  # of the job that this process may be part of; a new one inherits it
    if program != "sbatch":  # a job inherits what sbatch has
        environ.update(SLURM_TIME_FORMAT="standard", TZ="UTC")
    try:
        done = subprocess.run(
            [path, *arguments], capture_output=True, timeout=_PROGRAM_SECONDS, env=environ, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ExecutorUnavailable(f"{program} did not answer within {_PROGRAM_SECONDS} s") from error
    if done.returncode != 0:
        raise _fault(program, (done.stderr or done.stdout).decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def largest_array() -> int:
    """How many units one array can have here."""
    told = _LARGEST_ARRAY.search(run_slurm("scontrol", "show", "config"))
    return max(1, int(told[1])) if told else 1


def parse_fields(line: str) -> dict[str, str]:
    """The fields of one line of `scontrol --oneliner`."""
    return dict(_FIELD.findall(line))


def _fault(program: str, said: str) -> AboardError:
    lines = [line.partition("error: ")[2] or line for line in said.strip().splitlines()]
    message = "; ".join(lines) or "no reason given"
    if any(text in said for text in _DOWN):
        hint = "`scontrol ping` tells whether the controller is up"
        return ExecutorUnavailable(f"Slurm does not answer: {message}", hint=hint)
    hint = next((step for text, step in _NEXT_STEPS.items() if text.lower() in said.lower()), "")
    return SlurmRefused(f"{program} refused: {message}", hint=hint)


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
class SlurmJob:
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


def parse_job(told: dict[str, str]) -> SlurmJob:
    """From the fields of `scontrol show job`, or from those of sacct under the same names."""
    code, _, told_signal = told.get("ExitCode", "").partition(":")
    signal = int(told_signal) if told_signal.isdecimal() else 0
    exit_code = 128 + signal if signal else int(code) if code.isdecimal() else None
    return SlurmJob(
        state=told.get("JobState", "").partition("+")[0].partition(" ")[0],
        reason=told.get("Reason", "").replace("None", ""),
        exit_code=exit_code,
        signal=signal,
        node=told.get("BatchHost", "") or told.get("NodeList", "").replace("(null)", ""),
        restarts=int(told.get("Restarts") or 0),
        started=_moment(told.get("StartTime", "")),
        ended=_moment(told.get("EndTime", "")),
    )


def has_recorded_end(state: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    """Whether Slurm need not be asked: a signal may have been its own, which reaches unit and keeper at once."""
    if state is None or not _is_own_end(state):
        return False
    end: dict[str, Any] = state["end"]
    return not (end["reason"] == "exited" and end["code"] in _ENDED_FROM_OUTSIDE)


def slurm_status(job: SlurmJob | None, state: dict[str, Any] | None, *, complaint: str, was_asked: bool) -> UnitStatus:
    """The status of a unit. Slurm says whether it lives; its keeper, when it could, wrote down how it ended."""
    if has_recorded_end(state):
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


def _running(job: SlurmJob, state: dict[str, Any] | None, attempt: int) -> UnitStatus:
    now = UnitState.STARTING
    if state is not None and state["attempt"] >= attempt and "pid" in state:
        now = UnitState.STOPPING if "end" in state else UnitState.RUNNING
        attempt = starts_of(state)
    return UnitStatus(state=now, started=job.started, host=job.node, attempt=attempt)


def _ended(job: SlurmJob, state: dict[str, Any] | None, attempt: int, complaint: str) -> UnitStatus:
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
