# SPDX-License-Identifier: Apache-2.0
"""The states of units and boards."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum

from aboard.model.state_changes import check_change


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
        return self in _ENDED


_ENDED = frozenset({UnitState.STOPPED, UnitState.FAILED, UnitState.LOST})
_AGAIN = frozenset({UnitState.PENDING, UnitState.STARTING})

UNIT_CHANGES: Mapping[UnitState, AbstractSet[UnitState]] = {
    UnitState.PENDING: _ENDED | {UnitState.STARTING, UnitState.STOPPING},
    UnitState.STARTING: _ENDED | {UnitState.RUNNING, UnitState.STOPPING},
    UnitState.RUNNING: _ENDED | {UnitState.STOPPING},
    UnitState.STOPPING: _ENDED,
    UnitState.STOPPED: _AGAIN,
    UnitState.FAILED: _AGAIN | {UnitState.STOPPED},
    # Lost means that nobody could say; it may be found again as it was.
    UnitState.LOST: _AGAIN | {UnitState.RUNNING, UnitState.STOPPING, UnitState.STOPPED, UnitState.FAILED},
}


def check_unit_change(what: str, old: UnitState, new: UnitState) -> None:
    """Refuse what a unit or board cannot become; `what` names it."""
    check_change(what, UNIT_CHANGES, old, new)
