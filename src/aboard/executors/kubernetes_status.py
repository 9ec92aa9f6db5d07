# SPDX-License-Identifier: Apache-2.0
"""What a Job or Deployment and its pods say about a unit."""

from __future__ import annotations

from typing import Any

from aboard.executors.kubernetes_manifests import STOPPED
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import EndReason, UnitStatus, state_after

# What a pod waits for that will not come by itself.
_STUCK = frozenset({
    "CreateContainerConfigError", "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
})  # fmt: skip
_EVICTED = frozenset({"Evicted", "Preempted", "Preempting", "NodeShutdown", "Terminated", "Shutdown"})


def kubernetes_status(owner: Any, pods: list[Any]) -> UnitStatus:
    """The status of a unit that runs as `owner`; pods are the newest last."""
    pod = pods[-1] if pods else None
    if STOPPED in _all(owner.metadata.annotations):
        now = UnitState.STOPPING if any(_is_alive(each) for each in pods) else UnitState.STOPPED
        reason = EndReason.STOPPED if now is UnitState.STOPPED else None
        return UnitStatus(state=now, reason=reason, attempt=max(1, len(pods)))
    if owner.kind == "Job":
        for condition in _all(owner.status.conditions):
            if condition.type in {"Complete", "Failed"} and condition.status == "True":
                return _ended(condition, pod, owner)
    return _living(pod)


def _ended(condition: Any, pod: Any, owner: Any) -> UnitStatus:
    ended = condition.last_transition_time
    terminated = _terminated(pod)
    code: int | None = terminated.exit_code if terminated is not None else None
    reason, message = EndReason.EXITED, f"exit code {code}"
    if condition.type == "Complete":
        reason, message, code = EndReason.COMPLETED, "", 0
    elif condition.reason == "DeadlineExceeded":
        reason, message = EndReason.TIMEOUT, f"its time of {owner.spec.active_deadline_seconds} s was over"
    elif terminated is not None and terminated.reason == "OOMKilled":
        reason, message = EndReason.OUT_OF_MEMORY, "it took more memory than it may"
    elif terminated is not None and terminated.reason in {"StartError", "ContainerCannotRun"}:
        reason, message = EndReason.NOT_STARTED, str(terminated.message)
    elif pod is not None and pod.status.reason == "NodeLost":
        reason, message = EndReason.NODE_FAILED, str(pod.status.message or "its node is gone")
    elif pod is not None and pod.status.reason in _EVICTED:
        reason, message = EndReason.PREEMPTED, str(pod.status.message or pod.status.reason)
    elif code is None:
        reason, message = EndReason.LOST, str(condition.message or condition.reason)
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=message,
        exit_code=code,
        started=owner.status.start_time,
        ended=ended,
        host=_node(pod),
    )


def _living(pod: Any) -> UnitStatus:
    if pod is None:
        return UnitStatus(state=UnitState.PENDING)
    for container in _all(pod.status.container_statuses):
        waiting = container.state.waiting if container.state else None
        if waiting is not None and waiting.reason in _STUCK:
            # It is tried again for ever: pending, but a person must know.
            return UnitStatus(
                state=UnitState.PENDING, message=f"{waiting.reason}: {waiting.message or ''}".rstrip(": ")
            )
        if container.state and container.state.running is not None:
            started = container.state.running.started_at
            attempt = 1 + int(container.restart_count or 0)
            return UnitStatus(state=UnitState.RUNNING, started=started, host=_node(pod), attempt=attempt)
        if waiting is not None and waiting.reason == "CrashLoopBackOff":
            attempt = 1 + int(container.restart_count or 0)
            return UnitStatus(state=UnitState.STARTING, message="it ends again and again", attempt=attempt)
    for condition in _all(pod.status.conditions):
        if condition.type == "PodScheduled" and condition.status == "False":
            return UnitStatus(state=UnitState.PENDING, message=str(condition.message or condition.reason or ""))
    return UnitStatus(state=UnitState.STARTING if _node(pod) else UnitState.PENDING, host=_node(pod))


def _all(entries: Any) -> list[Any]:
    """The client says None where there are none."""
    return list(entries or ())


def _is_alive(pod: Any) -> bool:
    return pod.status.phase in {"Pending", "Running", "Unknown"}


def _terminated(pod: Any) -> Any:
    for container in _all(pod.status.container_statuses if pod is not None else None):
        if container.state is not None and container.state.terminated is not None:
            return container.state.terminated
    return None


def _node(pod: Any) -> str:
    return str(pod.spec.node_name or "") if pod is not None else ""
