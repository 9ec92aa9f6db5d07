# SPDX-License-Identifier: Apache-2.0
"""What people decide about jobs holds, whatever was killed or did not answer: cancel, forget, again, submit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.errors import ExecutorUnavailable, UnitRefused, UnknownName
from aboard.executors import Local
from aboard.jobs import submit, sweep
from aboard.jobs.records import JobRecords
from aboard.jobs.submission import JobRequest
from aboard.model.states import UnitState
from aboard.model.units import UnitHandle, UnitSpec
from support.job_home import job_home
from support.unit_stand_in import COMPLETED, KILLED, StandInUnits, stand_in_units


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return job_home(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> StandInUnits:
    return stand_in_units(monkeypatch)


def _killed(units: StandInUnits, name: str = "killed", **options: Any) -> aboard.Job:
    """A job that may be started again, of which nothing is left, and at which nobody has looked since."""
    job = aboard.submit("true", name=name, restarts=3, **options)
    units.statuses[job.id] = KILLED
    assert (job.info.can_go_on, job.status) == (True, UnitState.LOST)  # reading starts nothing
    assert units.starts[job.id] == 1
    return job


def test_refreshing_a_killed_job_starts_it_again(units: StandInUnits) -> None:
    job = _killed(units)
    assert (job.refresh().state, units.starts[job.id]) == (UnitState.RUNNING, 2)


def test_a_killed_job_that_is_cancelled_never_starts(units: StandInUnits) -> None:
    job = _killed(units)
    job.cancel()
    assert (job.refresh().state, units.starts[job.id]) == (UnitState.STOPPED, 1)


def test_a_killed_job_that_cannot_start_at_once_does_not_start_later_either(
    units: StandInUnits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another has its GPU, and its executor takes it for ended."""
    job = _killed(units)
    with monkeypatch.context() as patched:
        patched.setattr(Local, "stop", lambda *_: None)
        units.can_start = False
        job.cancel()
    units.can_start = True
    assert (job.refresh().state, units.starts[job.id]) == (UnitState.LOST, 1)


def test_a_cancel_while_a_job_is_being_started_again_counts(
    units: StandInUnits, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    job = _killed(units)
    revive = Local.revive

    def cancelled_meanwhile(self: Local, handle: UnitHandle) -> bool:
        JobRecords(home).mark_cancelled(job.id)
        return revive(self, handle)

    monkeypatch.setattr(Local, "revive", cancelled_meanwhile)
    assert job.refresh().state is UnitState.STOPPED


def test_a_killed_job_is_forgotten_without_being_started(units: StandInUnits) -> None:
    job = _killed(units)
    job.forget()
    assert (units.starts[job.id], units.statuses) == (1, {})
    with pytest.raises(UnknownName):
        aboard.Job(job.id)


def test_a_killed_job_is_submitted_again_without_being_started(units: StandInUnits) -> None:
    job = _killed(units)
    again = job.again()
    assert (again.refresh().state, units.starts[again.id]) == (UnitState.RUNNING, 1)
    assert (job.refresh().state, units.starts[job.id]) == (UnitState.STOPPED, 1)


def test_a_job_of_the_same_name_in_another_workspace_does_not_stand_in_the_way(units: StandInUnits) -> None:
    job = _killed(units, workspace="mine")
    aboard.submit("true", name="killed", workspace="yours")
    assert (job.refresh().state, units.starts[job.id]) == (UnitState.RUNNING, 2)


def _answer_lost(monkeypatch: pytest.MonkeyPatch, *, is_taken: bool) -> None:
    submit: Callable[[Local, UnitSpec], UnitHandle] = Local.submit

    def unheard(self: Local, spec: UnitSpec) -> UnitHandle:
        if is_taken:
            submit(self, spec)
        raise ExecutorUnavailable("no answer in 60 s", hint="is it up?")

    monkeypatch.setattr(Local, "submit", unheard)


def test_a_job_whose_answer_was_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    _answer_lost(monkeypatch, is_taken=True)
    assert aboard.submit("true", name="unheard").status is UnitState.RUNNING


def test_a_job_that_is_taken_later_was_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a scheduler is so slow that the command gives up."""
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        patched.setattr(Local, "find", lambda *_: None)
        with pytest.raises(ExecutorUnavailable) as raised:
            aboard.submit("true", name="unheard")
    (job,) = aboard.Job.list()
    assert raised.value.hint.startswith(f"is it up?; `aboard jobs show {job.id}`")
    assert job.status is UnitState.RUNNING


def test_a_job_that_may_run_is_not_forgotten(units: StandInUnits, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def unheard(*_: object) -> None:
        raise ExecutorUnavailable("no answer")

    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        patched.setattr(Local, "find", unheard)
        with pytest.raises(ExecutorUnavailable):
            aboard.submit("true", name="unheard")
        job = aboard.Job("unheard")
        with pytest.raises(ExecutorUnavailable) as raised:
            job.forget()
    assert str(home / "jobs" / f"{job.id}.json") in raised.value.hint
    units.statuses[job.id] = COMPLETED
    job.forget()
    assert aboard.Job.list() == []


def test_a_job_that_was_not_taken_is_submitted_again(units: StandInUnits, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=False)
        with pytest.raises(ExecutorUnavailable):
            aboard.submit("true", name="unheard")
    job = aboard.Job("unheard")
    assert "submit it again" in job.info.message
    again = job.again()
    assert units.starts == {again.id: 1}
    job.forget()


def test_a_sweep_whose_answer_was_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        with pytest.raises(ExecutorUnavailable) as raised:
            aboard.sweep("true", {"seed": [0, 1]}, experiment="unheard")
    assert "`aboard jobs list --experiment unheard`" in raised.value.hint
    assert len(aboard.Job.list(experiment="unheard")) == 2


def test_what_was_refused_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Local, spec: UnitSpec) -> UnitHandle:
        raise UnitRefused("no such partition")

    monkeypatch.setattr(Local, "submit", refused)
    with pytest.raises(UnitRefused):
        aboard.submit("true")
    with pytest.raises(UnitRefused):
        aboard.sweep("true", {"seed": [0, 1]})
    assert aboard.Job.list() == []


def test_a_sweep_takes_what_a_job_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[JobRequest] = []
    monkeypatch.setattr(sweep, "submit_sweep", lambda one, *_: given.append(one))
    monkeypatch.setattr(submit, "submit_job", given.append)
    options: dict[str, Any] = {name: f"its {name}" for name in JobRequest.__dataclass_fields__ if name != "hparams"}
    submit.submit(**options)
    sweep.sweep(hparams={"lr": [1]}, **options)
    assert given[0] == given[1]
