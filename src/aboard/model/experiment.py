# SPDX-License-Identifier: Apache-2.0
"""An experiment: a group of runs that answers one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.run_states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment and how many of its runs are in which state."""

    number: int
    workspace: str
    name: str
    created: datetime
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    runs: Mapping[RunState, int] = field(default_factory=dict[RunState, int])
    deleted: datetime | None = None
