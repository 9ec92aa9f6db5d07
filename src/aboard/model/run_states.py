# SPDX-License-Identifier: Apache-2.0
"""The states of a run and of its attempts."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum

from aboard.model.state_changes import check_change


class RunState(StrEnum):
    """Where a run is in its life."""

    CREATED = "created"
    QUEUED = "queued"
    RUNNING = "running"
    PREEMPTED = "preempted"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def is_ended(self) -> bool:
        """Whether nothing more is expected of the run unless somebody starts it again."""
        return self in _ENDED


_ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.LOST})
_AGAIN = frozenset({RunState.QUEUED, RunState.RUNNING})  # a run that is started again goes on as a new attempt

RUN_CHANGES: Mapping[RunState, AbstractSet[RunState]] = {
    RunState.CREATED: _AGAIN | {RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.QUEUED: {RunState.RUNNING, RunState.PREEMPTED, RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.RUNNING: _ENDED | {RunState.PREEMPTED},
    RunState.PREEMPTED: _AGAIN | {RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.COMPLETED: _AGAIN,
    RunState.FAILED: _AGAIN,
    RunState.CANCELLED: _AGAIN,
    # Lost means that nothing was heard for long; what is heard later counts.
    RunState.LOST: _AGAIN | {RunState.PREEMPTED, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED},
}


def check_run_change(what: str, old: RunState, new: RunState) -> None:
    """Refuse what a run cannot become; `what` names it, as in `run343`."""
    check_change(what, RUN_CHANGES, old, new)
