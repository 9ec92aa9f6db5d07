# SPDX-License-Identifier: Apache-2.0
"""The curves of the charts that a comparison shows first, so that one answer has all that it begins with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aboard.api.series import SharedTag, SharedTags
from aboard.services.curves import CurvesAsked, FoundCurves, curves_of
from aboard.services.open_runs import OpenRuns
from aboard.services.readable_runs import ReadableRuns
from aboard.services.shared_tags import in_sections

_MOST_POINTS = 200_000
_SYSTEM = re.compile(r"system(/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAsked:
    """How many charts, of how many points a curve; tags that are pinned come first."""

    charts: int
    points: int
    means: bool = False
    pinned: Sequence[str] = ()


class FirstCharts(NamedTuple):
    """Curves, and which tags they are all of."""

    tags: Sequence[str]
    curves: FoundCurves


def first_charts(pool: OpenRuns, runs: ReadableRuns, tags: SharedTags, asked: FirstAsked) -> FirstCharts:
    """The curves of the charts that are seen first, of fewer where there are many runs; none while runs are read."""
    charts = min(asked.charts, max(1, _MOST_POINTS // max(1, len(runs.places) * asked.points)))
    wanted = _in_sight(tags.items, asked.pinned)[:charts] if tags.read == tags.wanted else []
    question = CurvesAsked(tags=wanted, points=asked.points, means=asked.means)
    if not wanted:
        return FirstCharts((), FoundCurves(question, (), ()))
    return FirstCharts(wanted, curves_of(pool, runs, question))


def _in_sight(tags: Sequence[SharedTag], pinned: Sequence[str]) -> list[str]:
    """Tags of charts from the top: numbers of the training, not of its machine."""
    shown = [one.tag for one in tags if one.kind == "scalar" and not all(map(_SYSTEM.match, one.logdirs))]
    return [*(tag for tag in pinned if tag in set(shown)), *(tag for tag in in_sections(shown) if tag not in pinned)]
