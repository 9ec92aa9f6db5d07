# SPDX-License-Identifier: Apache-2.0
"""A part of a curve, by steps or by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from aboard._native import Points
from aboard.errors import InvalidValue

Edge = TypeVar("Edge")
_LOWEST_STEP, _HIGHEST_STEP = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveWindow:
    """What is None does not narrow; times are seconds since 1970."""

    first_step: int | None = None
    last_step: int | None = None
    since: float | None = None
    until: float | None = None

    def of(self, points: Points) -> Points:
        """One point more on either side, so that a line can be drawn to the edge."""
        first, last = self.first_step, self.last_step
        if self.since is not None or self.until is not None:
            times = points.wall_times
            since = -np.inf if self.since is None else self.since
            until = np.inf if self.until is None else self.until
            inside = np.flatnonzero((times >= since) & (times <= until))
            if len(inside):
                begin, end = int(points.steps[inside[0]]), int(points.steps[inside[-1]])
            else:
                begin, end = _between_neighbours(points, since, until)
            first, last = begin if first is None else max(first, begin), end if last is None else min(last, end)
        if first is None and last is None:
            return points
        return points.window(_LOWEST_STEP if first is None else first, _HIGHEST_STEP if last is None else last)


def _between_neighbours(points: Points, since: float, until: float) -> tuple[int, int]:
    """The steps between the last point before a time without points and the first one after it; none at its ends."""
    times = points.wall_times
    before, after = np.flatnonzero(times < since), np.flatnonzero(times > until)
    if not len(before) or not len(after):
        return _HIGHEST_STEP, _LOWEST_STEP
    # Clocks may go back: the nearest in time need not be neighbours in the curve.
    near = sorted((before[np.argmax(times[before])], after[np.argmin(times[after])]))
    return int(points.steps[near[0]]) + 1, int(points.steps[near[1]]) - 1


def curve_windows(
    first_steps: Sequence[int], last_steps: Sequence[int], since: Sequence[float], until: Sequence[float]
) -> list[CurveWindow]:
    """Windows by their edges: of each edge none, one for all windows, or as many as of the others."""
    count = max(map(len, (first_steps, last_steps, since, until)))
    if any(len(edges) not in {0, 1, count} for edges in (first_steps, last_steps, since, until)):
        told = f"{len(first_steps)}, {len(last_steps)}, {len(since)} and {len(until)}"
        raise InvalidValue(
            f"from_step, to_step, since and until are named {told} times",
            hint="name each of them not at all, once for all runs, or once for each run",
        )
    return [
        CurveWindow(
            first_step=_edge(first_steps, at),
            last_step=_edge(last_steps, at),
            since=_edge(since, at),
            until=_edge(until, at),
        )
        for at in range(count)
    ]


def _edge(edges: Sequence[Edge], at: int) -> Edge | None:
    if not edges:
        return None
    return edges[at] if len(edges) > 1 else edges[0]
