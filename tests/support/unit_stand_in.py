# SPDX-License-Identifier: Apache-2.0
"""Units of the local executor that are entries of a dictionary instead of processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from aboard.errors import UnknownName
from aboard.executors import Local
from aboard.model.states import UnitState
from aboard.model.units import EndReason, UnitHandle, UnitSpec, UnitStatus

RUNNING = UnitStatus(state=UnitState.RUNNING)
STOPPED = UnitStatus(state=UnitState.STOPPED, reason=EndReason.STOPPED, exit_code=143)
COMPLETED = UnitStatus(state=UnitState.STOPPED, reason=EndReason.COMPLETED, exit_code=0)
KILLED = UnitStatus(state=UnitState.LOST, reason=EndReason.LOST, can_go_on=True)
"""Nothing is left of it, not even what watched it; it may be started again."""


@dataclass
class StandInUnits:
    """What the executor says of each unit, and what was requested of it."""

    statuses: dict[str, UnitStatus] = field(default_factory=dict)
    starts: Counter[str] = field(default_factory=Counter)
    requested: Counter[str] = field(default_factory=Counter)
    """How often the status of each unit was requested."""
    can_start: bool = True
    """Whether there is room for a unit that is to be started again."""

    def submit(self, executor: Local, spec: UnitSpec) -> UnitHandle:
        self.statuses[spec.id] = RUNNING
        self.starts[spec.id] += 1
        return handle_of(executor, spec.id)

    def find(self, executor: Local, unit: str) -> UnitHandle | None:
        return handle_of(executor, unit) if unit in self.statuses else None

    def status(self, _: Local, handle: UnitHandle) -> UnitStatus:
        self.requested[handle.unit] += 1
        if handle.unit not in self.statuses:
            raise UnknownName(f"there is no unit {handle.unit}")
        return self.statuses[handle.unit]

    def stop(self, _: Local, handle: UnitHandle, *, grace: float | None = None) -> None:
        if not self.statuses[handle.unit].state.is_ended or self.statuses[handle.unit].can_go_on:
            self.statuses[handle.unit] = STOPPED

    def revive(self, _: Local, handle: UnitHandle) -> bool:
        if self.can_start:
            self.statuses[handle.unit] = replace(RUNNING, attempt=2)
            self.starts[handle.unit] += 1
        return self.can_start

    def forget(self, _: Local, handle: UnitHandle) -> None:
        del self.statuses[handle.unit]

    def logs(self, _: Local, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        yield from ()


def handle_of(executor: Local, unit: str) -> UnitHandle:
    return executor.handle(unit, folder=str(executor.folder_of(unit)))


def stand_in_units(monkeypatch: pytest.MonkeyPatch) -> StandInUnits:
    """Have the local executor start no process."""
    units = StandInUnits()
    for name in ("submit", "find", "status", "stop", "revive", "forget", "logs"):
        act = getattr(units, name)
        monkeypatch.setattr(Local, name, lambda self, *given, _act=act, **named: _act(self, *given, **named))
    return units
