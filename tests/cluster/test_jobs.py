# SPDX-License-Identifier: Apache-2.0
"""Jobs and boards beside experiments on a real Slurm and a real Docker daemon."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from pathlib import Path

import docker
import psutil
import pytest

import aboard
from aboard.executors import Docker
from aboard.model.run_states import RunState
from aboard.model.unit_parts import Mount
from aboard.model.unit_states import UnitState
from support.docker_daemon import IMAGE, docker_daemon
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster

PATIENCE = 100.0
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "jobs"


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


def _runs(port: int) -> list[str] | None:
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"http://localhost:{port}/data/runs", timeout=10) as answer,
    ):
        return json.load(answer)
    return None


def _launched(example: str, *arguments: object, **environment: str) -> str:
    """What a launch script said that ended well."""
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cluster() -> Generator[SlurmCluster]:
    with slurm_cluster() as running:
        yield running


@pytest.mark.usefixtures("cluster")
def test_the_example_of_xmanager_on_slurm(tmp_path: Path) -> None:
    said = _launched("xmanager_slurm.py", "--root", tmp_path / "xm", "--partition", "low")
    assert "http://localhost:6006/" in said
    seen: set[str] = set()

    def has_gone() -> bool:
        now = _runs(6006)
        seen.update(now or ())
        return now is None and len(seen) > 0

    until(has_gone, PATIENCE)
    assert {job.record.executor for job in aboard.Job.list()} == {"slurm"}
    assert [job.wait(PATIENCE).has_succeeded for job in aboard.Job.list(experiment="line-slurm")] == [True] * 3
    assert seen <= {"0", "1", "2"}
    assert len(list((tmp_path / "xm").rglob("*tfevents*"))) == 3


@pytest.mark.usefixtures("cluster")
def test_the_example_of_pai_on_slurm() -> None:
    said = _launched("pai_estimator.py", ABOARD_JOBS_EXECUTOR="slurm:partition=low,extra=nice:5")
    assert "loss 3.34e-08 after 20 steps" in said
    assert "Running http://" in said
    (job,) = aboard.Job.list()
    assert job.record.executor == "slurm"


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
    volumes = [word for folder in _volumes() for word in ("--volume", f"{folder}:{folder}")]
    # Within the container it listens elsewhere; a browser of this machine finds it where the documents say.
    command = [sys.executable, EXAMPLES / "xmanager_docker.py", tmp_path / "logs", "--port", "7007", *volumes]
    launcher = subprocess.Popen(
        [*map(str, command)],
        env={**os.environ, "DOCKER_HOST": daemon},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def runs() -> list[str] | None:
        assert launcher.poll() is None, launcher.communicate()[0]
        return _runs(6006)

    until(lambda: runs() == ["0"], PATIENCE)
    said, _ = launcher.communicate("\n", timeout=PATIENCE)
    assert launcher.returncode == 0, said
    with contextlib.closing(docker.DockerClient(base_url=daemon)) as client:
        until(lambda: not client.containers.list(), PATIENCE)


def test_the_example_of_pai_in_a_container(daemon: str) -> None:
    volumes = "+".join(f"{source}:{target}" for source, target in _volumes().items())
    executor = f"docker:address={daemon},pull=never,volumes={volumes}"
    said = _launched("pai_estimator.py", "--image", "tensorflow/tensorflow", ABOARD_JOBS_EXECUTOR=executor)
    assert "loss 3.34e-08 after 20 steps" in said
    assert "Running http://" in said
    (job,) = aboard.Job.list()
    assert job.record.executor == "docker"


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


def test_a_job_that_may_not_write_to_the_store_fails(daemon: str) -> None:
    job = aboard.submit(
        "python -c pass",
        executor=Docker(address=daemon, pull="never", volumes=_volumes()),
        image="tensorflow/tensorflow",
        environment={"ABOARD_STORE": "/etc/store"},
        mounts=[Mount(source="/etc", target="/etc", read_only=True)],
    )
    status = job.wait(PATIENCE)
    assert status.state is UnitState.FAILED, status
    assert b"the command was not started" in b"".join(job.logs())
    job.forget()
