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
    with ThreadPoolExecutor(_AT_ONCE, "aboard-annotations") as threads:
        for run, found in zip(runs, threads.map(lambda run: _attempted(run, read), runs), strict=True):
            if isinstance(found, AboardError):
                problems.append(RunProblem(run=run.name, code=found.code, message=found.message))
            elif found is not None:
                items += [_annotation(run.uid, entry) for entry in found.annotations[-most:]]
                left_out += max(0, len(found.annotations) - most)
    return Annotations(items=tuple(items), left_out=left_out, problems=tuple(problems))


def _attempted(run: SelectedRun, read: Callable[[SelectedRun], Summary | None]) -> Summary | AboardError | None:
    try:
        return read(run)
    except AboardError as error:
        return error


def _annotation(uid: str, entry: Mapping[str, object]) -> Annotation:
    """A document of a store may say anything; what is not understood is left out of the annotation."""
    step, time, data = entry.get("step"), entry.get("time"), entry.get("data")
    is_step = isinstance(step, int) and not isinstance(step, bool) and _LOWEST_STEP <= step <= _HIGHEST_STEP
    is_time = isinstance(time, (int, float)) and not isinstance(time, bool) and math.isfinite(time)
    return Annotation(
        run=uid,
        name=str(entry.get("name", "")),
        step=step if is_step else None,
        wall_time=float(time) if is_time else None,
        data=cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {},
    )
