# SPDX-License-Identifier: Apache-2.0
"""What the catalog keeps of a metric: its last, smallest and largest value, and how many there were."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One value, the step it was logged at, and when, in seconds since 1970."""

    value: float
    step: int
    wall_time: float


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of one run. NaN is a last value like others, but never the smallest or largest."""

    last: MetricPoint
    smallest: MetricPoint | None  # none when every value was NaN
    largest: MetricPoint | None
    count: int

    @classmethod
    def of(cls, point: MetricPoint) -> MetricSummary:
        """The summary of a single point."""
        extreme = None if math.isnan(point.value) else point
        return cls(point, extreme, extreme, 1)

    def including(self, point: MetricPoint) -> MetricSummary:
        """The summary with one point more, which becomes the last one. Of equal values the earlier is kept."""
        smallest, largest = self.smallest, self.largest
        if not math.isnan(point.value):
            smallest = point if smallest is None or point.value < smallest.value else smallest
            largest = point if largest is None or point.value > largest.value else largest
        return MetricSummary(point, smallest, largest, self.count + 1)
