# SPDX-License-Identifier: Apache-2.0
"""Docker beyond the contract, on a real daemon: ports, mounts, credentials, limits, and what it refuses."""

from __future__ import annotations

import dataclasses
import socket
import subprocess
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import ExecutorUnavailable, InvalidValue, UnitRefused
from aboard.executors import Docker
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Mount, Port, Resources
from support.executor_benches import PATIENCE, Bench, docker_bench
from support.processes import until


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    with docker_bench(tmp_path_factory.mktemp("docker")) as bench:
        yield bench


@pytest.fixture
def bench(opened: Bench) -> Generator[Bench]:
    fresh = dataclasses.replace(opened, handles=[])
    yield fresh
    fresh.clear()


def _with(bench: Bench, **options: Any) -> Bench:
    made = dataclasses.replace(bench.executor, **options)
    return dataclasses.replace(bench, executor=made, handles=bench.handles)


def test_ports_go_from_the_container_to_the_machine(bench: Bench, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        outside = probe.getsockname()[1]
    published = _with(bench, ports={6006: outside})
    handle = published.submit(command=("python3", "-m", "http.server", "6006"))

    def answers() -> bool:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{outside}/", timeout=5).status == 200
        except OSError:
            return False

    until(answers, PATIENCE)
    with pytest.raises(UnitRefused, match=r"already|in use") as refused:
        published.submit(command=("python3", "-m", "http.server", "6006"))
    assert "another" in refused.value.hint
    assert published.executor.status(handle).state is UnitState.RUNNING


def test_a_port_of_the_unit_appears_where_it_says(bench: Bench) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        outside = probe.getsockname()[1]
    handle = bench.submit(command=("sleep", "60"), ports=(Port(number=6006, host=outside),))
    endpoint = bench.executor.endpoint(handle)
    assert endpoint is not None
    assert (endpoint.host, endpoint.port) == ("127.0.0.1", outside)


def test_mounts_can_be_read_only(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("events")
    mounts = (*bench.common["mounts"], Mount(source=str(tmp_path), target="/logs", read_only=True))
    handle = bench.submit("cat /logs/log; echo x > /logs/new || echo refused", mounts=mounts)
    assert bench.ended(handle).has_succeeded
    assert "eventsrefused\n" in bench.output(handle)
    assert not (tmp_path / "new").exists()


def test_volumes_credentials_and_a_bucket_are_seen(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UnitRefused, match=r"~/\.config/gcloud is to be mounted") as refused:
        _with(bench, credentials=("gcloud",)).submit("true")
    assert "application-default login" in refused.value.hint
    with pytest.raises(UnitRefused, match="~/gcs is to be mounted") as refused:
        _with(bench, mount_gcs_path=True).submit("true")
    assert "gcsfuse" in refused.value.hint
    for name, text in (("gcs/bucket", "b"), (".config/gcloud/key", "k"), ("data/x", "d")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    volumes = {str(tmp_path / "data"): "/data"}
    seeing = _with(bench, credentials=("gcloud",), mount_gcs_path=True, volumes=volumes)
    inside = "/root/.config/gcloud"
    handle = seeing.submit(f"cat /gcs/bucket {inside}/key /data/x; echo > /data/made; : > {inside}/new")
    status = seeing.ended(handle)
    assert "bkd" in seeing.output(handle)
    assert not status.has_succeeded, "credentials could be written"
    assert (tmp_path / "data" / "made").exists()
    assert volumes == {str(tmp_path / "data"): "/data"}, "what was passed in was changed"


def test_the_source_goes_along_without_what_git_ignores(bench: Bench, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "train.sh").write_text("ls; echo trained")
    (tmp_path / ".gitignore").write_text("data\n")
    (tmp_path / "data").write_text("large")
    handle = bench.submit(command=("sh", "train.sh"), source=str(tmp_path))
    assert bench.ended(handle).has_succeeded
    assert bench.output(handle) == "train.sh\ntrained\n"


def test_memory_is_a_limit(bench: Bench) -> None:
    script = "held = [bytes([1]) * (50 << 20) for _ in range(20)]"
    handle = bench.submit(command=("python3", "-c", script), resources=Resources(memory=64 << 20, cpus=0.5))
    status = bench.ended(handle)
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.OUT_OF_MEMORY), status


def test_gpus_that_cannot_be_given_are_refused_and_leave_nothing(bench: Bench) -> None:
    spec = bench.spec("true", resources=Resources(gpus=1))
    with pytest.raises(UnitRefused, match="device driver") as refused:
        bench.executor.submit(spec)
    assert "NVIDIA container toolkit" in refused.value.hint
    assert bench.executor.find(spec.id) is None


def test_an_image_that_is_not_there_is_explained(bench: Bench) -> None:
    with pytest.raises(UnitRefused, match=r"no/such:1.*not to be pulled"):
        bench.submit("true", image="no/such:1")
    with pytest.raises(UnitRefused, match=r"no/such:1.*cannot be pulled") as refused:
        _with(bench, pull="missing").submit("true", image="no/such:1")
    assert "docker pull no/such:1" in refused.value.hint


def test_use_of_the_machine_is_told(bench: Bench) -> None:
    handle = bench.submit("echo ready; sleep 60")
    bench.until_printed(handle, "ready")
    usage = bench.executor.usage(handle)
    assert usage is not None
    assert usage.memory > 0


def test_a_container_that_was_created_but_not_started_is_started_by_the_next_submit(bench: Bench) -> None:
    from aboard.executors.docker import container_options

    spec = bench.spec("echo here")
    executor = bench.executor
    assert isinstance(executor, Docker)
    with executor._client() as client:
        options = container_options(executor, spec)
        client.containers.create(**options)  # as far as a submitter came that was killed
    assert executor.find(spec.id) is None
    handle = bench.submit_spec(spec)
    assert bench.ended(handle).has_succeeded
    assert bench.output(handle) == "here\n"


def test_a_stop_with_another_grace_is_heard(bench: Bench) -> None:
    handle = bench.submit("trap '' TERM; echo ready; while :; do sleep 0.2; done")
    bench.until_printed(handle, "ready")
    for _ in range(2):
        bench.executor.stop(handle, grace=600)
        assert bench.executor.status(handle).state is UnitState.STOPPING
    bench.executor.stop(handle, grace=1)
    assert bench.ended(handle).reason is EndReason.STOPPED


def test_a_daemon_that_is_not_there_is_told_so(bench: Bench, tmp_path: Path) -> None:
    absent = _with(bench, address=f"unix://{tmp_path}/absent")
    with pytest.raises(ExecutorUnavailable, match="absent") as refused:
        absent.executor.submit(bench.spec("true"))
    assert "DOCKER_HOST" in refused.value.hint


@pytest.mark.parametrize(
    ("options", "told"),
    [({"pull": "sometimes"}, "when to pull"), ({"ports": {0: 1}}, "0 is not a port"), ({"ports": {1: 70000}}, "70000")],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        Docker(**options)


def test_a_process_without_an_image_is_for_another_executor(bench: Bench) -> None:
    with pytest.raises(InvalidValue, match="has no image"):
        bench.submit("true", image="")
