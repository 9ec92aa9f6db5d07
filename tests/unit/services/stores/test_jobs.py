# SPDX-License-Identifier: Apache-2.0
"""What an executor says of a job becomes the end of its run, when the run itself has not said it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import aboard
from aboard.catalog.catalog import Catalog
from aboard.jobs.records import JobRecords
from aboard.model.runs import Attempt, RunRecord
from aboard.model.states import RunState, UnitState
from aboard.model.times import now, time_text
from aboard.model.units import EndReason, UnitStatus
from aboard.services.stores.jobs import JobReconciler
from support.catalog_runs import make_run
from support.job_home import job_home
from support.unit_stand_in import COMPLETED, STOPPED, StandInUnits, stand_in_units

ENDED = now()
FAILED = UnitStatus(state=UnitState.FAILED, reason=EndReason.EXITED, exit_code=137, ended=ENDED)
TIMEOUT = replace(FAILED, reason=EndReason.TIMEOUT, exit_code=143, message="its time of 20 s was over")
LOST = UnitStatus(state=UnitState.LOST, reason=EndReason.LOST, ended=ENDED)
PREEMPTED = replace(FAILED, reason=EndReason.PREEMPTED)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return job_home(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> StandInUnits:
    return stand_in_units(monkeypatch)


class Bench:
    """Jobs, their runs in a catalog, and a reconciler whose clock stands `later` seconds after the end of units."""

    def __init__(self, catalog: Catalog, home: Path, units: StandInUnits) -> None:
        self._catalog, self._units, self.records = catalog, units, JobRecords(home)
        self.reported: list[RunRecord] = []
        self.later = 60.0
        self.reconciler = JobReconciler(
            catalog, self.records, self.reported.append, clock=lambda: ENDED + timedelta(seconds=self.later)
        )

    def job(self, name: str, status: UnitStatus | None = None, run: RunState | None = None) -> aboard.Job:
        """A job of which the executor says this, and the store, if anything, that its run is so."""
        job = aboard.submit("true", name=name)
        if status is not None:
            self._units.statuses[job.id] = status
        if run is not None:
            self.put_run(name, run, job)
        return job

    def put_run(self, name: str, status: RunState, *jobs: aboard.Job) -> None:
        attempts = tuple(
            Attempt(number=number, status=status, details={"unit": job.id}) for number, job in enumerate(jobs, 1)
        )
        self._catalog.runs.put_many([make_run(name=name, workspace="default", status=status, attempts=attempts)])

    def run(self, name: str) -> RunRecord:
        (found,) = self._catalog.runs.named("default", name)
        return found


@pytest.fixture
def bench(tmp_path: Path, home: Path, units: StandInUnits) -> Iterator[Bench]:
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        yield Bench(catalog, home, units)


@pytest.mark.parametrize(
    ("status", "before", "after", "reason"),
    [
        pytest.param(FAILED, RunState.RUNNING, RunState.FAILED, "Its job ended (exited): exit code 137.", id="killed"),
        pytest.param(
            replace(STOPPED, ended=ENDED),
            RunState.PREEMPTED,
            RunState.CANCELLED,
            "Its job ended (stopped): exit code 143.",
            id="cancelled, which the run cannot know",
        ),
        pytest.param(
            TIMEOUT,
            RunState.PREEMPTED,
            RunState.FAILED,
            "Its job ended (timeout): its time of 20 s was over.",
            id="timeout, which the run cannot know",
        ),
        pytest.param(
            PREEMPTED, RunState.RUNNING, RunState.PREEMPTED, "Its job ended (preempted): exit code 137.", id="preempted"
        ),
    ],
)
def test_the_end_of_a_job_ends_its_run(
    bench: Bench, status: UnitStatus, before: RunState, after: RunState, reason: str
) -> None:
    bench.job("long", status, before)
    bench.later = 9
    bench.reconciler.look()
    assert bench.run("long").status is before, "its own last words may be on their way"
    bench.later = 11
    bench.reconciler.look()
    run = bench.run("long")
    assert (run.status, run.reason, run.exit_code) == (after, reason, status.exit_code)
    assert run.ended == (None if after is RunState.PREEMPTED else ENDED)
    assert [one.status for one in bench.reported] == [after]


@pytest.mark.parametrize(
    ("status", "run"),
    [
        pytest.param(LOST, RunState.RUNNING, id="a lost unit may go on where nobody sees it"),
        pytest.param(COMPLETED, RunState.RUNNING, id="the end of a completed one comes from the store"),
        pytest.param(FAILED, RunState.CANCELLED, id="the run has said it by itself"),
    ],
)
def test_runs_that_are_left_alone(bench: Bench, status: UnitStatus, run: RunState) -> None:
    bench.job("long", status, run)
    bench.reconciler.look()
    assert (bench.run("long").status, bench.reported) == (run, [])


def test_a_run_that_another_job_continues_is_left_alone(bench: Bench) -> None:
    first, second = bench.job("long", FAILED), bench.job("long")
    bench.put_run("long", RunState.RUNNING, first, second)
    bench.reconciler.look()
    assert (bench.run("long").status, bench.reported) == (RunState.RUNNING, [])


def test_a_job_whose_cancellation_was_interrupted_is_stopped(bench: Bench, units: StandInUnits) -> None:
    job = bench.job("long", run=RunState.RUNNING)
    bench.records.mark_cancelled(job.id)  # and killed before the executor heard of it
    bench.reconciler.look()
    assert units.statuses[job.id].state is UnitState.STOPPED


def test_a_job_whose_submitter_died_gets_its_handle(bench: Bench) -> None:
    job = bench.job("long")
    bench.records.write(replace(job.record, handle=""))
    bench.reconciler.look()
    assert bench.records.get(job.id).handle == job.record.handle


def test_settled_jobs_are_not_checked_again(bench: Bench, units: StandInUnits) -> None:
    completed, forgotten = bench.job("short", COMPLETED), bench.job("gone")
    ended = bench.job("long", FAILED, RunState.CANCELLED)
    del units.statuses[forgotten.id]
    bench.reconciler.look()
    assert set(units.requested) == {completed.id, forgotten.id, ended.id}
    counted = units.requested.copy()
    bench.reconciler.look()
    assert units.requested == counted


def test_a_job_without_a_run_is_given_an_hour(bench: Bench, units: StandInUnits) -> None:
    job = bench.job("never", FAILED)
    bench.records.write(replace(job.record, created=time_text(ENDED)))
    for later, is_checked in ((60, True), (3500, True), (3700, True), (3701, False)):
        before, bench.later = units.requested[job.id], later
        bench.reconciler.look()
        assert (units.requested[job.id] > before) is is_checked, later
