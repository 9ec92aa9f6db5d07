# SPDX-License-Identifier: Apache-2.0
"""How a unit is doing, and why it ended; the same words for every executor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from aboard.model.unit_states import UnitState


class EndReason(StrEnum):
    """Why a unit ended."""

    COMPLETED = "completed"  # by itself, with exit code 0
    STOPPED = "stopped"  # somebody asked for it
    EXITED = "exited"  # by itself, with another exit code or by a signal
    TIMEOUT = "timeout"  # its time was over
    OUT_OF_MEMORY = "out_of_memory"
    NOT_STARTED = "not_started"  # no such command, image, folder …
    PREEMPTED = "preempted"  # its place was given to another
    NODE_FAILED = "node_failed"  # its machine died
    LOST = "lost"  # it is gone, and nothing tells how
    FORGOTTEN = "forgotten"  # its executor knows nothing of it any more, however it ended


_AS_MEANT = frozenset({EndReason.COMPLETED, EndReason.STOPPED})


def state_after(reason: EndReason) -> UnitState:
    """The state of a unit that ended so: stopped when this was meant, lost when nobody can say, otherwise failed."""
    if reason in (EndReason.LOST, EndReason.FORGOTTEN):
        return UnitState.LOST
    return UnitState.STOPPED if reason in _AS_MEANT else UnitState.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a unit takes of its machine at this moment, with all its processes."""

    processes: int
    memory: int
    """Bytes that are resident."""
    cpu_seconds: float
    """Of the processes that live now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitStatus:
    """A unit at one moment. `message` is for people, and says what to look at when something went wrong."""

    state: UnitState
    reason: EndReason | None = None
    message: str = ""
    exit_code: int | None = None
    """As a shell tells it: 128 and more for a signal."""
    started: datetime | None = None
    ended: datetime | None = None
    host: str = ""
    """The machine it runs on, where that is known."""
    attempt: int = 1
    """Counts the starts of a unit that its executor starts again."""
    can_go_on: bool = False
    """Whether it was killed together with all that watched it, and may be started again: `Executor.revive`."""

    @property
    def has_succeeded(self) -> bool:
        """Whether it did what it was there for."""
        return self.reason is EndReason.COMPLETED


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a port of a unit can be reached from here."""

    host: str
    port: int

    @property
    def address(self) -> str:
        """As it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
