# SPDX-License-Identifier: Apache-2.0
"""Jobs whose time is over, by the real clock: the keeper ends them, and their runs say why."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

import aboard
from aboard.model.states import RunState
from aboard.model.units import EndReason
from support.job_home import job_home
from support.kept_runs import kept_run
from support.processes import until

PATIENCE = 90.0
TRAINING = """
    import time
    print("under way", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = job_home(tmp_path, monkeypatch)
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAINING))
    yield home
    for job in aboard.Job.list():
        job.cancel()
        job.wait(PATIENCE)


def submitted(tmp_path: Path, *, timeout: int, restarts: int) -> aboard.Job:
    job = aboard.submit(["python", str(tmp_path / "train.py")], name="long", timeout=timeout, restarts=restarts)
    until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
    return job


def supervisor_of(job: aboard.Job) -> psutil.Process:
    """The process `aboard run` of a job."""
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = process.info["cmdline"] or []
        if (process.info["environ"] or {}).get("ABOARD_UNIT_ID") == job.id and f"--name={job.name}" in words:
            return process
    raise AssertionError("there is no such process")


def test_a_job_whose_time_is_over_has_failed(tmp_path: Path, home: Path) -> None:
    """Its run says so without a server, and it is not started again, although it may be."""
    job = submitted(tmp_path, timeout=20, restarts=2)
    assert (job.wait(PATIENCE).reason, job.info.attempt) == (EndReason.TIMEOUT, 1)
    run = kept_run(str(home / "store"))
    assert (run.status, run.reason, len(run.attempts)) == (RunState.FAILED, "its time of 20 s was over", 1)


def test_all_starts_of_a_job_share_its_time(tmp_path: Path, home: Path) -> None:
    job = submitted(tmp_path, timeout=45, restarts=1)
    supervisor = supervisor_of(job)
    until(lambda: time.time() - supervisor.create_time() > 8, PATIENCE)
    supervisor.kill()
    until(lambda: b"".join(job.logs()).count(b"under way") == 2, PATIENCE)
    assert (job.wait(PATIENCE).reason, job.info.attempt) == (EndReason.TIMEOUT, 2)
    run = kept_run(str(home / "store"))
    assert (run.status, run.reason) == (RunState.FAILED, "its time of 45 s was over")
