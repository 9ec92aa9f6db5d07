# SPDX-License-Identifier: Apache-2.0
"""Boards beside experiments on this machine: where they are, what they show, and when they end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.compat.xmanager import xm, xm_local, xm_slurm
from aboard.compat.xmanager.contrib import tensorboard
from aboard.errors import AboardError, InvalidType, InvalidValue
from aboard.executors import Local, Slurm
from aboard.executors.docker import container_options
from aboard.jobs.experiment import Experiment
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import UnitSpec
from support.job_home import job_home
from support.object_servers import free_ports
from support.processes import until

PATIENCE = 90.0
DELAY = 0.5
EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return job_home(tmp_path, monkeypatch)


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    with aboard.SummaryWriter(str(tmp_path / "logs" / "0")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    return tmp_path / "logs"


def _runs(port: int) -> list[str] | None:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/data/runs", timeout=10) as answer:
            return json.load(answer)
    except (OSError, urllib.error.URLError):
        return None


def test_it_ends_with_the_experiment(logs: Path, port: int) -> None:
    with Experiment("beside") as experiment:
        options: dict[str, Any] = {"timeout_secs": 600, "executor": Local(), "termination_delay_secs": DELAY}
        board = aboard.add_tensorboard(experiment, logs, port, **options)
        job = experiment.add(aboard.submit("sleep 600"))
        until(lambda: _runs(port) == ["0"], PATIENCE)
        assert board.app_uri == f"http://localhost:{port}/"
        with aboard.SummaryWriter(str(logs / "1")) as writer:
            writer.add_scalar("loss", 1.0, 0)
        until(lambda: _runs(port) == ["0", "1"], PATIENCE)
    assert board.status is UnitState.RUNNING, "its job still runs"
    job.cancel()
    over, ended = job.wait(PATIENCE).ended, board.wait(PATIENCE)
    assert ended.state is UnitState.STOPPED
    assert _runs(port) is None
    assert over is not None
    assert ended.ended is not None
    assert (ended.ended - over).total_seconds() >= DELAY, "it stays for a delay after the experiment"


def test_a_board_of_a_launch_script_may_be_a_job_of_slurm(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In both signatures; tests/cluster has such a board on a real one."""
    given: list[tuple[object, object]] = []

    def noted(experiment: object, log_dir: object, port: object, *_: object, **options: object) -> NotAsked:
        given.append((port, options["executor"]))
        return NotAsked()

    class NotAsked:
        port_forward_line = ""

    monkeypatch.setattr(tensorboard, "add_beside", noted)
    with xm_local.create_experiment("slurm") as experiment:
        tensorboard.add_tensorboard(experiment, str(logs), xm_slurm.Slurm(partition="low"))
        tensorboard.add_tensorboard(experiment, str(logs), 7000, executor=xm_slurm.Slurm(partition="low"))
    assert given == [(None, Slurm(partition="low")), (7000, Slurm(partition="low"))]


def test_it_ends_when_the_launcher_was_killed(tmp_path: Path, logs: Path, port: int) -> None:
    script = tmp_path / "launch.py"
    script.write_text(
        textwrap.dedent("""
            import sys, time, aboard
            from aboard.jobs.experiment import Experiment
            experiment = Experiment("killed")
            print(aboard.add_tensorboard(experiment, sys.argv[1], int(sys.argv[2])).handle.text(), flush=True)
            time.sleep(600)
        """)
    )
    launcher = subprocess.Popen([sys.executable, script, logs, str(port)], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout is not None
    launcher.stdout.readline()
    until(lambda: _runs(port) == ["0"], PATIENCE)
    launcher.send_signal(signal.SIGKILL)
    launcher.wait()
    launcher.stdout.close()
    until(lambda: _runs(port) is None, PATIENCE)


def test_its_time_is_a_normal_end_and_the_real_signature_is_taken(logs: Path, port: int) -> None:
    board = aboard.add_tensorboard("nobody", str(logs), Local(), 1, {"port": port})
    status = board.wait(PATIENCE)
    assert (status.state, status.reason) == (UnitState.STOPPED, "timeout"), b"".join(board.logs())
    named = aboard.add_tensorboard("nobody", logdir=str(logs), executor="local", args={"port": port})
    until(lambda: _runs(port) == ["0"], PATIENCE)
    named.stop()
    assert named.wait(PATIENCE).state is UnitState.STOPPED


def test_a_port_that_is_taken_is_told(logs: Path, port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(AboardError, match=rf"{port}.*taken|taken.*{port}|{port}.*use"):
            aboard.add_tensorboard("nobody", logs, port)


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        ({"timeout_secs": -1}, "nonnegative", "0 stands for"),
        ({"port": 0}, "0 is not a port", "6006"),
        ({"port": "6006"}, "'6006' is not a port", "6006"),
        ({"log_dir": None}, "one log folder", "gs://"),
        ({"log_dir": ""}, "no path", "gs://"),
        ({"port": Local(), "executor": Local()}, "two executors", "one of them"),
        ({"executor": "kubernetes"}, "cannot see '/logs'", "gs://"),
    ],
)
def test_what_cannot_be_shown_is_told(options: dict[str, object], told: str, hint: str) -> None:
    with pytest.raises(AboardError, match=told) as refused:
        aboard.add_tensorboard("nobody", **{"log_dir": "/logs", **options})  # type: ignore[arg-type]
    assert hint in refused.value.hint


def test_the_example_of_xmanager(tmp_path: Path, port: int) -> None:
    command = [sys.executable, EXAMPLES / "xmanager_local.py", "--root", tmp_path / "xm", "--port", str(port)]
    launcher = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen: set[str] = set()

    def looked() -> bool:
        seen.update(_runs(port) or [])
        return launcher.poll() is not None

    until(looked, PATIENCE)
    said, _ = launcher.communicate()
    assert launcher.returncode == 0, said
    for number in (1, 2, 3):
        assert f"[{number}] loss" in said, said
    folders = sorted(path.parent.name for path in (tmp_path / "xm").rglob("*tfevents*"))
    assert folders == ["0", "1", "2"]
    until(lambda: _runs(port) is None, PATIENCE)


def test_local_jobs_end_with_a_launcher_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    [executable] = xm.package([xm.Packageable(executable_spec=xm.Binary("sleep"), args=["600"])])
    experiment = xm_local.create_experiment("broken")
    unit = experiment.add(xm.Job(executable=executable, executor=xm_local.Local(experimental_stream_output=False)))
    with pytest.raises(ZeroDivisionError), experiment:
        raise ZeroDivisionError
    assert "Terminating 1 local job(s)" in capsys.readouterr().err
    assert unit.job.wait(PATIENCE).state is UnitState.STOPPED
    assert experiment.work_units[1] is unit


def test_arguments_of_xmanager_become_words() -> None:
    assert xm.words_of({"lr": 0.1, "fast": True, "slow": False}) == ["--lr=0.1", "--fast", "--noslow"]
    flags = tensorboard.TensorboardProvider.get_tensorboard_job_args("gs://b/logs", additional_args={"port": 7})
    assert flags == {"logdir": "gs://b/logs", "port": 7, "host": "0.0.0.0", "load_fast": "false"}


def test_what_aboard_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match="TPUs"):
        xm_local.Kubernetes(tpu_capability=object())
    with pytest.raises(InvalidValue, match="on Vertex needs an image"):
        xm_local.Vertex(tensorboard=xm_local.TensorboardCapability("t", "gs://b")).for_processes()
    with pytest.raises(InvalidValue, match="interactive"):
        xm_local.DockerOptions(interactive=True)
    with pytest.raises(InvalidType, match="list cannot be added") as refused:
        xm_local.Experiment("group").add([])  # pyright: ignore[reportArgumentType]
    assert "add each xm.Job by itself" in refused.value.hint
    with pytest.raises(InvalidValue, match="builds no images"):
        xm.PythonContainer(xm.ModuleName("m"), docker_instructions=["RUN x"])


def test_what_was_given_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "gcs").mkdir()
    (tmp_path / ".config" / "gcloud").mkdir(parents=True)
    volumes, ports = {"~/data": "/data"}, {6006: 6007}
    docker = xm_local.DockerOptions(ports=ports, volumes=volumes).executor()
    assert (docker.volumes, docker.mount_gcs_path) == ({str(tmp_path / "data"): "/data"}, True)
    container = container_options(docker, UnitSpec(id=new_uid(), name="train", command=("true",), image="train"))
    assert len(container["mounts"]) == 3  # the one that was given, credentials and ~/gcs
    assert (volumes, ports) == ({"~/data": "/data"}, {6006: 6007})
