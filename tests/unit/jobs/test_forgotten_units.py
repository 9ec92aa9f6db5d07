# SPDX-License-Identifier: Apache-2.0
"""Jobs whose executor has forgotten their units, as Kubernetes does after a while: they have ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from aboard.cli.jobs import cancel
from aboard.errors import ExecutorUnavailable, UnknownName
from aboard.executors import Local
from aboard.jobs import board_ending
from aboard.jobs.board_ending import BoardEnding
from aboard.jobs.job import Job, incomplete_jobs
from aboard.jobs.records import JobRecord, JobRecords
from aboard.jobs.submission import PreparedJob, write_prepared
from aboard.jobs.sweep import Sweep
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus
from support.job_home import job_home


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobRecords:
    return JobRecords(job_home(tmp_path, monkeypatch))


def forgotten_job(records: JobRecords, name: str = "gone") -> Job:
    """One with a handle whose unit has left no trace."""
    unit = new_uid()
    record = JobRecord(
        id=unit,
        run=name,
        workspace="default",
        experiment="old",
        executor="local",
        command="true",
        created="2026-01-01T00:00:00Z",
        handle=Local().handle(unit, folder=str(Local().folder_of(unit))).text(),
    )
    write_prepared(PreparedJob(record=record, spec=UnitSpec(id=unit, name=name, command=("true",))), records)
    return Job(record, records=records)


def _deaf(monkeypatch: pytest.MonkeyPatch, *jobs: Job) -> None:
    """Have the executor not answer for these."""
    status = Local.status

    def heard(self: Local, handle: UnitHandle) -> UnitStatus:
        if handle.unit in {job.id for job in jobs}:
            raise ExecutorUnavailable("no answer", hint="is it up?")
        return status(self, handle)

    monkeypatch.setattr(Local, "status", heard)


def test_it_has_ended_and_nobody_says_how(records: JobRecords) -> None:
    job = forgotten_job(records)
    for status in (job.info, job.refresh(), job.wait(60)):
        assert (status.state, status.reason, status.has_succeeded) == (UnitState.LOST, EndReason.FORGOTTEN, False)
        assert "its executor has forgotten it; its run" in status.message


def test_an_executor_that_is_not_there_has_forgotten_nothing(records: JobRecords) -> None:
    job = forgotten_job(records)
    handle = UnitHandle(executor="uninstalled", unit=job.id, options={}, place={})
    with pytest.raises(UnknownName, match="no executor 'uninstalled'"):
        Job(replace(job.record, handle=handle.text()), records=records).refresh()


@pytest.mark.parametrize("complains", [False, True])
def test_it_is_forgotten_here_too(records: JobRecords, monkeypatch: pytest.MonkeyPatch, complains: bool) -> None:
    def unknown(self: Local, handle: UnitHandle) -> None:
        raise UnknownName("there is no such unit")

    if complains:
        monkeypatch.setattr(Local, "forget", unknown)
    forgotten_job(records).forget()
    assert records.all() == []
    assert list(records.folder.iterdir()) == []


def test_it_is_submitted_again_by_name_alone(records: JobRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run may have completed: who asks for all that did not complete does not mean it."""
    job = forgotten_job(records)
    missed, forgotten = incomplete_jobs("old")
    assert (missed, [one.id for one in forgotten]) == ([], [job.id])
    submitted: list[UnitSpec] = []

    def taken(self: Local, spec: UnitSpec) -> UnitHandle:
        submitted.append(spec)
        return self.handle(spec.id, folder=str(self.folder_of(spec.id)))

    monkeypatch.setattr(Local, "submit", taken)
    again = job.again()
    assert [spec.id for spec in submitted] == [again.id]
    assert records.cancel_mark(job.id).exists(), "what is left of the earlier one is not to go on"


def test_the_others_of_a_sweep_are_cancelled(records: JobRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [forgotten_job(records, f"gone-{number}") for number in range(4)]
    Sweep(jobs, "old", "default").cancel()
    assert all(records.cancel_mark(job.id).exists() for job in jobs)
    for job in jobs:
        records.cancel_mark(job.id).unlink()
    _deaf(monkeypatch, jobs[1], jobs[3])
    with pytest.raises(ExecutorUnavailable, match=r"2 jobs \(gone-3, gone-1\): no answer") as told:
        Sweep(jobs, "old", "default").cancel()
    assert told.value.hint == "is it up?"
    assert [records.cancel_mark(job.id).exists() for job in jobs] == [True, False, True, False]


def test_one_that_cannot_be_cancelled_does_not_keep_the_next_from_it(
    records: JobRecords, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (forgotten_job(records, name) for name in ("first", "second"))
    _deaf(monkeypatch, first)
    with pytest.raises(ExecutorUnavailable, match=r"^no answer"):
        cancel([first.id, second.id])
    assert capsys.readouterr().err == "Cancelled second.\n"


def test_a_board_ends_though_a_job_of_its_experiment_was_forgotten(
    records: JobRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten_job(records)
    stopped: list[UnitHandle] = []

    class Board(Local):
        def status(self, handle: UnitHandle) -> UnitStatus:
            return UnitStatus(state=UnitState.STOPPED if stopped else UnitState.RUNNING)

        def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
            stopped.append(handle)

    polls: list[float] = []

    def poll(seconds: float) -> None:
        polls.append(seconds)
        assert len(polls) < 10, "it waits for a job that nobody knows"

    monkeypatch.setattr(board_ending, "executor_of", lambda _: Board())
    monkeypatch.setattr(board_ending.time, "sleep", poll)
    board = Local().handle(new_uid(), folder="")
    board_ending.work(BoardEnding(board=board.text(), experiment="old"))
    assert stopped == [board]


def test_a_job_finds_its_run_by_name_also_where_that_looks_like_a_number(
    records: JobRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    client = SimpleNamespace(runs=SimpleNamespace(get=asked.append))
    monkeypatch.setattr(Job, "_client", lambda _: client)
    for name in ("run7", "base"):
        _ = forgotten_job(records, name).run
    assert asked == ["default/name:run7", "default/base"]
