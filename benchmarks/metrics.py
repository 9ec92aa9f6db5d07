# SPDX-License-Identifier: Apache-2.0
"""What the tables of both benchmarks are made of: numbers with a unit, and the targets some of them have."""

from __future__ import annotations

from dataclasses import dataclass

ITSELF = "itself"
BEST_PEER = "best peer"

# Of each program or library, the numbers of its rounds; the first one is ours.
Results = dict[str, list[dict[str, float]]]


@dataclass(frozen=True)
class Target:
    """At least `limit` times less than a peer or than the best one, or not more than `limit` in the metric's unit."""

    limit: float
    against: str

    def __str__(self) -> str:
        return f"≤ {self.limit:g}" if self.against == ITSELF else f"{self.against} ÷ aboard ≥ {self.limit:g}"


@dataclass(frozen=True)
class Metric:
    """One row of a table; `unit` ends the key of the measured number. Less is better, always."""

    key: str
    title: str
    unit: str
    target: Target | None = None
    has_ratios: bool = True
