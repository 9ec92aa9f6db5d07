# SPDX-License-Identifier: Apache-2.0
"""The status of a unit from its Job or Deployment and its pods, and which of these objects are the unit's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from aboard.executors.kubernetes.cluster import Namespace
from aboard.executors.kubernetes.manifests import (
    IDLE,
    STOPPED,
    UNIT_LABEL,
    had_another_pod,
    index_had_another_pod,
    object_name,
)
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitStatus, state_after

if TYPE_CHECKING:
    pass


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
_RESTARTS_USED_UP = "BackoffLimitExceeded"
_EXIT_CODE = re.compile(r"failed with exit code (\d+)")  # by a Job that ended by its rule for exit codes


def kubernetes_status(owner: Any, pods: list[Any]) -> UnitStatus:
    """The status of a unit that runs as `owner`; pods are the newest last."""
    pod = pods[-1] if pods else None
    annotations = annotations_of(owner)
    if STOPPED in annotations:
        return stopped_status(pods)
    if owner.kind == "Job":
        for condition in _entries(owner.status.conditions):
            if condition.type in {"Complete", "Failed"} and condition.status == "True":
                return _job_end(condition, pods, owner)
    if IDLE in annotations and pod is None:
        message = "nobody looked at it, so its pods have ended; the next connection starts it again"
        return UnitStatus(state=UnitState.PENDING, message=message)
    status = living_status(pod)
    refused = "" if pod is not None else _refused_pods(owner)
    return replace(status, message=refused) if refused else status


def annotations_of(owner: Any) -> dict[str, str]:
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
    conditions = _entries(pod.status.conditions) if pod is not None else []
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
    for container in _entries(pod.status.container_statuses):
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
    for condition in _entries(pod.status.conditions):
        if condition.type == "PodScheduled" and condition.status == "False":
            return UnitStatus(state=UnitState.PENDING, message=str(condition.message or condition.reason or ""))
    return UnitStatus(state=UnitState.STARTING if _node(pod) else UnitState.PENDING, host=_node(pod))


def _doubt(pod: Any) -> str:
    """Why a pod may not run any more although its last report says so."""
    not_ready = [each for each in _entries(pod.status.conditions) if each.type == "Ready" and each.status == "False"]
    # A container that fails its probe has a reason; the controller that marks the pods of a silent node gives none.
    if is_on_lost_node(pod) or any(not each.reason for each in not_ready):
        return f"The node {_node(pod)} is not responding; this is its last known state."
    return "The pod is being deleted." if pod.metadata.deletion_timestamp is not None else ""


def is_ready(pod: Any) -> bool:
    """Whether a connection to the pod can be answered."""
    ready = [each for each in _entries(pod.status.conditions) if each.type == "Ready" and each.status == "True"]
    return bool(ready) and pod.metadata.deletion_timestamp is None


def _job_end(condition: Any, pods: list[Any], owner: Any) -> UnitStatus:
    pod = pods[-1] if pods else None
    times = {"started": owner.status.start_time, "ended": condition.last_transition_time}
    if condition.type == "Complete":
        return completed_status(pod, **times)
    if condition.reason == "DeadlineExceeded":
        message = f"its time of {owner.spec.active_deadline_seconds} s was over"
        return UnitStatus(state=UnitState.FAILED, reason=EndReason.TIMEOUT, message=message, **times)
    if condition.reason == _RESTARTS_USED_UP and had_another_pod(owner, len(pods), pod_end(pod).ended, times["ended"]):
        return evicted_status(None, **times)
    said = str(condition.message or condition.reason)
    status = pod_end(pod, said=said, **times)
    if status.reason not in {EndReason.LOST, EndReason.EXITED}:
        return status
    if _was_evicted(condition, pod, has_restarts=bool(owner.spec.backoff_limit)):
        return evicted_status(pod, **times)
    told = _EXIT_CODE.search(said) if status.reason is EndReason.LOST else None
    if told is None:
        return status
    code, reason = int(told[1]), EndReason.EXITED
    return replace(status, state=state_after(reason), reason=reason, exit_code=code, message=f"exit code {code}")


def _was_evicted(condition: Any, pod: Any, *, has_restarts: bool) -> bool:
    """Without restarts a Job ends by its rule for evictions; with them that rule counts, and the other ends it."""
    if has_restarts:
        return condition.reason == _RESTARTS_USED_UP and is_taken_away(pod)
    return condition.reason == "PodFailurePolicy"


def _refused_pods(owner: Any) -> str:
    """Why a Deployment gets no pods: quota, an account that is not there, a policy."""
    for condition in _entries(owner.status.conditions):
        if condition.type == "ReplicaFailure" and condition.status == "True":
            return str(condition.message or condition.reason or "")
    return ""


def _entries(entries: Any) -> list[Any]:
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
    for container in _entries(pod.status.container_statuses if pod is not None else None):
        if container.state is not None and container.state.terminated is not None:
            return container.state.terminated
    return None


def _node(pod: Any) -> str:
    return str(pod.spec.node_name or "") if pod is not None else ""


INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
MEMBER_STOPPED, MEMBER_FORGOTTEN = "aboard.dev/stopped-", "aboard.dev/forgotten-"
STOPPED_BEFORE_START = "before it began"


def is_forgotten(owner: Any, index: int) -> bool:
    """Whether nobody wants to know of this unit any more."""
    return f"{MEMBER_FORGOTTEN}{index}" in annotations_of(owner)


def member_status(owner: Any, pods: list[Any], index: int) -> UnitStatus:
    """The status of one unit of a sweep; `pods` are its own, the newest last."""
    pod = pods[-1] if pods else None
    stopped = annotations_of(owner).get(f"{MEMBER_STOPPED}{index}")
    if stopped is not None:
        return stopped_status(pods if stopped != STOPPED_BEFORE_START else [])
    if index in _parse_indexes(owner.status.completed_indexes):
        return completed_status(pod)
    if index in _parse_indexes(owner.status.failed_indexes) and not is_alive(pod):
        # Such a Job does not say why, but keeps the pods that ended by themselves.
        if is_taken_away(pod):
            return evicted_status(pod)
        status = pod_end(pod)
        is_earlier = index_had_another_pod(owner, annotations_of(pod), status.exit_code)
        return evicted_status(None) if is_earlier else status
    for condition in owner.status.conditions or ():
        if condition.type == "Failed" and condition.status == "True":
            return pod_end(pod, said=str(condition.message or condition.reason))
    return living_status(pod)


def _parse_indexes(text: Any) -> set[int]:
    """The numbers that "0,2-4" stands for."""
    found: set[int] = set()
    for part in str(text or "").split(","):
        low, _, high = part.partition("-")
        if low:
            found.update(range(int(low), int(high or low) + 1))
    return found


@dataclass(frozen=True, kw_only=True)
class UnitObject:
    """What a handle says of that."""

    namespace: str
    kind: str
    name: str
    labels: str
    """By which its pods are found."""
    index: int | None = None

    @classmethod
    def of(cls, handle: UnitHandle) -> Self:
        """The place of a unit."""
        told, namespace, kind = handle.place, handle.place["namespace"], handle.place["kind"]
        if "index" not in told:
            name, labels = object_name(handle.unit), f"{UNIT_LABEL}={handle.unit}"
            return cls(namespace=namespace, kind=kind, name=name, labels=labels)
        labels = f"batch.kubernetes.io/job-name={told['job']},{INDEX_LABEL}={told['index']}"
        return cls(namespace=namespace, kind=kind, name=told["job"], labels=labels, index=int(told["index"]))

    @property
    def without_pods(self) -> dict[str, Any]:
        """The change that ends all pods of its object, which stays."""
        return {"suspend": True} if self.kind == "Job" else {"replicas": 0}

    @property
    def with_pods(self) -> dict[str, Any]:
        """The change that takes this back."""
        return {"suspend": False} if self.kind == "Job" else {"replicas": 1}

    def pods(self, opened: Namespace) -> list[Any]:
        """Its pods, the newest last."""
        return opened.pods(self.labels)

    def is_idle(self, owner: Any) -> bool:
        """Whether its pods have ended because nobody looked."""
        return IDLE in annotations_of(owner)

    def status(self, owner: Any, opened: Namespace) -> UnitStatus:
        """How the unit is doing. Where nothing starts, the cluster is asked why."""
        pods = self.pods(opened)
        status = kubernetes_status(owner, pods) if self.index is None else member_status(owner, pods, self.index)
        if len(pods) > status.attempt and self.kind == "Job":
            status = replace(status, attempt=len(pods))
        if status.message or status.state not in (UnitState.PENDING, UnitState.STARTING):
            return status
        about = ("Pod", str(pods[-1].metadata.name)) if pods else (self.kind, self.name)
        return replace(status, message=opened.warning(*about))
