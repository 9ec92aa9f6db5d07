# SPDX-License-Identifier: Apache-2.0
"""What people decide about jobs holds, whatever was killed or did not answer: cancel, forget, again, submit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

import aboard
from aboard.errors import ExecutorUnavailable, UnitRefused, UnknownName
from aboard.executors import Local
from aboard.jobs import calls
from aboard.jobs.job_record import JobRecords
from aboard.jobs.submitting import JobAsked
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState
from support.job_home import job_home
from support.processes import until

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = job_home(tmp_path, monkeypatch)
    yield home
    for job in aboard.Job.list():
        job.cancel()
        until(lambda job=job: not _processes(job.id), PATIENCE)


def _processes(unit: str) -> list[psutil.Process]:
    """Whatever there is of a unit, its keeper included."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = process.info["cmdline"] or []
        is_keeper = "keep" in words and any(word.endswith(unit) for word in words)
        if is_keeper or (process.info["environ"] or {}).get("ABOARD_UNIT_ID") == unit:
            found.append(process)
    return found


def _killed(name: str = "killed", **options: Any) -> aboard.Job:
    """A job that may be started again, of which nothing is left, and at which nobody has looked since."""
    job = aboard.submit(["sh", "-c", "echo under way; exec sleep 600"], name=name, restarts=3, **options)
    until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
    _kill_all(job.id)
    assert job.look().can_go_on
    return job


def _kill_all(unit: str) -> None:
    while found := _processes(unit):  # some may have been started, or have ended, since they were listed
        for act in (psutil.Process.suspend, psutil.Process.kill):  # so that nobody sees another one end
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    act(process)
        psutil.wait_procs(found, PATIENCE)


def _starts(job: aboard.Job) -> int:
    return b"".join(job.logs()).count(b"under way")


def test_who_looks_after_a_killed_job_starts_it_again() -> None:
    job = _killed()
    assert not job.status.is_ended
    until(lambda: _starts(job) == 2, PATIENCE)


def test_a_killed_job_that_is_cancelled_never_starts() -> None:
    job = _killed()
    job.cancel()
    assert job.wait(PATIENCE).state is UnitState.STOPPED
    assert (_starts(job), _processes(job.id)) == (1, [])


def test_a_killed_job_that_cannot_start_just_now_does_not_start_later_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when another has its GPU, so that it seems to have ended."""
    job = _killed()
    with monkeypatch.context() as patched:
        patched.setattr(Local, "revive", lambda *_: False)
        patched.setattr(Local, "stop", lambda *_: None)  # an executor for which it has ended
        job.cancel()
    assert job.info.state is UnitState.LOST
    assert (_starts(job), _processes(job.id)) == (1, [])


def test_a_cancel_in_the_very_moment_of_a_start_counts(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    job = _killed()
    revive = Local.revive

    def cancelled_meanwhile(self: Local, handle: UnitHandle) -> bool:
        JobRecords(home).mark_cancelled(job.id)
        return revive(self, handle)

    monkeypatch.setattr(Local, "revive", cancelled_meanwhile)
    assert job.wait(PATIENCE).state is UnitState.STOPPED
    until(lambda: not _processes(job.id), PATIENCE)  # a keeper that has written down the end is about to go


def test_a_killed_job_is_forgotten_without_being_started() -> None:
    job = _killed()
    job.forget()
    assert _processes(job.id) == []
    with pytest.raises(UnknownName):
        aboard.Job(job.id)


def test_a_killed_job_is_submitted_again_without_being_started() -> None:
    job = _killed()
    again = job.again()
    until(lambda: _starts(again) == 1, PATIENCE)
    assert (job.info.state, _starts(job)) == (UnitState.STOPPED, 1)


def test_a_job_of_the_same_name_in_another_workspace_does_not_stand_in_the_way() -> None:
    job = _killed(workspace="mine")
    other = aboard.submit("true", name="killed", workspace="yours")
    other.wait(PATIENCE)
    assert not job.status.is_ended
    until(lambda: _starts(job) == 2, PATIENCE)


def test_jobs_in_a_queue_that_was_killed_can_be_cancelled(tmp_path: Path) -> None:
    line = f"echo {{hparams.seed}} >> {tmp_path / 'begun'}; sleep 600"
    sweep = aboard.sweep(line, {"seed": [0, 1]}, at_once=1)
    until((tmp_path / "begun").exists, PATIENCE)
    queue = UnitHandle.parse(sweep.jobs[1].record.queue)
    _kill_all(queue.unit)
    until(lambda: Local().status(queue).can_go_on, PATIENCE)
    sweep.jobs[1].cancel()
    sweep.jobs[0].cancel()
    assert sweep.wait(PATIENCE) == {UnitState.STOPPED: 2}
    assert (tmp_path / "begun").read_text() == "0\n"


def _answer_lost(monkeypatch: pytest.MonkeyPatch, *, is_taken: bool) -> None:
    submit: Callable[[Local, UnitSpec], UnitHandle] = Local.submit

    def unheard(self: Local, spec: UnitSpec) -> UnitHandle:
        if is_taken:
            submit(self, spec)
        raise ExecutorUnavailable("no answer in 60 s", hint="is it up?")

    monkeypatch.setattr(Local, "submit", unheard)


def test_a_job_whose_answer_was_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        job = aboard.submit("true", name="unheard")
    assert job.wait(PATIENCE).has_succeeded


def test_a_job_that_is_taken_later_was_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a scheduler is so slow that nobody waits for it."""
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        patched.setattr(Local, "find", lambda *_: None)
        with pytest.raises(ExecutorUnavailable) as told:
            aboard.submit("true", name="unheard")
    (job,) = aboard.Job.list()
    assert told.value.hint.startswith(f"is it up?; `aboard jobs show {job.id}`")
    assert job.wait(PATIENCE).has_succeeded


def test_a_job_of_which_nobody_knows_is_not_forgotten(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def unheard(*_: object) -> None:
        raise ExecutorUnavailable("no answer")

    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        patched.setattr(Local, "find", unheard)
        with pytest.raises(ExecutorUnavailable):
            aboard.submit("true", name="unheard")
        job = aboard.Job("unheard")
        with pytest.raises(ExecutorUnavailable) as told:
            job.forget()
    assert str(home / "jobs" / f"{job.id}.json") in told.value.hint
    job.wait(PATIENCE)
    job.forget()


def test_a_job_that_was_not_taken_is_submitted_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=False)
        with pytest.raises(ExecutorUnavailable):
            aboard.submit(["touch", str(tmp_path / "begun")], name="unheard")
    job = aboard.Job("unheard")
    assert "submit it again" in job.info.message
    assert job.again().wait(PATIENCE).has_succeeded
    assert (tmp_path / "begun").exists()
    job.forget()


def test_a_sweep_whose_answer_was_lost_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        _answer_lost(patched, is_taken=True)
        with pytest.raises(ExecutorUnavailable) as told:
            aboard.sweep("true", {"seed": [0, 1]}, experiment="unheard")
    assert "`aboard jobs list --experiment unheard`" in told.value.hint
    jobs = aboard.Job.list(experiment="unheard")
    assert [job.wait(PATIENCE).has_succeeded for job in jobs] == [True, True]


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
    asked: list[JobAsked] = []
    monkeypatch.setattr(calls, "submit_sweep", lambda one, *_: asked.append(one))
    monkeypatch.setattr(calls, "submit_job", asked.append)
    given: dict[str, Any] = {name: f"its {name}" for name in JobAsked.__dataclass_fields__ if name != "hparams"}
    calls.submit(**given)
    calls.sweep(hparams={"lr": [1]}, **given)
    assert asked[0] == asked[1]
