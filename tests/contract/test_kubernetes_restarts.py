# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: which ends of a pod are followed by another one, and what is told when none is.

What is real is said in `test_executors_kubernetes.py`; the rules and words of the Job controller are those of
`support/kubernetes_node.py`, or of the cluster that KUBERNETES_UNDER_TEST names.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from aboard.executors import Kubernetes
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec
from support.kubernetes_api import kubernetes_api
from support.kubernetes_under_test import KubernetesUnderTest
from support.processes import until

SCHEMAS = "1.31"
PATIENCE = 60.0
WAITS = "echo ready; trap 'exit 143' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def executor(cluster: KubernetesUnderTest) -> Kubernetes:
    return Kubernetes(kubeconfig=str(cluster.config))


def _spec(cluster: KubernetesUnderTest, script: str, **parts: Any) -> UnitSpec:
    return UnitSpec(name="train", image=cluster.image, command=("sh", "-c", script), grace=5.0, **parts)


def _sweep(executor: Kubernetes, specs: list[UnitSpec]) -> list[UnitHandle]:
    for manifest in executor.preview(specs):
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
    return executor.submit_array(specs)


def _evict(cluster: KubernetesUnderTest, executor: Kubernetes, handle: UnitHandle, seen: set[str]) -> None:
    """Take the pod that runs now away, which is none of those that were there before."""

    def living() -> list[str]:
        names = [pod["metadata"]["name"] for pod in cluster.objects("pods")]
        return [name for name in names if name not in seen]

    until(lambda: bool(living()) and executor.status(handle).state is UnitState.RUNNING, PATIENCE)
    until(lambda: b"ready" in b"".join(executor.logs(handle)), PATIENCE)
    (pod,) = living()
    seen.add(pod)
    cluster.evict_pod(pod)


def test_pods_are_replaced_after_kills_and_evictions_alone(cluster: KubernetesUnderTest, executor: Kubernetes) -> None:
    (job,) = executor.manifests(_spec(cluster, "true", restarts=2, timeout=90.0))
    _, sweep = executor.preview([_spec(cluster, "true", restarts=2, timeout=90.0)] * 2)
    for manifest in (job, sweep):
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
    assert (job["spec"]["backoffLimit"], sweep["spec"]["backoffLimitPerIndex"]) == (2, 2)
    rules = [each["spec"]["podFailurePolicy"]["rules"] for each in (job, sweep)]
    assert [[rule["action"] for rule in each] for each in rules] == [["Count", "FailJob"], ["Count", "FailIndex"]]
    codes = [each[1]["onExitCodes"]["values"] for each in rules]
    # What its time has ended is not begun again: in a sweep that is the pod's own, and comes with SIGTERM.
    assert [(137 in each, 143 in each, 1 in each) for each in codes] == [(True, True, False), (True, False, False)]


def test_a_command_that_failed_by_itself_is_tried_once(cluster: KubernetesUnderTest, executor: Kubernetes) -> None:
    handle = executor.submit(_spec(cluster, "echo start; exit 3", restarts=2))
    status = executor.wait(handle, PATIENCE)
    told = (status.state, status.reason, status.exit_code, status.attempt)
    assert told == (UnitState.FAILED, EndReason.EXITED, 3, 1), status
    assert b"".join(executor.logs(handle)) == b"start\n"
    (job,) = cluster.objects("jobs")
    assert "PodFailurePolicy" in str(job["status"]["conditions"])


def test_an_exit_code_is_known_though_the_pod_is_gone(tmp_path: Path) -> None:
    said = "Container unit for pod lab/x failed with exit code 3 matching FailJob rule at index 1"
    with kubernetes_api(tmp_path) as (api, config):
        executor = Kubernetes(kubeconfig=str(config))
        handle = executor.submit(UnitSpec(name="train", image="python:3", command=("false",), restarts=2))
        condition = {"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": said}
        api.set_status("jobs", f"aboard-{handle.unit.lower()}", conditions=[condition])
        status = executor.status(handle)
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.EXITED, 3), status


@pytest.mark.parametrize("restarts", [0, 1])
def test_who_is_evicted_once_too_often_was_preempted(
    cluster: KubernetesUnderTest, executor: Kubernetes, restarts: int
) -> None:
    handle = executor.submit(_spec(cluster, WAITS, restarts=restarts))
    seen: set[str] = set()
    for _ in range(1 + restarts):
        _evict(cluster, executor, handle, seen)
    status = executor.wait(handle, PATIENCE)
    assert (status.state, status.reason) == (UnitState.FAILED, EndReason.PREEMPTED), status
    assert "evicted" in status.message
    until(lambda: not cluster.objects("pods"), PATIENCE)
    assert executor.status(handle).reason is EndReason.PREEMPTED


def test_who_is_evicted_after_a_kill_was_preempted_all_the_same(
    cluster: KubernetesUnderTest, executor: Kubernetes
) -> None:
    handle = executor.submit(_spec(cluster, cluster.first_then("exit 137", WAITS), restarts=1))
    until(lambda: len(cluster.objects("pods")) == 2, PATIENCE)
    cluster.pass_back_off()
    _evict_second(cluster, executor, handle)
    status = executor.wait(handle, PATIENCE)
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.PREEMPTED, None), status
    assert "evicted" in status.message
    until(lambda: len(cluster.objects("pods")) == 1, PATIENCE)
    assert executor.status(handle).reason is EndReason.PREEMPTED


def test_a_member_that_is_evicted_after_a_kill_was_preempted_all_the_same(
    cluster: KubernetesUnderTest, executor: Kubernetes
) -> None:
    specs = [_spec(cluster, script, restarts=1) for script in (cluster.first_then("exit 137", WAITS), "exit 3")]
    first, second = executor.submit_array(specs)
    until(lambda: len(cluster.objects("pods")) == 3, PATIENCE)
    cluster.pass_back_off()
    _evict_second(cluster, executor, first)
    status = executor.wait(first, PATIENCE)
    assert (status.state, status.reason, status.exit_code) == (UnitState.FAILED, EndReason.PREEMPTED, None), status
    assert executor.wait(second, PATIENCE).exit_code == 3
    until(lambda: len(cluster.objects("pods")) == 2, PATIENCE)
    assert executor.status(first).reason is EndReason.PREEMPTED


def _evict_second(cluster: KubernetesUnderTest, executor: Kubernetes, handle: UnitHandle) -> None:
    """Take the pod away that came after the one that was killed."""
    until(lambda: b"ready" in b"".join(executor.logs(handle)), PATIENCE)
    (pod,) = [each["metadata"]["name"] for each in cluster.objects("pods") if each["status"]["phase"] == "Running"]
    cluster.evict_pod(pod)


def test_who_is_killed_after_an_eviction_was_killed(tmp_path: Path) -> None:
    """One pod is left of two, and it is the last: its Job has failed at once."""
    with kubernetes_api(tmp_path) as (api, config):
        executor = Kubernetes(kubeconfig=str(config))
        handle = executor.submit(UnitSpec(name="train", image="python:3", command=("false",), restarts=1))
        ended = {"exitCode": 137, "reason": "Error", "finishedAt": "2026-11-16T06:10:00Z"}
        container = {"name": "unit", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}
        statuses = [{**container, "state": {"terminated": ended}}]
        api.add_pod(handle.unit, {"phase": "Failed", "containerStatuses": statuses})
        for failed, reason in (("06:10:02Z", EndReason.EXITED), ("06:11:02Z", EndReason.PREEMPTED)):
            condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "limit"}
            at = {"lastTransitionTime": f"2026-11-16T{failed}"}
            api.set_status("jobs", f"aboard-{handle.unit.lower()}", conditions=[{**condition, **at}])
            assert executor.status(handle).reason is reason


def test_a_member_whose_pod_was_taken_away_was_preempted(cluster: KubernetesUnderTest, executor: Kubernetes) -> None:
    first, second = _sweep(executor, [_spec(cluster, "echo ready; exec sleep 60"), _spec(cluster, "exit 5")])
    until(lambda: b"".join(executor.logs(first)) == b"ready\n", PATIENCE)
    (pod,) = [pod["metadata"]["name"] for pod in cluster.objects("pods") if _index(pod) == "0"]
    cluster.end_pod(pod)
    assert executor.wait(first, PATIENCE).reason is EndReason.PREEMPTED
    assert executor.wait(second, PATIENCE).exit_code == 5


def _index(pod: dict[str, Any]) -> str:
    return pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]


def test_a_killed_unit_of_a_sweep_has_another_pod(cluster: KubernetesUnderTest, executor: Kubernetes) -> None:
    # The first process of a pod cannot kill itself.
    scripts = ["echo start; kill -9 $$; exit 137", "echo start; exit 3"]
    handles = _sweep(executor, [_spec(cluster, script, restarts=1) for script in scripts])
    ends = [executor.wait(one, PATIENCE) for one in handles]
    assert [(end.exit_code, end.attempt) for end in ends] == [(137, 2), (3, 1)], ends
    assert [b"".join(executor.logs(one)) for one in handles] == [b"start\n" * 2, b"start\n"]
    for one in handles:
        executor.forget(one)


def test_what_its_time_has_ended_is_not_begun_again_in_a_sweep(
    cluster: KubernetesUnderTest, executor: Kubernetes
) -> None:
    stubborn = "echo start; trap '' TERM; while :; do sleep 0.1; done"
    options: dict[str, Any] = {"restarts": 1, "timeout": 3.0}
    specs = [_spec(cluster, stubborn, **options), _spec(cluster, "echo start; kill -9 $$", **options)]
    ignores, killed = _sweep(executor, [dataclasses.replace(spec, grace=1.0) for spec in specs])
    status = executor.wait(ignores, PATIENCE)
    assert (status.state, status.reason, status.attempt) == (UnitState.FAILED, EndReason.TIMEOUT, 1), status
    status = executor.wait(killed, PATIENCE)
    assert (status.reason, status.exit_code, status.attempt) == (EndReason.EXITED, 137, 2), status
    assert b"".join(executor.logs(killed)).count(b"start") == 2
