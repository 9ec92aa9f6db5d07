# SPDX-License-Identifier: Apache-2.0
"""Who is believed when Slurm and a unit's keeper tell of its end differently."""

from __future__ import annotations

from typing import Any

import pytest

from aboard.executors.slurm_jobs import SlurmJob, parse_job, slurm_status
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitStatus

TERMINATED, KILLED = 143, 137


def _kept(reason: str = "exited", code: int = TERMINATED, attempt: int = 1) -> dict[str, Any]:
    end = {"reason": reason, "code": code, "message": f"exit code {code}", "time": 20.0}
    return {"pid": 7, "started": 10.0, "host": "node1", "attempt": attempt, "end": end}


def _status(job: SlurmJob | None, state: dict[str, Any] | None, *, was_asked: bool = False) -> UnitStatus:
    return slurm_status(job, state, complaint="", was_asked=was_asked)


@pytest.mark.parametrize(
    ("told", "code", "state", "reason"),
    [
        ("CANCELLED", TERMINATED, UnitState.STOPPED, EndReason.STOPPED),
        ("TIMEOUT", TERMINATED, UnitState.FAILED, EndReason.TIMEOUT),
        ("OUT_OF_MEMORY", KILLED, UnitState.FAILED, EndReason.OUT_OF_MEMORY),
        ("PREEMPTED", TERMINATED, UnitState.FAILED, EndReason.PREEMPTED),
    ],
)
def test_slurms_signal_may_reach_the_unit_before_its_keeper(
    told: str, code: int, state: UnitState, reason: EndReason
) -> None:
    status = _status(SlurmJob(state=told), _kept(code=code))
    assert (status.state, status.reason) == (state, reason), status


def test_a_signal_that_was_not_slurms_is_the_units_own_end() -> None:
    status = _status(SlurmJob(state="FAILED", exit_code=TERMINATED), _kept())
    assert (status.reason, status.exit_code) == (EndReason.EXITED, TERMINATED)


def test_what_the_keeper_knows_better_stands() -> None:
    status = _status(SlurmJob(state="CANCELLED"), _kept(code=3))
    assert (status.reason, status.exit_code) == (EndReason.EXITED, 3)


def test_the_end_of_an_earlier_attempt_says_nothing_of_this_one() -> None:
    status = _status(SlurmJob(state="FAILED", exit_code=1, restarts=1), _kept(attempt=1))
    assert (status.reason, status.exit_code, status.attempt) == (EndReason.EXITED, 1, 2)


def test_while_slurm_has_not_noticed_the_end_it_is_not_told() -> None:
    assert _status(SlurmJob(state="RUNNING"), _kept()).state is UnitState.STOPPING


def test_a_unit_that_slurm_forgot_after_it_was_asked_to_end_is_stopped() -> None:
    assert _status(None, _kept(), was_asked=True).reason is EndReason.STOPPED


@pytest.mark.parametrize(
    ("state", "code", "was_killed"),
    [
        pytest.param("FAILED", "0:9", True, id="its keeper was killed"),
        pytest.param("FAILED", "1:0", False, id="its command failed"),
        pytest.param("FAILED", "137:0", False, id="its command was killed, as its keeper tells"),
        pytest.param("OUT_OF_MEMORY", "0:125", True, id="no memory was left"),
        pytest.param("CANCELLED", "0:15", False, id="somebody cancelled it"),
        pytest.param("NODE_FAIL", "0:0", False, id="Slurm queues it again"),
    ],
)
def test_which_jobs_were_killed_also_where_the_record_of_their_keeper_is_not_seen_yet(
    state: str, code: str, was_killed: bool
) -> None:
    assert parse_job({"JobState": state, "ExitCode": code}).was_killed is was_killed
