# SPDX-License-Identifier: Apache-2.0
"""Runs by where their files are; of those that have none yet it is told, and the others can be shown all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from aboard.api.runs import RunProblem
from aboard.errors import AboardError, InvalidValue
from aboard.model.run import Run
from aboard.model.selected_run import SelectedRun
from aboard.services.open_run import RunPlace

_MOST_RUNS = 500


class ReadableRuns(NamedTuple):
    """Runs that can be opened, and what keeps others from it."""

    places: dict[RunPlace, SelectedRun]
    problems: list[RunProblem]


def readable_runs(runs: Sequence[SelectedRun], place_of: Callable[[SelectedRun], RunPlace]) -> ReadableRuns:
    """The runs of a selection; `place_of` raises for one without files."""
    if len(runs) > _MOST_RUNS:
        raise InvalidValue(f"{len(runs)} runs are named", hint=f"ask for at most {_MOST_RUNS} at once")
    found = ReadableRuns({}, [])
    for run in runs:
        try:
            found.places[place_of(run)] = run
        except AboardError as error:
            found.problems.append(RunProblem(run=run.name, code=error.code, message=error.message))
    return found


def selected_from(run: Run) -> SelectedRun:
    """As much of a run of the catalog as tells what it is and where its files are."""
    assert run.number is not None, "every run of a catalog has a number"
    return SelectedRun(
        number=run.number,
        uid=run.uid,
        name=run.name,
        workspace=run.workspace,
        status=run.status,
        experiment_number=run.experiment_number,
        store=run.store,
    )
