# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: objects against the official schemas, behaviour by the real client against a server at the HTTP level."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Generator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from aboard.errors import Conflict, ExecutorUnavailable, InvalidType, InvalidValue, UnitRefused, UnknownName
from aboard.executors import Kubernetes, executor_of, make_executor
from aboard.model.uid import new_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_parts import Mount, Port, Resources
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason
from support.kubernetes_api import KubernetesApi, kubernetes_api

SCHEMAS = "1.31"


@pytest.fixture
def server(tmp_path: Path) -> Generator[tuple[KubernetesApi, Path]]:
    with kubernetes_api(tmp_path) as opened:
        yield opened


@pytest.fixture
def api(server: tuple[KubernetesApi, Path]) -> KubernetesApi:
    return server[0]


@pytest.fixture
def executor(server: tuple[KubernetesApi, Path]) -> Kubernetes:
    return Kubernetes(kubeconfig=str(server[1]))


def _spec(**parts: Any) -> UnitSpec:
    return UnitSpec(**{"name": "train", "image": "python:3", "command": ("python", "train.py"), **parts})


def _name(unit: str) -> str:
    return f"aboard-{unit.lower()}"


@pytest.mark.parametrize("serves", [False, True])
def test_objects_satisfy_the_official_schemas(executor: Kubernetes, serves: bool) -> None:
    asking = dataclasses.replace(
        executor,
        service_account="trainer",
        image_pull_secrets=("registry",),
        node_selector={"pool": "gpu"},
        claims={"data": "/data"},
        secrets={"keys": "/keys"},
        environment_secrets=("tokens",),
        ttl_seconds=60,
    )
    spec = _spec(
        serves=serves,
        ports=(Port(number=6006), Port(name="debug")),
        environment={"A": "b"},
        resources=Resources(cpus=0.5, memory=1 << 30, gpus=2),
        labels={"team": "a"},
    )
    made = asking.manifests(spec)
    assert [each["kind"] for each in made] == ["Deployment" if serves else "Job", "Service"]
    for manifest in made:
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
        assert manifest["metadata"]["namespace"] == "lab"
    pod = made[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["serviceAccountName"] == "trainer"
    assert container["resources"]["limits"] == {"cpu": "500m", "memory": str(1 << 30), "nvidia.com/gpu": "2"}
    assert {"name": "ABOARD_PORT_HTTP", "value": "6006"} in container["env"]
    assert {"name": "keys", "mountPath": "/keys"}.items() <= {**container["volumeMounts"][1], "name": "keys"}.items()
    assert made[1]["spec"]["ports"][0] == {"name": "http", "port": 6006, "targetPort": 6006}


def test_a_job_is_tried_once_and_has_its_deadline(executor: Kubernetes) -> None:
    (job,) = executor.manifests(_spec(timeout=90.5, grace=3.2, serves=True, service_account="own"))
    assert (job["kind"], job["spec"]["backoffLimit"], job["spec"]["activeDeadlineSeconds"]) == ("Job", 0, 91)
    pod = job["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["terminationGracePeriodSeconds"]) == ("Never", 4)
    assert pod["serviceAccountName"] == "own"
    assert "nvidia.com/gpu" not in str(job)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"image": ""}, "no image"),
        ({"source": "/home/me/project"}, "'source'"),
        ({"mounts": (Mount(source="/a", target="/b"),)}, "'mounts'"),
        ({"ports": (Port(number=1, host=2),)}, "cannot appear elsewhere"),
    ],
)
def test_what_pods_cannot_have_is_refused(executor: Kubernetes, parts: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidValue, match=told) as refused:
        executor.manifests(_spec(**parts))
    assert refused.value.hint


def test_paths_that_pods_cannot_see_are_refused(executor: Kubernetes) -> None:
    seeing = dataclasses.replace(executor, claims={"data": "/data"})
    for path in ("gs://bucket/logs", "s3://bucket", "/data", "/data/logs"):
        seeing.check_path(path)
    for path in ("/home/me/logs", "/gcs/bucket/logs", "logs", "/database"):
        with pytest.raises(InvalidValue, match="cannot see") as refused:
            seeing.check_path(path)
        assert "gs://" in refused.value.hint
        assert "/data (claim data)" in refused.value.hint


def test_a_unit_is_created_once_and_found_again(executor: Kubernetes, api: KubernetesApi) -> None:
    spec = _spec(ports=(Port(),))
    handle = executor.submit(spec)
    assert executor.submit(spec) == handle
    assert set(api.objects) == {("jobs", _name(spec.id)), ("services", _name(spec.id))}
    # A submitter that died between the two leaves a Job without its Service.
    del api.objects["services", _name(spec.id)]
    assert executor.find(spec.id) == handle
    assert executor.submit(spec) == handle
    assert ("services", _name(spec.id)) in api.objects
    with pytest.raises(UnitRefused, match=spec.id):
        executor.submit(dataclasses.replace(spec, command=("other",)))
    again = UnitHandle.parse(handle.text())
    assert executor_of(again) == executor
    assert executor.find(new_uid()) is None
    serving = _spec(serves=True)
    assert executor.submit(serving) == executor.find(serving.id)


def _container(**state: Any) -> list[dict[str, Any]]:
    return [{"name": "unit", "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "state": state}]


def _ended(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    state = {"exitCode": code, "reason": reason, "message": message}
    return {"phase": "Failed", "containerStatuses": _container(terminated=state)}


def _condition(kind: str, reason: str = "") -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-11-16T06:10:00Z"}


STARTED = {"startTime": "2026-11-16T06:00:00Z"}


@pytest.mark.parametrize(
    ("pod", "job", "state", "reason", "told"),
    [
        (None, {}, UnitState.PENDING, None, ""),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
            {},
            UnitState.PENDING,
            None,
            "0/3 nodes",
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": _container(waiting={"reason": "ErrImagePull", "message": "m"}),
            },
            {},
            UnitState.PENDING,
            None,
            "ErrImagePull: m",
        ),
        (
            {"phase": "Running", "containerStatuses": _container(running={"startedAt": "2026-11-16T06:00:01Z"})},
            {},
            UnitState.RUNNING,
            None,
            "",
        ),
        (_ended(0), {"conditions": [_condition("Complete")]}, UnitState.STOPPED, EndReason.COMPLETED, ""),
        (_ended(7), {"conditions": [_condition("Failed")]}, UnitState.FAILED, EndReason.EXITED, "exit code 7"),
        (
            _ended(137, "OOMKilled"),
            {"conditions": [_condition("Failed")]},
            UnitState.FAILED,
            EndReason.OUT_OF_MEMORY,
            "memory",
        ),
        (
            _ended(128, "StartError", "no such command"),
            {"conditions": [_condition("Failed")]},
            UnitState.FAILED,
            EndReason.NOT_STARTED,
            "no such command",
        ),
        (
            None,
            {"conditions": [_condition("Failed", "DeadlineExceeded")]},
            UnitState.FAILED,
            EndReason.TIMEOUT,
            "60 s",
        ),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "low on disk"},
            {"conditions": [_condition("Failed")]},
            UnitState.FAILED,
            EndReason.PREEMPTED,
            "low on disk",
        ),
        (
            {"phase": "Failed", "reason": "NodeLost"},
            {"conditions": [_condition("Failed")]},
            UnitState.FAILED,
            EndReason.NODE_FAILED,
            "node is gone",
        ),
        (None, {"conditions": [_condition("Failed", "Odd")]}, UnitState.LOST, EndReason.LOST, "Odd"),
    ],
)
def test_states_are_those_of_every_executor(
    executor: Kubernetes,
    api: KubernetesApi,
    pod: dict[str, Any] | None,
    job: dict[str, Any],
    state: UnitState,
    reason: EndReason | None,
    told: str,
) -> None:
    handle = executor.submit(_spec(timeout=60))
    api.set_status("jobs", _name(handle.unit), **STARTED, **job)
    if pod is not None:
        api.add_pod(handle.unit, pod, node="" if pod["phase"] == "Pending" else "node-1")
    status = executor.status(handle)
    assert (status.state, status.reason) == (state, reason), status
    assert told in status.message


def test_stop_ends_the_pods_and_keeps_the_record(executor: Kubernetes, api: KubernetesApi) -> None:
    for serves in (False, True):
        handle = executor.submit(_spec(serves=serves))
        pod = api.add_pod(handle.unit, {"phase": "Running"})
        with pytest.raises(Conflict, match="still runs"):
            executor.forget(handle)
        executor.stop(handle)
        kind = "deployments" if serves else "jobs"
        body = api.objects[kind, _name(handle.unit)]["spec"]
        assert body["replicas"] == 0 if serves else body["suspend"] is True
        assert executor.status(handle).state is UnitState.STOPPING
        del api.objects["pods", pod]  # as the controller and the node do it
        status = executor.status(handle)
        assert (status.state, status.reason) == (UnitState.STOPPED, EndReason.STOPPED)
        executor.forget(handle)
        assert executor.find(handle.unit) is None
        with pytest.raises(UnknownName, match=handle.unit):
            executor.status(handle)


def test_stop_with_another_grace_tells_the_pods(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(_spec())
    api.add_pod(handle.unit, {"phase": "Running"})
    executor.stop(handle, grace=0)
    assert "gracePeriodSeconds" in api.deleted_with[0]


def test_logs_come_from_the_newest_pod(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(_spec())
    assert list(executor.logs(handle)) == []
    api.logs[api.add_pod(handle.unit, {"phase": "Running"})] = b"one\ntwo\n"
    assert b"".join(executor.logs(handle)) == b"one\ntwo\n"
    assert b"".join(executor.logs(handle, start=4)) == b"two\n"


def test_ports_are_named_by_a_line_that_kubectl_takes(
    executor: Kubernetes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handle = executor.submit(_spec(serves=True, ports=(Port(number=6006),)))
    line = executor.port_forward_line(handle, here=8080)
    assert line == f"kubectl port-forward --namespace lab service/{_name(handle.unit)} 8080:6006"
    assert shlex.split(line)[-1] == "8080:6006"
    assert executor.endpoint(handle) is None
    with pytest.raises(InvalidValue, match="no port 'grpc'"):
        executor.endpoint(handle, "grpc")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    inside = executor.endpoint(handle)
    assert inside is not None
    assert inside.address == f"{_name(handle.unit)}.lab.svc:6006"


@pytest.mark.parametrize(
    ("status", "message", "error", "told", "hint"),
    [
        (403, 'jobs.batch is forbidden: User "me" cannot create', UnitRefused, "does not allow", "kubectl auth can-i"),
        (403, "pods is forbidden: exceeded quota: gpus", UnitRefused, "quota of the namespace lab", "describe quota"),
        (401, "Unauthorized", ExecutorUnavailable, "who you are", "log in again"),
        (500, "etcd is down", ExecutorUnavailable, "etcd is down", ""),
        (422, "spec.template is invalid", UnitRefused, "spec.template is invalid", ""),
    ],
)
def test_refusals_are_told_with_the_next_step(
    executor: Kubernetes, api: KubernetesApi, status: int, message: str, error: type[Exception], told: str, hint: str
) -> None:
    api.refuse = status, message
    with pytest.raises(error, match=told) as refused:
        executor.submit(_spec())
    assert hint in refused.value.hint  # type: ignore[attr-defined]


def test_a_namespace_that_is_not_there_is_told(executor: Kubernetes) -> None:
    with pytest.raises(UnitRefused, match="no namespace 'absent'") as refused:
        dataclasses.replace(executor, namespace="absent").submit(_spec())
    assert "kubectl get namespaces" in refused.value.hint


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExecutorUnavailable, match="no Kubernetes cluster is configured"):
        Kubernetes(kubeconfig=str(tmp_path / "absent")).submit(_spec())
    with kubernetes_api(tmp_path) as (_, config):
        gone = Kubernetes(kubeconfig=str(config))
    with pytest.raises(ExecutorUnavailable, match="does not answer"):
        gone.submit(_spec())


def test_unknown_options_are_errors_that_list_the_known_ones() -> None:
    with pytest.raises(InvalidType) as refused:
        make_executor("kubernetes", {"namspace": "x"})
    assert "namespace" in refused.value.hint
