# SPDX-License-Identifier: Apache-2.0
"""A sweep of fifty runs on a real Slurm, a tenth of them killed in every way there is: all go on by themselves."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

import aboard
from aboard.client.client import Client
from aboard.executors import Slurm
from aboard.model.states import RunState, UnitState
from aboard.model.units import EndReason, UnitHandle
from support.commands import aboard as command
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster, slurm_number

RUNS, STEPS, PATIENCE = 50, 20, 400.0
# Those that are to be killed stay at a step of their first attempt until that has happened.
TRAINING = f"""
    import os, time
    from aboard import Run
    is_held = os.environ["ABOARD_ATTEMPT"] == "1" and os.environ["ABOARD_RUN"] in os.environ["HELD"].split()
    with Run() as run:
        checkpoint = run.resume()
        for step in range(checkpoint.state["step"] + 1 if checkpoint else 0, {STEPS}):
            run.log_metrics({{"step": step, "loss": 1 / (step + 1)}}, step_name="step", stage="train")
            run.checkpoint({{"step": step}})
            time.sleep(0.03)
            if is_held and step == 5:
                print("held", os.getpid(), flush=True)
                time.sleep(3600)
"""


@dataclass
class Killing:
    """The ways in which a job on Slurm can lose its training."""

    cluster: SlurmCluster

    def training(self, job: aboard.Job, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def with_supervisor(self, job: aboard.Job, pid: int) -> None:
        """The training and `aboard run` above it, as the kernel does when the machine has no memory left."""
        training = psutil.Process(pid)
        supervisor = training.parent()
        assert supervisor is not None
        supervisor.kill()
        with contextlib.suppress(psutil.NoSuchProcess):  # its keeper may have been quicker
            training.kill()

    def requeued(self, job: aboard.Job, pid: int) -> None:
        self.cluster.tell("scontrol", "requeue", slurm_number(UnitHandle.parse(job.record.handle)))

    def everything(self, job: aboard.Job, pid: int) -> None:
        """All that the job has on its node, its keeper as well."""
        self.cluster.kill_job(UnitHandle.parse(job.record.handle))

    def ways(self) -> list[Callable[[aboard.Job, int], None]]:
        return [self.training, self.with_supervisor, self.requeued, self.everything, self.with_supervisor]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server process, which everything here and on the node asks."""
    for name in ("ABOARD_CONFIG", "ABOARD_JOBS_EXECUTOR", "ABOARD_SERVER", "ABOARD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ABOARD_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "server"))
    (tmp_path / "server").mkdir()
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "aboard", "server", "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=log
        )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ABOARD_SERVER", said["url"])
    monkeypatch.setenv("ABOARD_TOKEN", said["token"])
    yield
    process.terminate()
    process.wait(30)
    process.stdout.close()


def _held(job: aboard.Job) -> int:
    """The process that waits to be killed; 0 as long as it is not there."""
    lines = [line for line in b"".join(job.logs()).decode().splitlines() if line.startswith("held ")]
    return int(lines[-1].split()[1]) if lines else 0


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("server")
def test_a_sweep_of_fifty_is_whole_though_a_tenth_was_killed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(textwrap.dedent(TRAINING))
    seed = int(os.environ.get("SWEEP_SEED", time.time()))
    print("SWEEP_SEED", seed)
    chosen = random.Random(seed).sample(range(RUNS), RUNS // 10)
    client = Client()
    with slurm_cluster() as cluster:
        sweep = aboard.sweep(
            "python train.py",
            {"seed": list(range(RUNS))},
            source_dir=source,
            executor=Slurm(folder=str(tmp_path / "units")),
            experiment="killed",
            restarts=2,
            at_once=8,
            environment={"HELD": " ".join(f"killed-{index:02}" for index in chosen)},
        )
        board = sweep.tensorboard()
        for way, index in zip(Killing(cluster).ways(), chosen, strict=True):
            job = sweep.jobs[index]
            until(lambda job=job: _held(job) or job.refresh().state.is_ended, PATIENCE)
            assert _held(job), (job.info, b"".join(job.logs()))
            way(job, _held(job))
        assert client.boards.runs(board.id), "the board is not live"
        assert sweep.wait(PATIENCE) == {UnitState.STOPPED: RUNS}
        assert all(job.info.has_succeeded for job in sweep.jobs), [job.info for job in sweep.jobs]
        _cancelled_past_aboard(cluster, source, tmp_path)
    until(lambda: client.runs.count(experiment="killed", where='status == "completed"') == RUNS, PATIENCE)
    shown = client.boards.runs(board.id)
    assert len(shown) == RUNS
    for one in shown:
        run = client.runs.get(one.uid)
        (series,) = client.series.get(run.uid, "loss")
        assert list(series.steps) == list(range(STEPS)), run.name
        assert run.status is RunState.COMPLETED
        assert (len(run.attempts) > 1) == (run.hparams["seed"] in chosen), run.name


def _cancelled_past_aboard(cluster: SlurmCluster, source: Path, folder: Path) -> None:
    """That somebody has decided: it stays so, though it could be started again, until its owner decides otherwise."""
    job = aboard.submit(
        "python train.py",
        source_dir=source,
        executor=Slurm(folder=str(folder / "units")),
        name="decided",
        restarts=2,
        environment={"HELD": "decided"},
    )
    until(lambda: _held(job), PATIENCE)
    cluster.tell("scancel", slurm_number(UnitHandle.parse(job.record.handle)))
    info = job.wait(PATIENCE)
    assert (info.state, info.reason, info.attempt) == (UnitState.STOPPED, EndReason.STOPPED, 1), info
    done = command("jobs", "again", "decided")
    assert done.code == 0, done.err
    again = aboard.Job(done.out.strip())
    assert again.wait(PATIENCE).has_succeeded, b"".join(again.logs())
