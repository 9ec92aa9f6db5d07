# SPDX-License-Identifier: Apache-2.0
"""States of runs, units and boards, and the tables of legal transitions.

A training process imports this module: it stays free of dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import TypeVar

from aboard.errors import Conflict, InvalidValue

State = TypeVar("State", bound=StrEnum)


def check_change(what: str, changes: Mapping[State, AbstractSet[State]], old: State, new: State) -> None:
    """Refuse a change that the table does not have. Staying the same is no change, and allowed."""
    if new == old or new in changes[old]:
        return
    allowed = ", ".join(sorted(changes[old])) or "nothing"
    raise Conflict(f"{what} is {old} and cannot become {new}", hint=f"from {old} it can become: {allowed}")


def state_from(states: type[State], text: object, what: str) -> State:
    """The state of that name, in capitals or not."""
    try:
        return states(str(text).lower())
    except ValueError:
        raise InvalidValue(f"{text!r} is not a state of {what}", hint=f"states are: {', '.join(states)}") from None


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
        return self in _ENDED_RUN


_ENDED_RUN = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.LOST})
_RESTARTED_RUN = frozenset({RunState.QUEUED, RunState.RUNNING})  # a run that is started again goes on as a new attempt

RUN_CHANGES: Mapping[RunState, AbstractSet[RunState]] = {
    RunState.CREATED: _RESTARTED_RUN | {RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.QUEUED: {RunState.RUNNING, RunState.PREEMPTED, RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.RUNNING: _ENDED_RUN | {RunState.PREEMPTED},
    RunState.PREEMPTED: _RESTARTED_RUN | {RunState.FAILED, RunState.CANCELLED, RunState.LOST},
    RunState.COMPLETED: _RESTARTED_RUN,
    RunState.FAILED: _RESTARTED_RUN,
    RunState.CANCELLED: _RESTARTED_RUN,
    # Lost means that nothing was heard for long; what is heard later counts.
    RunState.LOST: _RESTARTED_RUN | {RunState.PREEMPTED, RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED},
}


def check_run_change(what: str, old: RunState, new: RunState) -> None:
    """Refuse what a run cannot become; `what` names it, as in `run343`."""
    check_change(what, RUN_CHANGES, old, new)


class UnitState(StrEnum):
    """Where a process, or a board, is in its life."""

    PENDING = "pending"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"

    @property
    def is_ended(self) -> bool:
        """Whether it holds no process and no place in a quota."""
        return self in _ENDED_UNIT


_ENDED_UNIT = frozenset({UnitState.STOPPED, UnitState.FAILED, UnitState.LOST})
_RESTARTED_UNIT = frozenset({UnitState.PENDING, UnitState.STARTING})

UNIT_CHANGES: Mapping[UnitState, AbstractSet[UnitState]] = {
    UnitState.PENDING: _ENDED_UNIT | {UnitState.STARTING, UnitState.STOPPING},
    UnitState.STARTING: _ENDED_UNIT | {UnitState.RUNNING, UnitState.STOPPING},
    UnitState.RUNNING: _ENDED_UNIT | {UnitState.STOPPING},
    UnitState.STOPPING: _ENDED_UNIT,
    UnitState.STOPPED: _RESTARTED_UNIT,
    UnitState.FAILED: _RESTARTED_UNIT | {UnitState.STOPPED},
    # Lost means that nobody could say; it may be found again as it was.
    UnitState.LOST: _RESTARTED_UNIT | {UnitState.RUNNING, UnitState.STOPPING, UnitState.STOPPED, UnitState.FAILED},
}


def check_unit_change(what: str, old: UnitState, new: UnitState) -> None:
    """Refuse what a unit or board cannot become; `what` names it."""
    check_change(what, UNIT_CHANGES, old, new)
