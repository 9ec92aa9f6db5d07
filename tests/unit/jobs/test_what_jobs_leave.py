# SPDX-License-Identifier: Apache-2.0
"""Nothing is left of jobs that were refused, nor of a sweep whose last job was forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import aboard
from aboard.errors import AboardError, InvalidValue, StorageUnavailable, UnitRefused
from aboard.executors import Local
from aboard.jobs import submission
from aboard.jobs.job import Job
from aboard.jobs.records import JobRecord, JobRecords
from aboard.jobs.sweep import Sweep
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus
from support.job_home import job_home


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return job_home(tmp_path, monkeypatch)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)")
    return folder


def _left(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in (home / "jobs").rglob("*"))


def _taken(monkeypatch: pytest.MonkeyPatch, state: UnitState = UnitState.FAILED) -> None:
    """Units that are taken, never start anything, and have ended so."""

    def submit(self: Local, spec: UnitSpec) -> UnitHandle:
        folder = self.folder_of(spec.id)
        folder.mkdir(parents=True, exist_ok=True)
        return self.handle(spec.id, folder=str(folder))

    def status(self: Local, handle: UnitHandle) -> UnitStatus:
        return UnitStatus(state=state, reason=EndReason.EXITED)

    def find(self: Local, unit: str) -> UnitHandle | None:
        folder = self.folder_of(unit)
        return self.handle(unit, folder=str(folder)) if folder.is_dir() else None

    monkeypatch.setattr(Local, "submit", submit)
    monkeypatch.setattr(Local, "status", status)
    monkeypatch.setattr(Local, "find", find)


def _sweep(source: Path) -> Sweep:
    return aboard.sweep("python train.py", {"seed": [0, 1]}, source_dir=source, experiment="seeds")


def test_the_last_job_of_a_sweep_takes_its_source_and_queue_along(
    home: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _taken(monkeypatch)
    sweep = _sweep(source)
    group = sweep.jobs[0].record.group
    copy = home / "jobs" / group / "source" / "train.py"
    assert copy.exists()
    queue = Local().folder_of(group)
    assert queue.is_dir()
    again = sweep.jobs[1].again()  # runs in the same copy
    for job in sweep.jobs:
        job.forget()
        assert copy.exists()
        assert queue.is_dir()
    again.forget()
    assert _left(home) == []
    assert not queue.exists()


def test_other_sweeps_stay(home: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _taken(monkeypatch)
    first, second = _sweep(source), _sweep(source)
    for job in first.jobs:
        job.forget()
    assert (home / "jobs" / second.jobs[0].record.group / "source" / "train.py").exists()


def _submitted(source: Path) -> None:
    aboard.submit("python train.py", source_dir=source, name="alone")


@pytest.mark.parametrize("submit", [_submitted, _sweep])
def test_what_is_refused_leaves_nothing(
    home: Path, source: Path, monkeypatch: pytest.MonkeyPatch, submit: Callable[[Path], object]
) -> None:
    def refused(self: Local, spec: UnitSpec) -> UnitHandle:
        raise UnitRefused("no such partition")

    monkeypatch.setattr(Local, "submit", refused)
    with pytest.raises(UnitRefused):
        submit(source)
    assert _left(home) == []


@pytest.mark.parametrize("submit", [_submitted, _sweep])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_source_of_which_a_part_was_copied_goes(
    home: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    submit: Callable[[Path], object],
    fault: BaseException,
) -> None:
    (source / "z-last.py").write_text("print(2)")
    copy2 = submission.shutil.copy2

    def full(path: Path, target: Path, **options: bool) -> None:
        if path.name == "z-last.py":
            raise fault
        copy2(path, target, **options)

    monkeypatch.setattr(submission.shutil, "copy2", full)
    with pytest.raises(StorageUnavailable if isinstance(fault, OSError) else KeyboardInterrupt):
        submit(source)
    assert _left(home) == []


def test_a_command_that_cannot_be_filled_in_copies_nothing(home: Path, source: Path) -> None:
    with pytest.raises(InvalidValue, match="which has no value"):
        aboard.sweep("python train.py {hparams.width}", {"seed": [0, 1]}, source_dir=source)
    assert _left(home) == []


def test_a_job_that_cannot_be_submitted_again_leaves_the_first_as_it_is(
    home: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _taken(monkeypatch)
    sweep = _sweep(source)
    alone = aboard.submit("python train.py", source_dir=source, name="alone")
    before = _left(home)

    def refused(self: Local, spec: UnitSpec) -> UnitHandle:
        raise UnitRefused("no such partition")

    monkeypatch.setattr(Local, "submit", refused)
    for job in (*sweep.jobs, alone):
        with pytest.raises(UnitRefused):
            job.again()
    assert _left(home) == before


def test_records_of_earlier_versions_have_no_sweep(home: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _taken(monkeypatch)
    records = JobRecords(home)
    job = _sweep(source).jobs[0]
    text = replace(job.record, group="").text().replace(' "group": "",\n', "")
    assert "group" not in text
    records.path(job.id).write_text(text)
    assert JobRecord.parse(text, "a file").group == ""
    Job(job.id).forget()
    with pytest.raises(AboardError):
        Job(job.id)
