# SPDX-License-Identifier: Apache-2.0
"""What only a real Kubernetes does: quotas, rights, images, collectors, evictions, accounts of pods.

It runs where KUBERNETES_UNDER_TEST names a cluster (`support/kubernetes_under_test.py`), with `scripts/test-cluster`.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import textwrap
import threading
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from aboard.errors import UnitRefused, UnknownName
from aboard.executors import Kubernetes
from aboard.model.states import UnitState
from aboard.model.units import EndReason, Port, Resources, UnitHandle, UnitSpec
from support.commands import aboard as command
from support.job_home import job_home
from support.kubernetes_existing import PERSON, ExistingCluster, existing_cluster
from support.kubernetes_under_test import EXISTING
from support.processes import until

PATIENCE = 90.0
FOREVER = "echo ready; trap 'exit 0' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[ExistingCluster]:
    job_home(tmp_path, monkeypatch)
    with existing_cluster(tmp_path, Path(EXISTING)) as cluster:
        yield cluster


@pytest.fixture
def executor(cluster: ExistingCluster) -> Kubernetes:
    return Kubernetes(kubeconfig=str(cluster.config))


def _unit(cluster: ExistingCluster, script: str = FOREVER, **parts: Any) -> UnitSpec:
    return UnitSpec(**{"name": "unit", "image": cluster.image, "command": ("sh", "-c", script), "grace": 2.0, **parts})


def _serving(cluster: ExistingCluster, **parts: Any) -> UnitSpec:
    words = ("python3", "-m", "http.server", "$(ABOARD_PORT_HTTP)")
    return _unit(cluster, **{"command": words, "serves": True, "ports": (Port(),), **parts})


def _says(executor: Kubernetes, handle: UnitHandle, text: str) -> None:
    """Wait until the status of a unit that does not start says why."""
    until(lambda: text in executor.status(handle).message, PATIENCE)
    assert not executor.status(handle).state.is_ended


def _ends(executor: Kubernetes, handle: UnitHandle) -> None:
    executor.stop(handle)
    assert executor.wait(handle, PATIENCE).reason is EndReason.STOPPED
    executor.forget(handle)


def _runs(executor: Kubernetes, handle: UnitHandle) -> None:
    until(lambda: b"ready" in b"".join(executor.logs(handle)), PATIENCE)


def _quota(cluster: ExistingCluster, **hard: str) -> None:
    body = {"metadata": {"name": "little"}, "spec": {"hard": hard}}
    core: Any = client.CoreV1Api(cluster.admin)
    core.create_namespaced_resource_quota(cluster.namespace, body)
    until(lambda: core.read_namespaced_resource_quota("little", cluster.namespace).status.hard, PATIENCE)


def test_a_quota_of_pods_is_told_by_the_status(cluster: ExistingCluster, executor: Kubernetes) -> None:
    _quota(cluster, pods="0")
    for spec in (_unit(cluster), _serving(cluster)):
        handle = executor.submit(spec)
        _says(executor, handle, "exceeded quota: little")
        _ends(executor, handle)
    sweep = executor.submit_array([_unit(cluster), _unit(cluster)])
    _says(executor, sweep[1], "exceeded quota: little")


def test_a_quota_of_jobs_refuses(cluster: ExistingCluster, executor: Kubernetes) -> None:
    _quota(cluster, **{"count/jobs.batch": "0"})
    with pytest.raises(UnitRefused, match=f"quota of the namespace {cluster.namespace}") as refused:
        executor.submit(_unit(cluster, environment={"API_KEY": "x"}, ports=(Port(),)))
    assert "describe quota" in refused.value.hint
    assert not cluster.kinds(), "nothing is left of a unit that was refused"


def test_who_may_not_is_told(cluster: ExistingCluster, executor: Kubernetes) -> None:
    handle = executor.submit(_unit(cluster))
    cluster.forbid()
    with pytest.raises(UnitRefused, match=f"{PERSON}. cannot get resource") as refused:
        executor.status(handle)
    assert "kubectl auth can-i" in refused.value.hint
    with pytest.raises(UnitRefused, match="does not allow"):
        executor.submit(_unit(cluster))
    cluster.allow()
    with pytest.raises(UnitRefused, match="does not allow"):
        dataclasses.replace(executor, namespace="default").submit(_unit(cluster))
    _ends(executor, handle)


def test_a_namespace_that_is_not_there_is_told(cluster: ExistingCluster) -> None:
    elsewhere = Kubernetes(kubeconfig=EXISTING, namespace="no-such-namespace")
    with pytest.raises(UnitRefused, match="no namespace 'no-such-namespace'") as refused:
        elsewhere.submit(_unit(cluster))
    assert "kubectl get namespaces" in refused.value.hint
    assert elsewhere.find(_unit(cluster).id) is None


@pytest.mark.parametrize(
    ("image", "told"), [("registry.invalid/no-such-image:1", "ErrImagePull"), ("No Image", "InvalidImageName")]
)
def test_an_image_that_is_not_there_is_told(
    cluster: ExistingCluster, executor: Kubernetes, image: str, told: str
) -> None:
    handle = executor.submit(_unit(cluster, image=image))
    _says(executor, handle, "look for a typing error in the image")
    reasons = (told, "ImagePullBackOff")
    assert any(each in executor.status(handle).message for each in reasons), executor.status(handle)
    _ends(executor, handle)


def test_what_a_pod_waits_for_in_vain_is_told(cluster: ExistingCluster, executor: Kubernetes) -> None:
    lacking = [
        (dataclasses.replace(executor, environment_secrets=("absent",)), 'secret "absent" not found'),
        (dataclasses.replace(executor, secrets={"absent": "/keys"}), 'secret "absent" not found'),
        (dataclasses.replace(executor, claims={"absent": "/data"}), 'persistentvolumeclaim "absent" not found'),
        (dataclasses.replace(executor, service_account="absent"), 'serviceaccount "absent" not found'),
        (dataclasses.replace(executor, node_selector={"pool": "absent"}), "0/1 nodes are available"),
    ]
    handles = [(one, one.submit(_unit(cluster)), text) for one, text in lacking]
    for one, handle, text in handles:
        _says(one, handle, text)
    for one, handle, _ in handles:
        _ends(one, handle)


def test_what_belongs_to_a_job_goes_with_it(cluster: ExistingCluster, executor: Kubernetes) -> None:
    spec = _unit(cluster, "exit 0", environment={"API_KEY": "x"}, ports=(Port(),))
    handle = executor.submit(spec)
    assert executor.wait(handle, PATIENCE).has_succeeded
    assert cluster.kinds() == ["jobs", "pods", "secrets", "services"]
    client.BatchV1Api(cluster.admin).delete_namespaced_job(
        f"aboard-{spec.id.lower()}", cluster.namespace, propagation_policy="Background"
    )
    until(lambda: not cluster.kinds(), PATIENCE)


def test_an_ended_job_is_removed_when_its_time_is_over(cluster: ExistingCluster, executor: Kubernetes) -> None:
    short = dataclasses.replace(executor, ttl_seconds=3)
    handle = short.submit(_unit(cluster, "exit 3", environment={"API_KEY": "x"}))
    assert short.wait(handle, PATIENCE).exit_code == 3
    until(lambda: not cluster.kinds(), PATIENCE)
    assert short.find(handle.unit) is None
    with pytest.raises(UnknownName, match=handle.unit):
        short.status(handle)
    short.forget(handle)


def test_more_memory_than_it_may_is_told(cluster: ExistingCluster, executor: Kubernetes) -> None:
    words = ("python3", "-c", "kept = [bytearray(b'x' * (1 << 20)) for _ in range(500)]")
    handle = executor.submit(_unit(cluster, command=words, resources=Resources(memory=64 << 20)))
    assert executor.wait(handle, PATIENCE).reason is EndReason.OUT_OF_MEMORY


def test_a_time_of_its_own_for_every_index(cluster: ExistingCluster, executor: Kubernetes) -> None:
    handles = executor.submit_array([_unit(cluster, script, timeout=8.0) for script in (FOREVER, "exit 0", "exit 4")])
    first, second, third = (executor.wait(handle, PATIENCE) for handle in handles)
    assert (first.state, first.reason) == (UnitState.FAILED, EndReason.TIMEOUT), first
    assert "8 s" in first.message
    assert second.has_succeeded, second
    assert third.exit_code == 4, third


def test_a_shorter_grace_than_its_own(cluster: ExistingCluster, executor: Kubernetes) -> None:
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    for serves in (False, True):
        handle = executor.submit(_unit(cluster, stubborn, grace=300.0, serves=serves))
        _runs(executor, handle)
        executor.stop(handle, grace=1)
        assert executor.wait(handle, PATIENCE).reason is EndReason.STOPPED


def test_a_unit_that_was_stopped_at_once_does_not_run_on(cluster: ExistingCluster, executor: Kubernetes) -> None:
    """Only the node knows when a pod has ended; who is told before would start a second writer beside the first."""
    cluster.add_claim("shared", Path(cluster.config).parent / "shared")
    seeing = dataclasses.replace(executor, claims={"shared": "/shared"})
    stubborn = "trap '' TERM; echo ready; while :; do touch /shared/alive; done"
    handle = seeing.submit(_unit(cluster, stubborn, grace=300.0))
    _runs(seeing, handle)
    seeing.stop(handle, grace=0)
    assert seeing.wait(handle, PATIENCE).reason is EndReason.STOPPED
    ended = time.time()
    time.sleep(3)
    assert (Path(cluster.config).parent / "shared/alive").stat().st_mtime <= ended


def test_who_follows_the_output_of_what_is_stopped_comes_to_an_end(
    cluster: ExistingCluster, executor: Kubernetes
) -> None:
    handle = executor.submit(_unit(cluster))
    _runs(executor, handle)
    seen: list[bytes] = []
    follower = threading.Thread(target=lambda: seen.extend(executor.logs(handle, follow=True)))
    follower.start()
    executor.stop(handle)
    follower.join(PATIENCE)
    assert not follower.is_alive()
    assert b"".join(seen) == b"ready\n"
    assert executor.status(handle).reason is EndReason.STOPPED


def test_a_node_that_is_emptied_preempts(cluster: ExistingCluster, executor: Kubernetes) -> None:
    script = FOREVER.replace("exit 0", "exit 143")
    handle = executor.submit(_unit(cluster, script))
    serving = executor.submit(_serving(cluster))
    members = executor.submit_array([_unit(cluster, script), _unit(cluster, script)])
    for one in (handle, *members):
        _runs(executor, one)
    until(lambda: executor.endpoint(serving) is not None, PATIENCE)
    for pod in cluster.objects("pods"):
        cluster.evict_pod(pod["metadata"]["name"])
    for one in (handle, *members):
        status = executor.wait(one, PATIENCE)
        assert (status.state, status.reason) == (UnitState.FAILED, EndReason.PREEMPTED), status
    until(lambda: executor.endpoint(serving) is not None, PATIENCE)


def test_what_serves_for_a_time_rests_and_wakes(cluster: ExistingCluster, executor: Kubernetes) -> None:
    resting = dataclasses.replace(executor, idle_seconds=1.0)
    handle = resting.submit(_serving(cluster, timeout=600.0))
    until(lambda: resting.endpoint(handle) is not None, PATIENCE)
    endpoint = resting.endpoint(handle)
    assert endpoint is not None
    for _ in range(2):
        with urllib.request.urlopen(f"http://{endpoint.address}/", timeout=PATIENCE) as answer:
            assert answer.status == 200
        until(lambda: "nobody looked at it" in resting.status(handle).message, PATIENCE)
        assert not cluster.objects("pods")
    _ends(resting, handle)


def test_a_dry_run_is_what_the_cluster_accepts(cluster: ExistingCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_STORE", "gs://bucket/runs")
    place = f"kubernetes:kubeconfig={cluster.config},namespace={cluster.namespace}"
    options = ["--executor", f"{place},labels=team:a,claims=data:/data,ttl_seconds=60", "--image", cluster.image]
    printed = [yaml.safe_dump_all(Kubernetes(kubeconfig=str(cluster.config)).manifests(_serving(cluster)))]
    for further in ([], ["--grid", "lr=1,2", "--at-once", "1"]):
        told = command("submit", *options, "--env", "HF_TOKEN=secret", *further, "--dry-run", "--", "python", "a.py")
        assert told.code == 0, told.err
        printed.append(told.out)
    for text in printed:
        # `apply` would read each object first, and the Role lets nobody read Secrets.
        words = ["kubectl", "--kubeconfig", str(cluster.config), "create", "--dry-run=server", "--filename", "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("created (server dry run)") == 2, done.stdout
    assert not cluster.kinds()


INSIDE = """
    import json, time, urllib.request
    from aboard.executors import Kubernetes
    from aboard.model.units import UnitSpec
    from aboard.model.units import Port
    executor = Kubernetes()
    image, command = "IMAGE", ("python3", "-m", "http.server", "$(ABOARD_PORT_HTTP)")
    handle = executor.submit(UnitSpec(name="inside", image=image, command=command, serves=True, ports=(Port(),)))
    while (endpoint := executor.endpoint(handle)) is None:
        time.sleep(0.5)
    status = None
    while status is None:
        try:
            status = urllib.request.urlopen(f"http://{endpoint.address}/", timeout=30).status
        except OSError:  # nodes hear of a Service a moment after the pod is ready
            time.sleep(0.5)
    forwarded = executor.forwarded(handle)
    stream, close = forwarded.connect(endpoint.port)
    stream.socket(endpoint.port).sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    stream.socket(endpoint.port).setblocking(True)
    line = stream.socket(endpoint.port).recv(100).split(b"\\r\\n")[0].decode()
    close()
    executor.stop(handle)
    reason = executor.wait(handle, 60).reason
    executor.forget(handle)
    print(json.dumps([handle.place["namespace"], endpoint.host, status, line, reason]))
"""


def test_a_pod_submits_as_its_own_account(cluster: ExistingCluster, executor: Kubernetes) -> None:
    script = textwrap.dedent(INSIDE).replace("IMAGE", cluster.image)
    spec = _unit(cluster, command=("python3", "-c", script), service_account=PERSON)
    handle = executor.submit(spec)
    status = executor.wait(handle, PATIENCE)
    said = b"".join(executor.logs(handle)).decode()
    assert status.has_succeeded, said
    namespace, host, code, line, reason = json.loads(said.splitlines()[-1])
    assert (namespace, code, reason) == (cluster.namespace, 200, "stopped")
    assert host.endswith(f".{cluster.namespace}.svc")
    assert line.endswith("200 OK")
