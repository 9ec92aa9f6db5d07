# SPDX-License-Identifier: Apache-2.0
"""One start of a run's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aboard.model.run_states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The `number`-th start of a run, counted from 1."""

    number: int
    status: RunState
    started: datetime | None = None
    ended: datetime | None = None
    heartbeat: datetime | None = None
    host: str = ""
    exit_code: int | None = None
    reason: str = ""
    details: Mapping[str, object] = field(default_factory=dict[str, object])  # what else its document says
