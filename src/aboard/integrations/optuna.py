# SPDX-License-Identifier: Apache-2.0
"""Optuna: one run per trial, all in one experiment, with the parameters that were tried."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator
from typing import Any

from aboard.integrations.framework import ScalarLogger, require
from aboard.run.training.run import Run

optuna: Any = require("optuna", "optuna", "3.0", newest_tested="4.9")
Objective = Callable[..., Any]


def tracked(objective: Objective, *, experiment: str | None = None, **options: Any) -> Callable[[Any], Any]:
    """An objective whose every trial is a run: `study.optimize(tracked(objective), …)`.

    The objective is called with the trial, and with the run if it takes a second argument. What it reports to Optuna
    (`trial.report`) is the curve `objective`, what it returns the last value; a pruned trial is cancelled, one that
    raises has failed.

    Args:
        objective: what Optuna calls.
        experiment: what the runs have in common; without it the name of the study.
        options: arguments of `aboard.Run`.
    """
    takes_run = _takes_two(objective)

    @functools.wraps(objective)
    def with_run(trial: Any) -> Any:
        with trial_run(trial, experiment=experiment, **options) as run:
            value = objective(trial, run) if takes_run else objective(trial)
            _log_value(run, trial, value)
            return value

    return with_run


@contextlib.contextmanager
def trial_run(trial: Any, *, experiment: str | None = None, **options: Any) -> Generator[Run]:
    """Give an objective a run for this trial, as a context: it ends as the trial ends."""
    study = trial.study
    tags = {"optuna.study": study.study_name, "optuna.trial": str(trial.number)}
    named: dict[str, Any] = {"experiment": experiment or study.study_name, "tags": tags, **options}
    run = Run(separate=True, **named)
    try:
        yield run
    except optuna.TrialPruned as pruned:
        _log_reported(run, trial)
        run.finish("cancelled", f"pruned {pruned}".strip())
        raise
    except BaseException as error:
        _log_reported(run, trial)
        run.finish("failed", f"{type(error).__name__}: {error}")
        raise
    _log_reported(run, trial)
    run.finish()


def _log_reported(run: Run, trial: Any) -> None:
    run.log_hparams(trial.params)
    known = trial.study._storage.get_trial(trial._trial_id)  # noqa: SLF001 - a running trial tells no other way
    for step, value in sorted(known.intermediate_values.items()):
        run.writer().add_scalar("objective", value, step)


def _log_value(run: Run, trial: Any, value: Any) -> None:
    """What the objective came to, behind what it has reported."""
    if value is None:
        return
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    names = trial.study.metric_names or ([""] if len(values) == 1 else [str(place) for place in range(len(values))])
    ScalarLogger("Optuna").log(
        run.writer(), {f"value/{name}" if name else "value": one for name, one in zip(names, values, strict=False)}, 0
    )


def _takes_two(objective: Objective) -> bool:
    import inspect

    try:
        parameters = inspect.signature(objective).parameters.values()
    except (TypeError, ValueError):
        return False
    places = [one for one in parameters if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]
    return len([one for one in places if one.default is one.empty]) > 1
