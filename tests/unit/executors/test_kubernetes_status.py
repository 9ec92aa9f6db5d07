# SPDX-License-Identifier: Apache-2.0
"""What pods and Jobs of Kubernetes say about a unit, in the words that real clusters were seen to use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from aboard.executors.kubernetes.status import living_status, member_status, pod_end
from aboard.model.states import UnitState
from aboard.model.units import EndReason

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
BY_TAINT = SimpleNamespace(type="DisruptionTarget", status="True", reason="DeletionByTaintManager")


def pod(phase: str = "Running", *, conditions: Any = (), deleted: bool = False, **parts: Any) -> Any:
    terminated = parts.pop("terminated", None)
    running = None if terminated else SimpleNamespace(started_at=NOON)
    state = SimpleNamespace(waiting=None, running=running, terminated=terminated)
    container = SimpleNamespace(state=state, last_state=None, restart_count=0)
    status = {"reason": None, "message": None, "start_time": NOON, **parts}
    return SimpleNamespace(
        metadata=SimpleNamespace(deletion_timestamp=NOON if deleted else None, annotations=None),
        spec=SimpleNamespace(node_name="n1", active_deadline_seconds=3),
        status=SimpleNamespace(phase=phase, conditions=conditions, container_statuses=[container], **status),
    )


def sweep(**status: Any) -> Any:
    known = {"completed_indexes": None, "failed_indexes": None, "conditions": None, **status}
    return SimpleNamespace(metadata=SimpleNamespace(annotations=None), status=SimpleNamespace(**known))


def test_a_member_of_a_sweep_runs_until_its_pod_has_ended() -> None:
    failed = sweep(failed_indexes="0-2")
    assert member_status(failed, [pod(deleted=True)], 1).state is UnitState.RUNNING
    gone = member_status(failed, [], 1)
    assert (gone.state, gone.reason) == (UnitState.FAILED, EndReason.PREEMPTED)


@pytest.mark.parametrize(
    "conditions",
    [(BY_TAINT,), (SimpleNamespace(type="Ready", status="False", reason=None),)],
    ids=["given up", "silent"],
)
def test_a_node_that_does_not_respond_is_named_while_its_pod_seems_to_run(conditions: Any) -> None:
    status = living_status(pod(conditions=conditions))
    assert status.state is UnitState.RUNNING
    assert status.message == "The node n1 is not responding; this is its last known state."


def test_a_pod_that_is_not_ready_for_its_own_reasons_is_no_lost_node() -> None:
    probe = SimpleNamespace(type="Ready", status="False", reason="ContainersNotReady")
    assert living_status(pod(conditions=(probe,))).message == ""


def test_a_unit_whose_node_was_lost_has_failed_with_its_node() -> None:
    ended = pod_end(pod("Failed", conditions=(BY_TAINT,), terminated=None))
    assert ended.reason is EndReason.NODE_FAILED
    assert "n1" in ended.message


@pytest.mark.parametrize(("after", "reason"), [(1, EndReason.EXITED), (3, EndReason.TIMEOUT)])
def test_a_pod_that_ended_before_its_deadline_did_not_time_out(after: float, reason: EndReason) -> None:
    ended = NOON + timedelta(seconds=after)
    terminated = SimpleNamespace(exit_code=137, reason="Error", message=None, started_at=NOON, finished_at=ended)
    assert pod_end(pod("Failed", reason="DeadlineExceeded", terminated=terminated)).reason is reason


def test_a_deleted_pod_is_reported_as_deleted() -> None:
    said = pod_end(None, said="Job has reached the specified backoff limit").message
    assert said == "Its pod was deleted. Job has reached the specified backoff limit"
