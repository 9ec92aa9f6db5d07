# SPDX-License-Identifier: Apache-2.0
"""Jobs and boards beside experiments on a real Slurm, a real Docker daemon and a real sshd."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path

import docker
import psutil
import pytest

import aboard
from aboard.executors import Docker, Slurm, Ssh
from aboard.jobs.experiment import Experiment
from aboard.model.states import RunState, UnitState
from aboard.model.units import EndReason, Mount
from aboard.store import open_store
from support.docker_daemon import IMAGE, docker_daemon
from support.job_home import job_home
from support.kept_runs import kept_run
from support.object_servers import S3Server
from support.processes import until
from support.slurm_cluster import SlurmCluster, slurm_cluster
from support.ssh_server import ssh_server

PATIENCE = 100.0
pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "jobs"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    home = job_home(tmp_path, monkeypatch)
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


def test_a_board_beside_an_experiment_is_a_job_of_slurm(cluster: SlurmCluster, tmp_path: Path) -> None:
    with aboard.SummaryWriter(str(tmp_path / "logs" / "0")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    place = Slurm(partition="low", folder=str(tmp_path / "units"))
    with Experiment("beside") as experiment:
        board = aboard.add_tensorboard(experiment, tmp_path / "logs", 7017, timeout_secs=600, executor=place)
        job = experiment.add(aboard.submit("sleep 600", executor=place))
        until(lambda: board.app_uri, PATIENCE)
        # A browser is sent on without the token, and has a cookie then.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        until(lambda: _status_of(browser, board.app_uri) == 200, PATIENCE)
        with browser.open("http://localhost:7017/data/runs", timeout=10) as answer:
            assert json.load(answer) == ["0"]
        assert _status_of(urllib.request.build_opener(), "http://localhost:7017/data/runs") == 401
        # One that is queued again asks for another token.
        first = board.app_uri
        recorded = json.loads((tmp_path / "units" / board.handle.unit / "job.json").read_text())
        cluster.tell("scontrol", "requeue", recorded["job"])
        until(lambda: board.app_uri not in ("", first), PATIENCE)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        until(lambda: _status_of(browser, board.app_uri) == 200, PATIENCE)
    assert board.status is UnitState.RUNNING, "its job still runs"
    job.cancel()
    assert board.wait(PATIENCE).state is UnitState.STOPPED


def _status_of(browser: urllib.request.OpenerDirector, url: str) -> int:
    try:
        with browser.open(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


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
        until(lambda: not client.containers.list(ignore_removed=True), PATIENCE)


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


def test_a_job_in_a_container_that_loses_its_supervisor_goes_on(daemon: str) -> None:
    job = aboard.submit(
        ["sh", "-c", "if [ $ABOARD_ATTEMPT = 1 ]; then kill -9 $PPID; sleep 60; fi; exit $((ABOARD_ATTEMPT - 2))"],
        executor=Docker(address=daemon, pull="never", volumes=_volumes()),
        image="tensorflow/tensorflow",
        restarts=1,
        mounts=[Mount(source="/etc", target="/etc", read_only=True)],
    )
    status = job.wait(PATIENCE)
    assert (status.has_succeeded, status.attempt) == (True, 2), (status, b"".join(job.logs()))
    assert [one.number for one in job.wait_for_run(PATIENCE).attempts] == [1, 2]
    job.forget()


@pytest.mark.parametrize(
    ("timeout", "restarts", "state", "why"),
    [
        (None, 0, RunState.CANCELLED, "its job was cancelled"),
        (20, 0, RunState.FAILED, "its time of 20 s was over"),
        (40, 1, RunState.FAILED, "its time of 40 s was over"),
    ],
)
def test_a_run_in_a_container_knows_why_it_was_to_end(
    daemon: str, home: Path, timeout: float | None, restarts: int, state: RunState, why: str
) -> None:
    """Though it sees no file of who cancels, nor how old its container is; and there is no server that could tell."""
    job = aboard.submit(
        ["sh", "-c", f"[ $ABOARD_ATTEMPT -gt {restarts} ] || {{ sleep 8; exit 1; }}; echo under way; exec sleep 600"],
        executor=Docker(address=daemon, pull="never", volumes=_volumes()),
        image="tensorflow/tensorflow",
        mounts=[Mount(source="/etc", target="/etc", read_only=True)],
        timeout=timeout,
        restarts=restarts,
    )
    until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
    if timeout is None:
        job.cancel()
    assert job.wait(PATIENCE).state.is_ended
    store = open_store(str(home / "store"), read_only=True)
    run = kept_run(str(home / "store"))
    assert (run.status, run.reason) == (state, why)
    job.forget()
    assert not list(store.list("_cancelled"))


def test_a_run_beyond_ssh_knows_that_it_was_cancelled(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is, there is another home, and no file of who cancels."""
    keys = {**s3_server.environment(), "ABOARD_STORE": "s3://contract/cancelled-beyond-ssh"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "ssh").mkdir()
    with ssh_server(tmp_path / "ssh") as config:
        job = aboard.submit(
            ["sh", "-c", "echo under way; exec sleep 600"],
            executor=Ssh(host="elsewhere", config=str(config), folder=str(tmp_path / "units")),
            program=str(Path(sys.executable).with_name("aboard")),
            environment={**keys, "ABOARD_HOME": str(tmp_path / "other home")},
        )
        until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
        job.cancel()
        assert job.wait(PATIENCE).reason is EndReason.STOPPED
        run = kept_run(keys["ABOARD_STORE"])
        assert (run.status, run.reason) == (RunState.CANCELLED, "its job was cancelled")
        job.forget()
    assert not list(open_store(keys["ABOARD_STORE"]).list("_cancelled"))


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
