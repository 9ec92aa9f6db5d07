# SPDX-License-Identifier: Apache-2.0
"""Requests and responses about boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.boards import BoardKind
from aboard.model.selections import NumberKind
from aboard.model.states import UnitState


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBoard:
    """A board to make, or to open again when there is one that shows just the same."""

    sources: tuple[str, ...] = ()
    """Words of a selection: runs, experiments, ranges, patterns, folders, URIs."""
    where: str = ""
    zone: int = 0
    """Minutes east of Greenwich, for times in `where` that say no zone."""
    workspace: str = ""
    """Where the board lives; meant, too, where a name or pattern of `sources` has no workspace."""
    numbers: NumberKind = NumberKind.RUN
    """What a number without a word before it counts."""
    template: str = ""
    """How runs are called on the board; the server's own template when nothing is said."""
    description: str = ""
    idle_timeout: float | None = None
    """Seconds without a request after which the board stops; None for never."""
    max_runtime: float | None = None
    """Seconds after its start when the board stops; None for never."""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """`tensorboard_args` and `plugins`; of a process `tensorboard_args`, `image` and `bind_mounts`."""
    kind: BoardKind = BoardKind.SERVER
    executor: str = ""
    """Where a stock TensorBoard shall run, as `docker` or `slurm:partition=cpu`; empty: in the server, or, for the kind
    `process`, where the server has it run."""
    must_find: bool = False
    """Refuse a pattern, range or filter that selects nothing now. An experiment may be empty: its runs will come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardInfo:
    """A board, as everybody is told of it who may see it."""

    id: str
    name: str
    owner: str
    description: str
    state: UnitState
    kind: BoardKind
    workspace: str
    sources: tuple[str, ...]
    where: str
    template: str
    live: bool
    """Whether runs that come later may join."""
    experiments: tuple[int, ...]
    """Experiments that are named one by one."""
    runs: tuple[int, ...]
    """Runs that are named one by one."""
    run_count: int | None
    """How many runs it showed when it was last looked at."""
    created: datetime
    started: datetime | None
    last_used: datetime | None
    ended: datetime | None
    expires: datetime | None
    exit_status: str
    reason: str
    idle_timeout: float | None
    max_runtime: float | None
    settings: Mapping[str, object]
    uri: str
    """Where its page is, below the address of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardReading:
    """How far a board that is open has read its runs."""

    runs: int
    runs_read: int
    logdirs: int = 0
    """Folders with event files in which something was found to show."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardCreated:
    """A board that lives, and whether it was there before."""

    board: BoardInfo
    reopened: bool
    empty: tuple[str, ...] = ()
    """Words that select nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPreview:
    """What an executor would be given for a board that is a process. Nothing of it was made, and its ids are free."""

    documents: tuple[Mapping[str, object], ...]
    """Manifests of Kubernetes; of other executors their name, options and the unit."""
    empty: tuple[str, ...] = ()
    """Words that select nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardChange:
    """What is to change; what is None stays as it is. A time of 0 takes a limit away."""

    description: str | None = None
    template: str | None = None
    idle_timeout: float | None = None
    max_runtime: float | None = None
