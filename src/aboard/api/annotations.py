# SPDX-License-Identifier: Apache-2.0
"""What trainings said about moments of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aboard.api.runs import RunProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """Something that happened in a run, as `Run.log_event` has it."""

    run: str
    """The uid."""
    name: str
    wall_time: float | None
    """Seconds since 1970."""
    step: int | None
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Annotations of some runs, of each in the order in which they were logged."""

    items: tuple[Annotation, ...]
    left_out: int
    """How many earlier ones are not among these, because they were too many."""
    problems: tuple[RunProblem, ...]
    """Runs whose annotations cannot be read."""
