# SPDX-License-Identifier: Apache-2.0
"""Jobs and their runs agree in the end, whoever is killed: submitter, server, `aboard run`, or the machine's keeper."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

import aboard
from aboard.catalog.catalog import Catalog
from aboard.errors import UnknownName
from aboard.jobs.records import JobRecords
from aboard.model.runs import RunRecord
from aboard.model.states import RunState, UnitState
from aboard.model.units import UnitHandle
from aboard.services.services import ServiceOptions, Services
from aboard.services.stores.jobs import JobCheckIntervals, JobReconciler
from support.job_home import job_home
from support.kept_runs import kept_run
from support.processes import finish, start, until

PATIENCE = 90.0
INTERVALS = JobCheckIntervals(rest=0.1, upload_time=timedelta(0))
TRAINING = """
    import os, time
    from aboard import SummaryWriter
    writer = SummaryWriter(os.environ["ABOARD_TENSORBOARD_DIR"])
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
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


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog:
        yield catalog


@contextlib.contextmanager
def looked_after(catalog: Catalog, home: Path) -> Iterator[Services]:
    """What a server does about jobs, without the server."""
    control = Services(
        catalog, ServiceOptions(own_store=home / "store", folder_interval=0.1, jobs_home=home, job_intervals=INTERVALS)
    )
    control.keep_boards()
    try:
        yield control
    finally:
        control.close()


def submitted(tmp_path: Path, name: str = "long", **options: Any) -> aboard.Job:
    job = aboard.submit(["python", str(tmp_path / "train.py")], name=name, **options)
    until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
    return job


def run_of(catalog: Catalog, name: str = "long") -> RunRecord | None:
    with contextlib.suppress(UnknownName):  # no run of its workspace was seen yet
        return next(iter(catalog.runs.named("default", name)), None)
    return None


def status_of(catalog: Catalog, name: str = "long") -> RunState | None:
    run = run_of(catalog, name)
    return run.status if run else None


def supervisor_of(job: aboard.Job) -> psutil.Process:
    """The process `aboard run` of a job."""
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = process.info["cmdline"] or []
        if (process.info["environ"] or {}).get("ABOARD_UNIT_ID") == job.id and f"--name={job.name}" in words:
            return process
    raise AssertionError("there is no such process")


def _has_ended(process: psutil.Process) -> bool:
    """Also when nobody reaps it: it is an orphan, and not every first process of a container reaps those."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_supervisor_that_was_killed_is_no_run_for_ever(tmp_path: Path, home: Path, catalog: Catalog):
    """As when the kernel takes its memory back; the executor says what became of it, long before silence does."""
    job = submitted(tmp_path)
    with looked_after(catalog, home):
        until(lambda: status_of(catalog) is RunState.RUNNING, PATIENCE)
        supervisor_of(job).kill()
        until(lambda: status_of(catalog) is RunState.FAILED, PATIENCE)
        run = run_of(catalog)
        assert run is not None
        assert (run.exit_code, "Its job ended (exited)" in run.reason) == (137, True), run
        assert run.ended is not None


def test_a_job_whose_time_is_over_has_failed(tmp_path: Path, home: Path):
    """The run knows it without a server, by the beginning that its keeper passes on; it is not started again."""
    hour_ago = {"ABOARD_UNIT_BEGUN": str(time.time() - 3600)}
    job = submitted(tmp_path, timeout=3600, restarts=2, environment=hour_ago)
    supervisor_of(job).terminate()  # as its keeper does when the time is over, which the contract of executors tests
    assert (job.wait(PATIENCE).exit_code, job.info.attempt) == (143, 1)
    run = kept_run(str(home / "store"))
    assert (run.status, run.reason, len(run.attempts)) == (RunState.FAILED, "its time of 3600 s was over", 1)


def test_a_job_that_its_scheduler_takes_after_it_was_cancelled_does_nothing(tmp_path: Path, home: Path):
    words = [sys.executable, "-m", "aboard", "run", "--name=late", "--", "touch", str(tmp_path / "begun")]
    (tmp_path / "mark").touch()
    environment = {**os.environ, "ABOARD_CANCEL_MARK": str(tmp_path / "mark")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, "its job was cancelled" in done.stderr) == (143, True), done.stderr
    assert not (tmp_path / "begun").exists()
    assert not (home / "store").exists()


DIES = """
    import os, signal
    from aboard.executors.local import Local
    submit = Local.submit

    def submit_and_die(self, spec):
        submit(self, spec)
        os.kill(os.getpid(), signal.SIGKILL)

    Local.submit = submit_and_die
    from aboard.cli import main
    main()
"""


def test_killed_between_submitting_and_recording(tmp_path: Path, home: Path, catalog: Catalog):
    """The unit that nobody wrote down is taken up by who looks next, and not started again."""
    words = ("submit", "--name", "long", "--", "python", tmp_path / "train.py")
    assert finish(start(tmp_path, DIES, *words), PATIENCE).code == -signal.SIGKILL
    (record,) = JobRecords(home).all()
    assert record.handle == ""
    with looked_after(catalog, home):
        until(lambda: JobRecords(home).get(record.id).handle != "", PATIENCE)
        until(lambda: status_of(catalog) is RunState.RUNNING, PATIENCE)
    job = aboard.Job(record.id)
    supervisor = supervisor_of(job)
    assert job.status is UnitState.RUNNING
    supervisor.terminate()
    job.wait(PATIENCE)


def test_a_keeper_that_was_killed_does_not_end_a_run_that_goes_on(tmp_path: Path, home: Path, catalog: Catalog):
    job = submitted(tmp_path)
    supervisor = supervisor_of(job)
    (keeper,) = [one for one in supervisor.parents() if "keep" in one.cmdline()]
    with looked_after(catalog, home):
        until(lambda: status_of(catalog) is RunState.RUNNING, PATIENCE)
        keeper.kill()
        until(lambda: job.status is UnitState.LOST, PATIENCE)
        JobReconciler(catalog, JobRecords(home), lambda _: None, intervals=INTERVALS).look()
        assert (status_of(catalog), supervisor.is_running()) == (RunState.RUNNING, True)
        job.executor.stop(UnitHandle.parse(job.record.handle), grace=0)
        until(lambda: _has_ended(supervisor), PATIENCE)
