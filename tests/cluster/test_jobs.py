# SPDX-License-Identifier: Apache-2.0
"""Jobs and boards beside experiments on a real Slurm and a real Docker daemon."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.request
from collections.abc import Generator
from pathlib import Path

import docker
import psutil
import pytest

import aboard
from aboard.client.client import Client
from aboard.executors import Docker, Slurm
from aboard.model.run_states import RunState
from aboard.model.unit_parts import Mount
from aboard.model.unit_states import UnitState
from support.docker_daemon import IMAGE, docker_daemon
from support.processes import until
from support.slurm_cluster import slurm_cluster

PATIENCE = 100.0
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "jobs"
RUNS, STEPS = int(os.environ.get("SWEEP_RUNS", "10")), 20
TRAINING = f"""
    import os, sys, time
    from aboard import Run
    with Run() as run:
        checkpoint = run.resume()
        for step in range(checkpoint.state["step"] + 1 if checkpoint else 0, {STEPS}):
            run.log_metrics({{"step": step, "loss": 1 / (step + 1)}}, step_name="step", stage="train")
            run.checkpoint({{"step": step}})
            print("pid", os.getpid(), "step", step, flush=True)
            time.sleep(0.3)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = tmp_path / "home"
    monkeypatch.setenv("ABOARD_HOME", str(home))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for name in ("ABOARD_SERVER", "ABOARD_TOKEN", "ABOARD_STORE", "ABOARD_CONFIG", "ABOARD_JOBS_EXECUTOR"):
        monkeypatch.delenv(name, raising=False)
    yield home
    with contextlib.suppress(FileNotFoundError):
        pid = int((home / "server/running.lock").read_text() or 0)
        if pid and psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


def _pid(job: aboard.Job) -> int:
    """The process that trains, once it is under way."""
    lines = [line for line in b"".join(job.logs()).decode().splitlines() if line.startswith("pid ")]
    return int(lines[-1].split()[1]) if len(lines) > 3 else 0


def test_a_sweep_on_slurm_has_whole_histories_though_some_were_killed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(textwrap.dedent(TRAINING))
    with slurm_cluster() as cluster:
        sweep = aboard.sweep(
            "python train.py",
            {"seed": list(range(RUNS))},
            source_dir=source,
            executor=Slurm(folder=str(tmp_path / "units")),
            experiment="killed",
            restarts=2,
            at_once=4,
        )
        board = sweep.tensorboard()
        for index, job in enumerate(sweep.jobs[: max(2, RUNS // 10)]):
            until(lambda job=job: _pid(job) or job.status.is_ended, PATIENCE)
            if index % 2 == 0:
                os.kill(_pid(job), signal.SIGKILL)
            else:
                unit = json.loads(job.record.handle)["place"]["folder"]
                cluster.tell("scontrol", "requeue", json.loads((Path(unit) / "job.json").read_text())["job"])
        states = sweep.wait(PATIENCE)
        assert states == {UnitState.STOPPED: RUNS}, [(job.info, b"".join(job.logs())[-400:]) for job in sweep.jobs]
        assert all(job.info.has_succeeded for job in sweep.jobs)
        client = Client()
        until(lambda: len(client.boards.runs(board.id)) == RUNS, PATIENCE)
        runs = list(client.runs.iterate(experiment="killed"))
        until(lambda: all(client.runs.get(run.uid).status is RunState.COMPLETED for run in runs), PATIENCE)
        for run in runs:
            (series,) = [one for one in client.runs.series(run.uid) if one.tag == "loss"]
            assert list(series.steps) == list(range(STEPS)), run.name
        assert sum(len(client.runs.get(run.uid).attempts) > 1 for run in runs) >= 2


@pytest.fixture(scope="module")
def daemon() -> Generator[str]:
    with docker_daemon() as address:
        with contextlib.closing(docker.DockerClient(base_url=address)) as client:
            # The image that boards use, with the programs of this environment.
            programs = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
            context = f"FROM {IMAGE}\nENV PATH={programs}\n"
            made = client.containers.create(IMAGE, ["true"])
            made.commit("tensorflow/tensorflow", "latest", changes=context.splitlines()[1])
            made.remove()
        yield address


def _volumes() -> dict[str, str]:
    """What makes the programs of this environment run in a container."""
    folders = {"/usr", str(ROOT), sys.base_prefix, sys.prefix}
    return {folder: folder for folder in sorted(folders)}


def test_the_example_of_a_board_in_a_container(daemon: str, tmp_path: Path) -> None:
    with aboard.SummaryWriter(str(tmp_path / "logs" / "0")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        outside = probe.getsockname()[1]
    volumes = [word for folder in _volumes() for word in ("--volume", f"{folder}:{folder}")]
    command = [sys.executable, EXAMPLES / "xmanager_docker.py", tmp_path / "logs", "--host_port", outside, *volumes]
    launcher = subprocess.Popen(
        [*map(str, command), "--port", "7007"],
        env={**os.environ, "DOCKER_HOST": daemon},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def runs() -> list[str] | None:
        assert launcher.poll() is None, launcher.communicate()[0]
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://localhost:{outside}/data/runs") as answer:
            return json.load(answer)
        return None

    until(lambda: runs() == ["0"], PATIENCE)
    said, _ = launcher.communicate("\n", timeout=PATIENCE)
    assert launcher.returncode == 0, said
    with contextlib.closing(docker.DockerClient(base_url=daemon)) as client:
        until(lambda: not client.containers.list(), PATIENCE)


def test_a_job_in_a_container_is_a_run(daemon: str) -> None:
    job = aboard.submit(
        "python train.py --lr {hparams.lr}",
        source_dir=EXAMPLES,
        executor=Docker(address=daemon, pull="never", volumes=_volumes()),
        image="tensorflow/tensorflow",
        hparams={"lr": 0.2},
        mounts=[Mount(source="/etc", target="/etc", read_only=True)],
    )
    status = job.wait(PATIENCE)
    assert status.has_succeeded, (status, b"".join(job.logs()))
    run = job.wait_for_run(PATIENCE)
    assert (run.status, run.hparams) == (RunState.COMPLETED, {"lr": 0.2})
    job.forget()
