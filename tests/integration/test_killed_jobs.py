# SPDX-License-Identifier: Apache-2.0
"""Jobs and queues that were killed with everything that watched them: started again, or cancelled for good."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

import aboard
from aboard.executors import Local
from aboard.model.states import UnitState
from aboard.model.units import UnitHandle
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
    assert job.info.can_go_on
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
    assert not job.refresh().state.is_ended
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
