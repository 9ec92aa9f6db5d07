# SPDX-License-Identifier: Apache-2.0
"""Vertex: Google's own library over REST against a server at the HTTP level (`support/vertex_api.py`).

Real are the library, its requests and its reading of the answers; Vertex AI itself, its machines and Cloud Logging are
not to be had, and are the tests' own. `make test-vertex` runs the contract suite of executors there too.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard.compat.xmanager import xm, xm_local
from aboard.compat.xmanager.contrib import tensorboard
from aboard.errors import Conflict, ExecutorUnavailable, InvalidValue, UnitRefused, UnknownName
from aboard.executors import Vertex, executor_of, make_executor
from aboard.executors.registry import has_ports
from aboard.executors.vertex import create_tensorboard
from aboard.model.names import new_uid
from aboard.model.states import RunState, UnitState
from aboard.model.units import EndReason, Mount, Port, Resources, UnitHandle, UnitSpec
from aboard.store import open_store
from support.kept_runs import kept_run
from support.object_servers import S3Server
from support.processes import until
from support.vertex_api import VertexApi, vertex_api
from support.vertex_machines import vertex_machines

EXAMPLES = Path(__file__).parents[2] / "examples" / "jobs"
PATIENCE = 60.0
PARENT = "projects/lab/locations/us-central1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ABOARD_STORE", "gs://bucket/runs")


@pytest.fixture
def api() -> Generator[VertexApi]:
    with vertex_api() as opened:
        yield opened


@pytest.fixture
def executor(api: VertexApi) -> Vertex:
    return Vertex(project="lab", endpoint_address=api.address, poll_seconds=0.05)


def _spec(**parts: Any) -> UnitSpec:
    return UnitSpec(**{"name": "train", "image": "image:1", "command": ("python", "train.py", "$(A)"), **parts})


def test_a_unit_is_a_custom_job(executor: Vertex, api: VertexApi) -> None:
    asking = dataclasses.replace(executor, service_account="me@lab", network="projects/1/global/networks/n")
    spec = _spec(
        environment={"A": "b c"},
        timeout=90.5,
        resources=Resources(cpus=6, gpus=2, gpu_type="nvidia-tesla-t4"),
        labels={"aboard.job": "X"},
    )
    handle = asking.submit(spec)
    (job,) = api.jobs
    assert handle.place["job"] == job["name"]
    assert job["displayName"] == "train"
    assert job["labels"]["aboard-unit"] == spec.id.lower()
    assert job["labels"]["aboard-job"] == "x"
    told = job["jobSpec"]
    assert (told["serviceAccount"], told["network"]) == ("me@lab", "projects/1/global/networks/n")
    assert told["scheduling"] == {"timeout": "91s", "disableRetries": True}
    assert asking.preview([_spec(restarts=1)])[0]["customJob"]["job_spec"]["scheduling"] == {"disable_retries": False}
    (pool,) = told["workerPoolSpecs"]
    machine = {"machineType": "n1-standard-8", "acceleratorCount": 2, "acceleratorType": "NVIDIA_TESLA_T4"}
    assert {**pool["machineSpec"], "acceleratorType": _accelerator(pool)} == machine
    assert pool["containerSpec"]["command"] == ["python", "train.py", "b c"]
    assert {"name": "A", "value": "b c"} in pool["containerSpec"]["env"]
    assert asking.console_url(handle).endswith(f"/us-central1/training/{job['name'].split('/')[-1]}?project=lab")


def _accelerator(pool: dict[str, Any]) -> str:
    """The library writes enumerations as numbers, which the API takes as well."""
    from google.cloud import aiplatform_v1  # pyright: ignore[reportAttributeAccessIssue] (in .venv-vertex only)

    told = pool["machineSpec"]["acceleratorType"]
    return told if isinstance(told, str) else aiplatform_v1.AcceleratorType(told).name


def test_a_unit_is_made_once_and_found_again(executor: Vertex, api: VertexApi) -> None:
    spec = _spec()
    handle = executor.submit(spec)
    assert executor.submit(spec) == handle == executor.find(spec.id)
    assert len(api.jobs) == 1
    assert executor.find(new_uid()) is None
    assert executor_of(UnitHandle.parse(handle.text())) == executor
    with pytest.raises(UnitRefused, match=spec.id):
        executor.submit(dataclasses.replace(spec, command=("other",)))


def test_a_job_that_is_not_listed_yet_is_known(executor: Vertex, api: VertexApi) -> None:
    api.lists_late = True
    handle = executor.submit(_spec())
    assert handle.place["job"] == api.jobs[0]["name"]
    api.lists_late = False
    assert executor.find(handle.unit) == handle


def test_of_two_that_submit_at_once_one_job_stays(executor: Vertex, api: VertexApi) -> None:
    spec = _spec()
    api.before_create = threading.Barrier(2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: executor.submit(spec), range(2))
    assert first == second
    states = sorted(job["state"] for job in api.jobs)
    assert states == ["JOB_STATE_CANCELLED", "JOB_STATE_PENDING"]
    assert executor.status(first).state is UnitState.PENDING


@pytest.mark.parametrize(
    ("job", "state", "reason", "code", "told"),
    [
        ({"state": "JOB_STATE_QUEUED"}, UnitState.PENDING, None, None, ""),
        ({"state": "JOB_STATE_RUNNING", "startTime": "2026-11-16T06:01:00Z"}, UnitState.RUNNING, None, None, ""),
        ({"state": "JOB_STATE_CANCELLING"}, UnitState.STOPPING, None, None, ""),
        ({"state": "JOB_STATE_SUCCEEDED"}, UnitState.STOPPED, EndReason.COMPLETED, 0, ""),
        ({"state": "JOB_STATE_CANCELLED"}, UnitState.STOPPED, EndReason.STOPPED, None, ""),
        ({"state": "JOB_STATE_EXPIRED"}, UnitState.FAILED, EndReason.TIMEOUT, None, "EXPIRED"),
        (
            {
                "state": "JOB_STATE_FAILED",
                "startTime": "2026-11-16T06:01:00Z",
                "error": {"message": "The replica workerpool0-0 exited with a non-zero status of 7."},
            },
            UnitState.FAILED,
            EndReason.EXITED,
            7,
            "status of 7",
        ),
        (
            {"state": "JOB_STATE_FAILED", "error": {"message": "The image image:1 is not found."}},
            UnitState.FAILED,
            EndReason.NOT_STARTED,
            None,
            "image:1",
        ),
    ],
)
def test_states_are_those_of_every_executor(
    executor: Vertex,
    api: VertexApi,
    job: dict[str, Any],
    state: UnitState,
    reason: EndReason | None,
    code: int | None,
    told: str,
) -> None:
    handle = executor.submit(_spec())
    api.jobs[0].update(job)
    status = executor.status(handle)
    assert (status.state, status.reason, status.exit_code) == (state, reason, code), status
    assert told in status.message


def test_stop_and_forget(executor: Vertex, api: VertexApi) -> None:
    handle = executor.submit(_spec())
    with pytest.raises(Conflict, match="still runs"):
        executor.forget(handle)
    executor.stop(handle)
    status = executor.wait(handle, 20)
    assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED)
    executor.stop(handle)
    executor.forget(handle)
    assert not api.jobs
    with pytest.raises(UnknownName, match=handle.unit):
        executor.status(handle)
    executor.forget(handle)


def test_output_comes_from_the_log_of_the_job_alone(executor: Vertex, api: VertexApi) -> None:
    handle = executor.submit(_spec())
    number = handle.place["job"].split("/")[-1]
    api.entries = [
        {"job": number, "textPayload": "one"},
        {"job": "7", "textPayload": "of another"},
        {"job": number, "jsonPayload": {"message": "two\n"}},
        {"job": number, "jsonPayload": {"level": 3}},
    ]
    assert b"".join(executor.logs(handle)) == b'one\ntwo\n{"level": 3}\n'
    assert b"".join(executor.logs(handle, start=5)) == b'wo\n{"level": 3}\n'
    seen = b""
    for piece in executor.logs(handle, follow=True):
        seen += piece
        if seen.endswith(b"}\n"):
            api.entries.append({"job": number, "textPayload": "last"})
            api.jobs[0]["state"] = "JOB_STATE_SUCCEEDED"
    assert seen == b'one\ntwo\n{"level": 3}\nlast\n'


def test_a_tensorboard_instance_is_found_by_its_name_or_made(executor: Vertex, api: VertexApi) -> None:
    with_board = dataclasses.replace(
        executor, tensorboard="curves", base_output_directory="bucket/out/", service_account="me@lab"
    )
    with_board.submit(_spec())
    (instance,) = api.tensorboards
    assert instance["displayName"] == "curves"
    with_board.submit(_spec())
    assert len(api.tensorboards) == 1
    for job in api.jobs:
        assert job["jobSpec"]["tensorboard"] == instance["name"]
        assert job["jobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://bucket/out"}
    assert with_board.tensorboard_log_dir == "gs://bucket/out/logs"
    made = create_tensorboard(with_board._clients(), "curves")
    assert made != instance["name"]
    dataclasses.replace(with_board, tensorboard="other").submit(_spec())
    assert [each["displayName"] for each in api.tensorboards] == ["curves", "curves", "other"]


@pytest.mark.parametrize(
    ("options", "parts", "told"),
    [
        ({}, {"image": ""}, "no image"),
        ({}, {"source": "/home/me"}, "'source'"),
        ({}, {"mounts": (Mount(source="/a", target="/b"),)}, "'mounts'"),
        ({}, {"ports": (Port(),)}, "'ports'"),
        ({}, {"resources": Resources(gpus=1)}, "need a type"),
        ({}, {"resources": Resources(cpus=500)}, "no n1-standard machine"),
        ({"tensorboard": "t", "base_output_directory": "gs://b"}, {}, "service account"),
        ({"tensorboard": "t"}, {}, "no log folder"),
        ({"base_output_directory": "s3://b"}, {}, "cannot write to 's3://b'"),
        ({"labels": {"Team": "a"}}, {}, "not a label"),
        ({"project": ""}, {}, "needs the project"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    executor: Vertex, api: VertexApi, options: dict[str, Any], parts: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidValue, match=told) as refused:
        dataclasses.replace(executor, **options).submit(_spec(**parts))
    assert refused.value.hint
    assert not api.objects


@pytest.mark.parametrize(
    ("answer", "error", "told", "hint"),
    [
        ((403, "PERMISSION_DENIED", "no right"), UnitRefused, "no right", "Vertex AI User"),
        ((429, "RESOURCE_EXHAUSTED", "CPUs used up"), UnitRefused, "quota of lab", "another location="),
        ((401, "UNAUTHENTICATED", "who?"), ExecutorUnavailable, "who you are", "gcloud auth"),
        ((400, "INVALID_ARGUMENT", "no such machine"), UnitRefused, "no such machine", "projects/lab"),
        ((404, "NOT_FOUND", "no such project"), UnitRefused, "no such project", "projects/lab"),
        ((500, "INTERNAL", "broken"), ExecutorUnavailable, "broken", "later"),
    ],
)
def test_refusals_are_told_with_the_next_step(
    executor: Vertex, api: VertexApi, answer: tuple[int, str, str], error: type[Exception], told: str, hint: str
) -> None:
    api.refuse = answer
    with pytest.raises(error, match=told) as refused:
        executor.submit(_spec())
    assert hint in refused.value.hint  # type: ignore[attr-defined]


def test_a_service_that_is_not_there_is_told() -> None:
    with pytest.raises(ExecutorUnavailable, match="does not answer"):
        Vertex(project="lab", endpoint_address="http://127.0.0.1:9").submit(_spec())


def test_paths_that_jobs_cannot_see_are_refused(executor: Vertex) -> None:
    for path in ("gs://bucket/logs", "/gcs/bucket/logs"):
        executor.check_path(path)
    for path in ("/home/me", "file:///home/me", "/gcsfuse"):
        with pytest.raises(InvalidValue, match="cannot see") as refused:
            executor.check_path(path)
        assert "gs://" in refused.value.hint


def test_jobs_keep_a_copy_where_their_tensorboard_reads(executor: Vertex, api: VertexApi) -> None:
    with_board = dataclasses.replace(
        executor, tensorboard="curves", base_output_directory="gs://bucket/out", service_account="me@lab"
    )
    job = aboard.submit("python train.py", executor=with_board, image="image:1", hparams={"lr": 0.1})
    command = api.jobs[0]["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["command"]
    assert command[:2] == ["aboard", "run"]
    assert "--mirror=gs://bucket/out/logs" in command
    assert command[-2:] == ["python", "train.py"]
    assert job.status is UnitState.PENDING
    job.cancel()
    assert job.wait(20).reason is EndReason.STOPPED
    job.forget()


def test_a_run_on_vertex_knows_that_it_was_cancelled(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is, there is another home, and no file of who cancels."""
    store = "s3://contract/cancelled-on-vertex"
    for name, value in {**s3_server.environment(), "ABOARD_STORE": store}.items():
        monkeypatch.setenv(name, value)
    with vertex_machines(tmp_path) as api:
        job = aboard.submit(
            ["sh", "-c", "echo under way; exec sleep 600"],
            executor=Vertex(project="lab", endpoint_address=api.address, poll_seconds=0.05),
            image="image:1",
            program=_program(tmp_path),
            environment={"ABOARD_HOME": str(tmp_path / "other home")},
        )
        until(lambda: b"under way" in b"".join(job.logs()), PATIENCE)
        job.cancel()
        assert job.wait(PATIENCE).reason is EndReason.STOPPED
        run = kept_run(store)
        assert (run.status, run.reason) == (RunState.CANCELLED, "its job was cancelled")
        job.forget()
    assert not list(open_store(store).list("_cancelled"))


def _program(folder: Path) -> str:
    """aboard of this environment, as an image has it."""
    program = folder / "bin" / "aboard"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aboard "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_the_example_of_a_launch_script(api: VertexApi) -> None:
    command = [sys.executable, EXAMPLES / "xmanager_vertex.py", "--project", "lab", "--endpoint", api.address]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    (job,) = api.jobs
    number = job["name"].split("/")[-1]
    assert done.stdout == (
        "Job launched at: https://console.cloud.google.com/ai/platform/locations/us-central1/training/"
        f"{number}?project=lab\n"
    )
    told = job["jobSpec"]
    assert told["tensorboard"] == api.tensorboards[0]["name"]
    assert told["baseOutputDirectory"] == {"outputUriPrefix": "gs://bucket/line"}
    assert told["serviceAccount"] == "xmanager@lab.iam.gserviceaccount.com"
    assert json.dumps(told["workerPoolSpecs"]).count("--lr=0.1") == 1


def test_the_example_of_pai(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # Jobs are processes of this machine, which know the keys of the store as the account of a job would.
    program = Path(_program(tmp_path))
    keys = {**s3_server.environment(), "ABOARD_STORE": "s3://contract/pai-on-vertex"}
    path = f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    with vertex_machines(tmp_path) as api:
        executor = f"vertex:project=lab,poll_seconds=0.1,endpoint_address={api.address}"
        for name, value in {**keys, "PATH": path, "ABOARD_JOBS_EXECUTOR": executor}.items():
            monkeypatch.setenv(name, value)
        words = [sys.executable, str(EXAMPLES / "pai_estimator.py"), "--image", "image:1"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        (job,) = api.jobs
    assert "loss 3.34e-08 after 20 steps" in done.stdout, "the hyperparameter did not arrive"
    assert "Running http://" in done.stdout
    (pool,) = job["jobSpec"]["workerPoolSpecs"]
    assert (pool["containerSpec"]["imageUri"], "runs without" in done.stderr) == ("image:1", False)


def test_names_of_xmanager(monkeypatch: pytest.MonkeyPatch) -> None:
    capability = xm_local.TensorboardCapability("curves")
    monkeypatch.delenv("GOOGLE_CLOUD_BUCKET_NAME", raising=False)
    with pytest.raises(InvalidValue, match="no log folder") as refused:
        xm_local.Vertex(tensorboard=capability, project="lab").for_images()
    assert "GOOGLE_CLOUD_BUCKET_NAME" in refused.value.hint
    monkeypatch.setenv("GOOGLE_CLOUD_BUCKET_NAME", "bucket")
    made = xm_local.Vertex(xm.JobRequirements(t4=1), capability, project="lab").for_images()
    assert isinstance(made, Vertex)
    assert (made.output_uri, made.location) == ("gs://bucket", "us-central1")
    with xm_local.create_experiment("x") as experiment, pytest.raises(InvalidValue, match="instances of its own"):
        tensorboard.add_tensorboard(experiment, "gs://b", 6006, executor=xm_local.Vertex(project="lab"))


def test_unknown_options_are_errors_that_list_the_known_ones() -> None:
    with pytest.raises(TypeError, match="no option 'region'") as refused:
        make_executor("vertex", {"region": "x"})
    assert "location" in str(refused.value.hint)  # type: ignore[attr-defined]


def test_that_it_has_no_ports_is_known_without_its_library():
    assert not has_ports("vertex")
    assert not Vertex.has_ports
