# SPDX-License-Identifier: Apache-2.0
"""A board: a saved selection of runs, with a name template and a lifetime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from aboard.model.unit_states import UnitState


class BoardKind(StrEnum):
    """Where a board lives."""

    SERVER = "server"  # in the server process
    PROCESS = "process"  # a stock tensorboard process behind the proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A board as the catalog keeps it. `sources` are selections as a person would type them."""

    id: str  # a UUID
    name: str  # a pet name
    workspace: str
    sources: tuple[str, ...]
    created: datetime
    owner: str = ""
    kind: BoardKind = BoardKind.SERVER
    state: UnitState = UnitState.PENDING
    description: str = ""
    where: str = ""
    template: str = ""
    started: datetime | None = None
    last_used: datetime | None = None
    ended: datetime | None = None
    idle_timeout: timedelta | None = None
    max_runtime: timedelta | None = None
    exit_status: str = ""
    reason: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])  # arguments, executor, image …
    scope: tuple[str, ...] | None = None
    """Folded names of the workspaces that its maker could look into; None for all. No run of another is ever shown."""
    shown: tuple[str, ...] = ()
    """Folded names of the workspaces whose runs it has shown."""
    run_count: int | None = None
    """How many runs it showed when it was last looked at."""
    secret: str = field(default="", repr=False)
    """By which every server process understands the addresses of pictures that another gave out."""

    unit: str = ""
    """The unit of a board that is a process, as long as something may be left of it."""
    unit_host: str = ""
    """The machine whose servers look after that unit."""

    @property
    def expires(self) -> datetime | None:
        """When its longest time to run is over."""
        return self.started + self.max_runtime if self.started and self.max_runtime else None
