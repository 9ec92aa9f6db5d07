# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: objects against the official schemas, behaviour by the real client against a server at the HTTP level.

Real are the client, its HTTP and its port-forwarding, and the processes in pods; the API server and the controllers are
the tests' own (`support/kubernetes_api.py`, `support/kubernetes_node.py`). Where KUBERNETES_UNDER_TEST names a cluster,
what runs pods is tested there.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes_validate
import pytest

from aboard.errors import Conflict, ExecutorUnavailable, InvalidType, InvalidValue, UnitRefused, UnknownName
from aboard.executors import Kubernetes, make_executor
from aboard.executors.kubernetes.cluster import Namespace
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Mount, Port, Resources, UnitHandle, UnitSpec
from support.kubernetes_api import KubernetesApi
from support.kubernetes_under_test import KubernetesUnderTest
from support.kubernetes_units import object_name, unit_spec
from support.object_servers import free_ports
from support.processes import until

SCHEMAS = "1.31"
PATIENCE = 60.0


@pytest.fixture
def executor(kubernetes_server: tuple[KubernetesApi, Path]) -> Kubernetes:
    return Kubernetes(kubeconfig=str(kubernetes_server[1]))


@pytest.mark.parametrize("serves", [False, True])
def test_objects_satisfy_the_official_schemas(executor: Kubernetes, serves: bool) -> None:
    asking = dataclasses.replace(
        executor,
        service_account="trainer",
        image_pull_secrets=("registry",),
        node_selector={"pool": "gpu"},
        labels={"team": "vision"},
        claims={"data": "/data"},
        secrets={"keys": "/keys"},
        environment_secrets=("tokens",),
        ttl_seconds=60,
    )
    spec = unit_spec(
        serves=serves,
        ports=(Port(number=6006), Port(name="debug")),
        environment={"A": "b", "ABOARD_TOKEN": "very secret"},
        resources=Resources(cpus=0.5, memory=1 << 30, gpus=2, gpu_type="l4"),
        labels={"project": "a"},
    )
    made = asking.manifests(spec)
    assert [each["kind"] for each in made] == ["Secret", "Service", "Deployment" if serves else "Job"]
    for manifest in made:
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
        assert manifest["metadata"]["namespace"] == "lab"
        assert {"team": "vision", "project": "a"}.items() <= manifest["metadata"]["labels"].items()
    assert made[0]["stringData"] == {"ABOARD_TOKEN": "very secret"}
    assert "very secret" not in json.dumps(made[1:])
    pod = made[2]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"pool": "gpu", "nvidia.com/gpu.product": "l4"}
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    (container,) = pod["containers"]
    assert pod["serviceAccountName"] == "trainer"
    assert container["resources"]["limits"] == {"cpu": "500m", "memory": str(1 << 30), "nvidia.com/gpu": "2"}
    assert {"name": "ABOARD_PORT_HTTP", "value": "6006"} in container["env"]
    assert {"name": "keys", "mountPath": "/keys"}.items() <= {**container["volumeMounts"][1], "name": "keys"}.items()
    assert ("readinessProbe" in container) is serves
    assert made[1]["spec"]["ports"][0] == {"name": "http", "port": 6006, "targetPort": 6006}


def test_a_job_is_tried_once_and_has_its_deadline(executor: Kubernetes) -> None:
    (job,) = executor.manifests(unit_spec(timeout=90.5, grace=3.2, serves=True, service_account="own"))
    assert (job["kind"], job["spec"]["backoffLimit"], job["spec"]["activeDeadlineSeconds"]) == ("Job", 0, 91)
    pod = job["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["terminationGracePeriodSeconds"]) == ("Never", 4)
    assert pod["serviceAccountName"] == "own"
    assert "nvidia.com/gpu" not in str(job)


@pytest.mark.parametrize(
    ("labels", "timeout", "is_told"),
    [({}, 60.0, True), ({}, None, False), ({"kueue.x-k8s.io/queue-name": "gpus"}, 60.0, False)],
)
def test_a_job_knows_when_its_time_began_where_that_is_its_submission(
    kubernetes_server: tuple[KubernetesApi, Path], labels: dict[str, str], timeout: float | None, is_told: bool
) -> None:
    api, config = kubernetes_server
    executor = Kubernetes(kubeconfig=str(config), labels=labels)
    spec = unit_spec(timeout=timeout)
    before = time.time()
    handle = executor.submit(spec)
    assert executor.submit(spec) == handle, "a moment later it is the same unit"
    (container,) = api.objects["jobs", object_name(spec.id)]["spec"]["template"]["spec"]["containers"]
    told = [float(each["value"]) for each in container["env"] if each["name"] == "ABOARD_UNIT_BEGUN"]
    assert [before - 1 <= moment <= time.time() for moment in told] == [True] * is_told
    assert "ABOARD_UNIT_BEGUN" not in str(executor.manifests(spec)), "what is shown may be submitted much later"


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
        executor.manifests(unit_spec(**parts))
    assert refused.value.hint


def test_a_unit_with_mounts_sees_these_parts_of_claims_alone(executor: Kubernetes) -> None:
    seeing = dataclasses.replace(executor, claims={"data": "/data", "own": "/data/own", "other": "/other"})
    mounts = (
        Mount(source="/data/logs/a", target="/logs", read_only=True),
        Mount(source="/data/own", target="/data/own"),
    )
    (job,) = seeing.manifests(unit_spec(mounts=mounts))
    kubernetes_validate.validate(job, SCHEMAS, strict=True)
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "claim-data", "mountPath": "/logs", "subPath": "logs/a", "readOnly": True},
        {"name": "claim-own", "mountPath": "/data/own"},
    ]
    assert [volume["name"] for volume in pod["volumes"]] == ["claim-data", "claim-own"]
    with pytest.raises(InvalidValue, match=r"'/data/\.\./etc'"):
        seeing.manifests(unit_spec(mounts=(Mount(source="/data/../etc", target="/b"),)))


def test_paths_that_pods_cannot_see_are_refused(executor: Kubernetes) -> None:
    seeing = dataclasses.replace(executor, claims={"data": "/data"})
    for path in ("gs://bucket/logs", "s3://bucket", "/data", "/data/logs"):
        seeing.check_path(path)
    for path in ("/home/me/logs", "/gcs/bucket/logs", "logs", "/database"):
        with pytest.raises(InvalidValue, match="cannot see") as refused:
            seeing.check_path(path)
        assert "gs://" in refused.value.hint
        assert "/data (claim data)" in refused.value.hint
    with pytest.raises(InvalidValue) as refused:
        dataclasses.replace(executor, claims={}).check_path("/shared")
    assert refused.value.hint.startswith("name the PersistentVolumeClaim that has it: kubernetes:claims=NAME:/shared")


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
            "ErrImagePull: m (look for a typing error in the image, or name image_pull_secrets",
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
            "node-1 stopped responding",
        ),
        (None, {"conditions": [_condition("Failed", "Odd")]}, UnitState.LOST, EndReason.LOST, "Odd"),
        (
            None,
            {"conditions": [_condition("Failed", "PodFailurePolicy")]},
            UnitState.FAILED,
            EndReason.PREEMPTED,
            "evicted",
        ),
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
    handle = executor.submit(unit_spec(timeout=60))
    api.set_status("jobs", object_name(handle.unit), **STARTED, **job)
    if pod is not None:
        api.add_pod(handle.unit, pod, node="" if pod["phase"] == "Pending" else "node-1")
    status = executor.status(handle)
    assert (status.state, status.reason) == (state, reason), status
    assert told in status.message


def test_stop_ends_the_pods_and_keeps_the_record(executor: Kubernetes, api: KubernetesApi) -> None:
    for serves in (False, True):
        handle = executor.submit(unit_spec(serves=serves))
        pod = api.add_pod(handle.unit, {"phase": "Running"})
        with pytest.raises(Conflict, match="still runs"):
            executor.forget(handle)
        executor.stop(handle)
        kind = "deployments" if serves else "jobs"
        body = api.objects[kind, object_name(handle.unit)]["spec"]
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
    handle = executor.submit(unit_spec())
    api.add_pod(handle.unit, {"phase": "Running"})
    executor.stop(handle, grace=0)
    # None at all would make the server forget a pod that its node still runs.
    assert "'gracePeriodSeconds': ['1']" in api.deleted_with[0]


def test_logs_come_from_the_newest_pod(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(unit_spec())
    assert list(executor.logs(handle)) == []
    running = {"phase": "Running", "containerStatuses": _container(running={"startedAt": "2026-11-16T06:00:01Z"})}
    api.logs[api.add_pod(handle.unit, running)] = b"one\ntwo\n"
    assert b"".join(executor.logs(handle)) == b"one\ntwo\n"
    assert b"".join(executor.logs(handle, start=4)) == b"two\n"


def test_output_that_does_not_come_is_looked_for_less_and_less(
    executor: Kubernetes, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing starts for days where an image is missing, and an API server has others to serve."""
    handle = executor.submit(unit_spec())
    waiting = {"phase": "Pending", "containerStatuses": _container(waiting={"reason": "ImagePullBackOff"})}
    api.add_pod(handle.unit, waiting)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 10:
            raise InterruptedError

    monkeypatch.setattr("aboard.executors.kubernetes.executor.time", SimpleNamespace(sleep=pause))
    with pytest.raises(InterruptedError):
        list(executor.logs(handle, follow=True))
    assert (pauses == sorted(pauses), pauses[-1]) == (True, 2.0)


def test_a_pod_that_goes_while_it_is_asked_for_its_output_has_none(
    executor: Kubernetes, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Namespace.pod_log

    def ask_too_late(opened: Namespace, pod: str, *, follow: bool) -> Any:
        api.drop_pod(pod)
        return ask(opened, pod, follow=follow)

    handle = executor.submit(unit_spec())
    running = {"phase": "Running", "containerStatuses": _container(running={"startedAt": "2026-11-16T06:00:01Z"})}
    api.add_pod(handle.unit, running)
    monkeypatch.setattr(Namespace, "pod_log", ask_too_late)
    assert list(executor.logs(handle)) == []


def test_ports_are_named_by_a_line_that_kubectl_takes(executor: Kubernetes) -> None:
    handle = executor.submit(unit_spec(serves=True, ports=(Port(number=6006),)))
    line = executor.port_forward_line(handle, here=8080)
    words = ["kubectl", "port-forward", "--kubeconfig", executor.kubeconfig, "--context", "test"]
    assert shlex.split(line) == [*words, "--namespace", "lab", f"service/{object_name(handle.unit)}", "8080:6006"]
    assert executor.endpoint(handle) is None  # nothing answers yet
    with pytest.raises(InvalidValue, match="no port 'grpc'"):
        executor.endpoint(handle, "grpc")


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
        executor.submit(unit_spec())
    assert hint in refused.value.hint  # type: ignore[attr-defined]


def test_a_namespace_that_is_not_there_is_told(executor: Kubernetes) -> None:
    with pytest.raises(UnitRefused, match="no namespace 'absent'") as refused:
        dataclasses.replace(executor, namespace="absent").submit(unit_spec())
    assert "kubectl get namespaces" in refused.value.hint


def test_unknown_options_are_errors_that_list_the_known_ones() -> None:
    with pytest.raises(InvalidType) as refused:
        make_executor("kubernetes", {"namspace": "x"})
    assert "namespace" in refused.value.hint


def test_the_quota_that_keeps_pods_away_is_told(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(unit_spec())
    api.warn("Job", object_name(handle.unit), 'Error creating: pods "x" is forbidden: exceeded quota: gpus')
    status = executor.status(handle)
    assert (status.state, "exceeded quota: gpus" in status.message) == (UnitState.PENDING, True), status
    api.warn("Job", object_name(handle.unit), "Error creating: something else")
    assert "something else" in executor.status(handle).message, "the newest is told"
    serving = executor.submit(unit_spec(serves=True))
    refused = {"type": "ReplicaFailure", "status": "True", "message": 'serviceaccount "trainer" not found'}
    api.set_status("deployments", object_name(serving.unit), conditions=[refused])
    assert 'serviceaccount "trainer" not found' in executor.status(serving).message


def test_what_keeps_a_pod_from_starting_is_told(executor: Kubernetes, api: KubernetesApi) -> None:
    handle = executor.submit(unit_spec())
    waiting = {"phase": "Pending", "containerStatuses": _container(waiting={"reason": "ContainerCreating"})}
    pod = api.add_pod(handle.unit, waiting)
    assert executor.status(handle).message == ""
    api.warn("Pod", pod, 'MountVolume.SetUp failed: secret "keys" not found')
    status = executor.status(handle)
    assert (status.state, 'secret "keys" not found' in status.message) == (UnitState.STARTING, True), status


@pytest.fixture
def there(cluster: KubernetesUnderTest) -> Kubernetes:
    return Kubernetes(kubeconfig=str(cluster.config))


def _serving(image: str, port: int) -> UnitSpec:
    command = ("python3", "-m", "http.server", "$(ABOARD_PORT_HTTP)")
    return unit_spec(image=image, serves=True, command=command, ports=(Port(number=port),), grace=1.0)


def test_what_serves_is_reached_rests_when_nobody_looks_and_wakes(
    cluster: KubernetesUnderTest, there: Kubernetes
) -> None:
    resting = dataclasses.replace(there, idle_seconds=0.3)
    handle = resting.submit(_serving(cluster.image, free_ports(1)[0]))
    until(lambda: resting.endpoint(handle) is not None, PATIENCE)
    endpoint = resting.endpoint(handle)
    assert endpoint is not None

    def status() -> int:
        with urllib.request.urlopen(f"http://{endpoint.address}/", timeout=PATIENCE) as answer:
            return answer.status

    assert status() == 200
    until(lambda: "nobody looked at it" in resting.status(handle).message, PATIENCE)
    assert resting.status(handle).state is UnitState.PENDING
    assert not cluster.objects("pods")
    assert resting.endpoint(handle) == endpoint
    assert status() == 200
    resting.stop(handle)
    assert resting.wait(handle, PATIENCE).reason is EndReason.STOPPED
    resting.forget(handle)


def _sweep(executor: Kubernetes, image: str, scripts: list[str], **options: Any) -> list[UnitHandle]:
    specs = [
        unit_spec(image=image, command=("sh", "-c", script), environment={"N": str(n)})
        for n, script in enumerate(scripts)
    ]
    for manifest in executor.preview(specs):
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
    return executor.submit_array(specs, **options)


def test_many_units_are_one_job_with_an_index_for_each(cluster: KubernetesUnderTest, there: Kubernetes) -> None:
    scripts = ["echo $N '$N'", "echo $N; exit 3", "sleep 60", "echo never"]
    handles = _sweep(there, cluster.image, scripts, at_once=1)
    assert [kind for kind in cluster.kinds() if kind != "pods"] == ["jobs", "secrets"]
    first, second, third, fourth = handles
    assert there.wait(first, PATIENCE).has_succeeded
    assert b"".join(there.logs(first)) == b"0 $N\n"
    status = there.wait(second, PATIENCE)
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 3), status
    until(lambda: there.status(third).state is UnitState.RUNNING, PATIENCE)
    # One that waits never begins; one that runs ends.
    assert there.status(fourth).state is UnitState.PENDING
    there.stop(fourth)
    there.stop(third, grace=0)
    assert [there.wait(one, PATIENCE).reason for one in (third, fourth)] == [EndReason.STOPPED] * 2
    # Whoever died before writing the handles down finds them by their ids.
    assert [there.find(one.unit) for one in handles] == handles
    there.forget(first)
    with pytest.raises(UnknownName, match=first.unit):
        there.status(first)
    assert there.status(second).exit_code == 3
    for one in handles:
        there.forget(one)
    until(lambda: not cluster.kinds(), PATIENCE)


def test_units_that_differ_in_more_than_command_are_no_sweep(executor: Kubernetes) -> None:
    with pytest.raises(InvalidValue, match="does not fit into a Job") as refused:
        executor.submit_array([unit_spec(), unit_spec(image="other")])
    assert "by themselves" in refused.value.hint
    with pytest.raises(InvalidValue, match="a sweep of 2 runs does not fit") as refused:
        executor.submit_array(
            [unit_spec(environment={"A": "x" * 500_000}), unit_spec(environment={"A": "x" * 500_000})]
        )
    assert "at most 1 runs" in refused.value.hint
