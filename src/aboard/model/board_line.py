# SPDX-License-Identifier: Apache-2.0
"""A line of the log of a board: what happened when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LineLevel(StrEnum):
    """How much a line matters, from little to much."""

    TRACE = "TRACE"
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"

    @property
    def and_above(self) -> tuple[LineLevel, ...]:
        """The level itself and those that matter more."""
        order = list(LineLevel)
        return tuple(order[order.index(self) :])


@dataclass(frozen=True, slots=True)
class BoardLine:
    """One line; `id` grows from line to line."""

    id: int
    at: datetime
    level: LineLevel
    text: str
