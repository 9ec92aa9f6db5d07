# SPDX-License-Identifier: Apache-2.0
"""Annotations of runs, read from the summaries in their stores when somebody looks at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from aboard.api.annotations import Annotation, Annotations
from aboard.api.runs import RunProblem
from aboard.errors import AboardError, InvalidValue
from aboard.model.selected_run import SelectedRun
from aboard.store.run.summary import Summary

_MOST_RUNS = 500
_MOST_TOLD = 20_000
_AT_ONCE = 4
_LOWEST_STEP, _HIGHEST_STEP = -(2**63), 2**63 - 1


def annotations_of(runs: Sequence[SelectedRun], read: Callable[[SelectedRun], Summary | None]) -> Annotations:
    """What these runs say; a run that cannot be read is told beside the others. `read` waits for the run's store."""
    if len(runs) > _MOST_RUNS:
        raise InvalidValue(f"{len(runs)} runs are named", hint=f"ask for at most {_MOST_RUNS} at once")
    most = _MOST_TOLD // len(runs)
    items: list[Annotation] = []
    left_out = 0
    problems: list[RunProblem] = []

    def attempted(run: SelectedRun) -> Summary | AboardError | None:
        try:
            return read(run)
        except AboardError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE, "aboard-annotations") as threads:
        for run, found in zip(runs, threads.map(attempted, runs), strict=True):
            if isinstance(found, AboardError):
                problems.append(RunProblem(run=run.name, code=found.code, message=found.message))
            elif found is not None:
                items += [_annotation(run.uid, entry) for entry in found.annotations[-most:]]
                left_out += max(0, len(found.annotations) - most)
    return Annotations(items=tuple(items), left_out=left_out, problems=tuple(problems))


def _annotation(uid: str, entry: Mapping[str, object]) -> Annotation:
    """A document of a store may say anything; what is not understood is left out of the annotation."""
    data = entry.get("data")
    return Annotation(
        run=uid,
        name=str(entry.get("name", "")),
        step=_step(entry.get("step")),
        wall_time=_time(entry.get("time")),
        data=cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {},
    )


def _step(said: object) -> int | None:
    if not isinstance(said, int) or isinstance(said, bool):
        return None
    return said if _LOWEST_STEP <= said <= _HIGHEST_STEP else None


def _time(said: object) -> float | None:
    if not isinstance(said, (int, float)) or isinstance(said, bool):
        return None
    return float(said) if math.isfinite(said) else None
