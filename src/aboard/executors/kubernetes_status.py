# SPDX-License-Identifier: Apache-2.0
"""What a Job or Deployment and its pods say about a unit."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from aboard.executors.kubernetes_manifests import IDLE, STOPPED
from aboard.executors.kubernetes_restarts import had_another_pod
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

# What a pod waits for that will not come by itself, and what to do.
_STUCK = {
    "CreateContainerConfigError": "a Secret, ConfigMap or key that the pod names is not there",
    "ErrImageNeverPull": "the node does not have the image, and may not fetch it",
    "ErrImagePull": "look for a typing error in the image, or name image_pull_secrets for a private registry",
    "ImagePullBackOff": "look for a typing error in the image, or name image_pull_secrets for a private registry",
    "InvalidImageName": "look for a typing error in the image",
}
_EVICTED = frozenset({"Evicted", "Preempted", "Preempting", "NodeShutdown", "Terminated", "Shutdown"})
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
_USED_UP = "BackoffLimitExceeded"
_TOLD_CODE = re.compile(r"failed with exit code (\d+)")  # by a Job that ended by its rule for exit codes


def kubernetes_status(owner: Any, pods: list[Any]) -> UnitStatus:
    """The status of a unit that runs as `owner`; pods are the newest last."""
    pod = pods[-1] if pods else None
    annotations = annotations_of(owner)
    if STOPPED in annotations:
        return stopped_status(pods)
    if owner.kind == "Job":
        for condition in _all(owner.status.conditions):
            if condition.type in {"Complete", "Failed"} and condition.status == "True":
                return _job_end(condition, pods, owner)
    if IDLE in annotations and pod is None:
        message = "nobody looked at it, so its pods have ended; the next connection starts it again"
        return UnitStatus(state=UnitState.PENDING, message=message)
    status = living_status(pod)
    refused = "" if pod is not None else _refused_pods(owner)
    return replace(status, message=refused) if refused else status


def annotations_of(owner: Any) -> dict[str, str]:
    """What is noted on an object."""
    return owner.metadata.annotations or {}


def stopped_status(pods: list[Any]) -> UnitStatus:
    """Of a unit whose end was asked for."""
    now = UnitState.STOPPING if any(is_alive(each) for each in pods) else UnitState.STOPPED
    reason = EndReason.STOPPED if now is UnitState.STOPPED else None
    return UnitStatus(state=now, reason=reason, attempt=max(1, len(pods)))


def pod_end(pod: Any, *, said: str = "", started: Any = None, ended: Any = None) -> UnitStatus:
    """Of a unit whose only pod failed, or is gone; `said` is what its owner tells."""
    terminated = _terminated(pod)
    code: int | None = terminated.exit_code if terminated is not None else None
    why = terminated.reason if terminated is not None else None
    of_pod = pod.status.reason if pod is not None else None
    said_by_pod: str = str(pod.status.message or "") if pod is not None else ""
    reason, message = EndReason.EXITED, f"exit code {code}"
    if pod is not None and of_pod == "DeadlineExceeded" and not _ended_before_deadline(pod, terminated):
        reason, message = EndReason.TIMEOUT, f"its time of {pod.spec.active_deadline_seconds} s was over"
    elif why == "OOMKilled":
        reason, message = EndReason.OUT_OF_MEMORY, "it took more memory than it may"
    elif terminated is not None and why in _NOT_STARTED:
        reason, message = EndReason.NOT_STARTED, str(terminated.message)
    elif of_pod == "NodeLost" or is_on_lost_node(pod):
        reason, message = EndReason.NODE_FAILED, said_by_pod or f"The node {_node(pod)} stopped responding."
    elif of_pod in _EVICTED:
        reason, message = EndReason.PREEMPTED, said_by_pod or str(of_pod)
    elif code is None:
        reason, message = EndReason.LOST, f"Its pod was deleted. {said}".rstrip()
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=message,
        exit_code=code,
        started=started or (terminated.started_at if terminated is not None else None),
        ended=ended or (terminated.finished_at if terminated is not None else None),
        host=_node(pod),
    )


def evicted_status(pod: Any, *, started: Any = None, ended: Any = None) -> UnitStatus:
    """Of a unit whose pod the cluster took away."""
    reason = EndReason.PREEMPTED
    message = "Its pod was evicted: the node was drained or lost, or a pod with a higher priority needed the place."
    if is_on_lost_node(pod):
        reason, message = EndReason.NODE_FAILED, f"The node {_node(pod)} stopped responding."
    return UnitStatus(
        state=state_after(reason), reason=reason, message=message, started=started, ended=ended, host=_node(pod)
    )


def is_on_lost_node(pod: Any) -> bool:
    """Whether the cluster gave the pod up because its node no longer reports."""
    conditions = _all(pod.status.conditions) if pod is not None else []
    return any(each.type == "DisruptionTarget" and each.reason == "DeletionByTaintManager" for each in conditions)


def is_taken_away(pod: Any) -> bool:
    """Whether a pod is gone or going, which those that end by themselves are not."""
    return pod is None or pod.metadata.deletion_timestamp is not None


def completed_status(pod: Any, *, started: Any = None, ended: Any = None) -> UnitStatus:
    """Of a unit that did what it was there for."""
    terminated = _terminated(pod)
    return UnitStatus(
        state=UnitState.STOPPED,
        reason=EndReason.COMPLETED,
        exit_code=0,
        started=started or (terminated.started_at if terminated is not None else None),
        ended=ended or (terminated.finished_at if terminated is not None else None),
        host=_node(pod),
    )


def living_status(pod: Any) -> UnitStatus:
    """Of a unit that has not ended, by its newest pod."""
    if pod is None:
        return UnitStatus(state=UnitState.PENDING)
    for container in _all(pod.status.container_statuses):
        waiting = container.state.waiting if container.state else None
        if waiting is not None and waiting.reason in _STUCK:
            # It is tried again for ever: pending, but a person must know.
            said = f"{waiting.reason}: {waiting.message or ''}".rstrip(": ")
            return UnitStatus(state=UnitState.PENDING, message=f"{said} ({_STUCK[waiting.reason]})")
        if container.state and container.state.running is not None:
            return UnitStatus(
                state=UnitState.RUNNING,
                message=_doubt(pod),
                started=container.state.running.started_at,
                host=_node(pod),
                attempt=1 + int(container.restart_count or 0),
            )
        if waiting is not None and waiting.reason == "CrashLoopBackOff":
            last = container.last_state.terminated if container.last_state is not None else None
            code = last.exit_code if last is not None else None
            said = "it ends again and again" + (f", with exit code {code}" if code is not None else "")
            attempt = 1 + int(container.restart_count or 0)
            return UnitStatus(state=UnitState.STARTING, message=said, exit_code=code, attempt=attempt)
    for condition in _all(pod.status.conditions):
        if condition.type == "PodScheduled" and condition.status == "False":
            return UnitStatus(state=UnitState.PENDING, message=str(condition.message or condition.reason or ""))
    return UnitStatus(state=UnitState.STARTING if _node(pod) else UnitState.PENDING, host=_node(pod))


def _doubt(pod: Any) -> str:
    """Why a pod may not run any more although its last report says so."""
    not_ready = [each for each in _all(pod.status.conditions) if each.type == "Ready" and each.status == "False"]
    # A container that fails its probe has a reason; the controller that marks the pods of a silent node gives none.
    if is_on_lost_node(pod) or any(not each.reason for each in not_ready):
        return f"The node {_node(pod)} is not responding; this is its last known state."
    return "The pod is being deleted." if pod.metadata.deletion_timestamp is not None else ""


def is_ready(pod: Any) -> bool:
    """Whether a connection to the pod can be answered."""
    ready = [each for each in _all(pod.status.conditions) if each.type == "Ready" and each.status == "True"]
    return bool(ready) and pod.metadata.deletion_timestamp is None


def _job_end(condition: Any, pods: list[Any], owner: Any) -> UnitStatus:
    pod = pods[-1] if pods else None
    times = {"started": owner.status.start_time, "ended": condition.last_transition_time}
    if condition.type == "Complete":
        return completed_status(pod, **times)
    if condition.reason == "DeadlineExceeded":
        message = f"its time of {owner.spec.active_deadline_seconds} s was over"
        return UnitStatus(state=UnitState.FAILED, reason=EndReason.TIMEOUT, message=message, **times)
    if condition.reason == _USED_UP and had_another_pod(owner, len(pods), pod_end(pod).ended, times["ended"]):
        return evicted_status(None, **times)
    said = str(condition.message or condition.reason)
    status = pod_end(pod, said=said, **times)
    if status.reason not in {EndReason.LOST, EndReason.EXITED}:
        return status
    if _was_evicted(condition, pod, has_restarts=bool(owner.spec.backoff_limit)):
        return evicted_status(pod, **times)
    told = _TOLD_CODE.search(said) if status.reason is EndReason.LOST else None
    if told is None:
        return status
    code, reason = int(told[1]), EndReason.EXITED
    return replace(status, state=state_after(reason), reason=reason, exit_code=code, message=f"exit code {code}")


def _was_evicted(condition: Any, pod: Any, *, has_restarts: bool) -> bool:
    """Without restarts a Job ends by its rule for evictions; with them that rule counts, and the other ends it."""
    if has_restarts:
        return condition.reason == _USED_UP and is_taken_away(pod)
    return condition.reason == "PodFailurePolicy"


def _refused_pods(owner: Any) -> str:
    """Why a Deployment gets no pods: quota, an account that is not there, a policy."""
    for condition in _all(owner.status.conditions):
        if condition.type == "ReplicaFailure" and condition.status == "True":
            return str(condition.message or condition.reason or "")
    return ""


def _all(entries: Any) -> list[Any]:
    """The client says None where there are none."""
    return list(entries or ())


def is_alive(pod: Any) -> bool:
    """Whether something of it may still run; a pod that is being deleted runs until its node says otherwise."""
    return pod is not None and pod.status.phase in {"Pending", "Running", "Unknown"}


def _ended_before_deadline(pod: Any, terminated: Any) -> bool:
    """A kubelet that looks late gives the deadline as the reason of a pod that had ended by itself."""
    started, ended = pod.status.start_time, terminated.finished_at if terminated is not None else None
    if started is None or ended is None:
        return False
    return ended < started + timedelta(seconds=int(pod.spec.active_deadline_seconds or 0))


def _terminated(pod: Any) -> Any:
    for container in _all(pod.status.container_statuses if pod is not None else None):
        if container.state is not None and container.state.terminated is not None:
            return container.state.terminated
    return None


def _node(pod: Any) -> str:
    return str(pod.spec.node_name or "") if pod is not None else ""
