# SPDX-License-Identifier: Apache-2.0
"""A workspace: the area that owns experiments, runs and boards, and to which people are given roles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace and how much is in it."""

    name: str
    created: datetime
    description: str = ""
    experiments: int = 0
    runs: int = 0
    bytes: int = 0
    deleted: datetime | None = None
