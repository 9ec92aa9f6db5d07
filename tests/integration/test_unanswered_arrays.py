# SPDX-License-Identifier: Apache-2.0
"""A sweep whose scheduler does not answer while its array is submitted: nothing of it is lost, and nothing runs twice.

The programs of Slurm are the tests' own (`support/slurm_stand_in.py`); keepers, `aboard run` and the store are real.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import aboard
from aboard.errors import Conflict, ExecutorUnavailable
from aboard.jobs.job import incomplete_jobs
from aboard.model.units import EndReason
from support.job_home import job_home
from support.processes import until
from support.slurm_stand_in import ANSWERS, LATE, UNHEARD, UNTAKEN, SlurmStandIn

PATIENCE = 100.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return job_home(tmp_path, monkeypatch)


def _slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *fates: str) -> SlurmStandIn:
    """One that takes two units as one array, so that a sweep of four is two."""
    slurm = SlurmStandIn(tmp_path / "slurm", largest_array=2, fates=fates)
    monkeypatch.setenv("PATH", f"{slurm.programs}:{os.environ['PATH']}")
    return slurm


def _unheard_sweep(tmp_path: Path) -> list[aboard.Job]:
    """The jobs of a sweep that was not answered."""
    line = f"echo {{hparams.seed}} >> {tmp_path / 'begun'}"
    with pytest.raises(ExecutorUnavailable, match="Slurm does not answer") as told:
        aboard.sweep(line, {"seed": [0, 1, 2, 3]}, executor="slurm", experiment="unheard")
    assert "`aboard jobs list --experiment unheard`" in told.value.hint
    assert "`aboard jobs again --experiment unheard`" in told.value.hint
    jobs = aboard.Job.list(experiment="unheard")
    assert [job.name for job in jobs] == [f"unheard-{seed}" for seed in range(4)]
    return jobs


def _begun(tmp_path: Path) -> list[str]:
    path = tmp_path / "begun"
    return sorted(path.read_text().split()) if path.exists() else []


def _all_again(count: int) -> list[aboard.Job]:
    """What `aboard jobs again --experiment` does."""
    missed, forgotten = incomplete_jobs("unheard")
    assert (len(missed), forgotten) == (count, [])
    return [job.again() for job in missed]


@pytest.mark.parametrize("second", [UNHEARD, UNTAKEN])
def test_what_was_taken_runs_once_and_the_rest_when_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    slurm = _slurm(tmp_path, monkeypatch, ANSWERS, second)
    jobs = _unheard_sweep(tmp_path)
    taken = jobs if second == UNHEARD else jobs[:2]
    for job in taken:
        assert job.wait(PATIENCE).has_succeeded
        with pytest.raises(Conflict, match="has completed"):
            job.again()
    for job in jobs[len(taken) :]:
        status = job.info
        assert (status.reason, "submit it again" in status.message) == (EndReason.NOT_STARTED, True), status
    again = _all_again(4 - len(taken))
    assert all(job.wait(PATIENCE).has_succeeded for job in again)
    assert _begun(tmp_path) == ["0", "1", "2", "3"]
    assert _all_again(0) == []
    assert slurm.arrays == (2 if second == UNHEARD else 1 + len(again))


def test_an_array_that_is_taken_after_it_was_submitted_again_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = _slurm(tmp_path, monkeypatch, LATE)
    jobs = _unheard_sweep(tmp_path)
    again = _all_again(4)
    assert all(job.wait(PATIENCE).has_succeeded for job in again)
    slurm.release()
    late = jobs[:2]  # of the others nobody has heard
    until(lambda: all(b"the command was not started" in b"".join(job.logs()) for job in late), PATIENCE)
    assert _begun(tmp_path) == ["0", "1", "2", "3"]


def test_an_array_that_is_taken_late_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = _slurm(tmp_path, monkeypatch, ANSWERS, LATE)
    jobs = _unheard_sweep(tmp_path)
    assert jobs[3].info.reason is EndReason.NOT_STARTED
    slurm.release()
    assert all(job.wait(PATIENCE).has_succeeded for job in jobs)
    assert _begun(tmp_path) == ["0", "1", "2", "3"]
    assert _all_again(0) == []
