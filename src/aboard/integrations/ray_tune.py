# SPDX-License-Identifier: Apache-2.0
"""Ray Tune: `RunConfig(callbacks=[RayTuneCallback()])`, one run per trial in one experiment, with what was tried."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aboard.errors import InvalidValue
from aboard.integrations.framework import ScalarLogger, require
from aboard.run.training.run import Run

require("ray", "ray", "2.7", newest_tested="2.60")
tune: Any = require("ray.tune", "ray[tune]", "2.7", newest_tested="2.60")
# What Tune's own TensorBoard callback does not show either: how the trial is called and when it reported.
_ABOUT_THE_TRIAL = frozenset({"config", "pid", "timestamp", "time_total_s", "training_iteration"})
_PREFIX = "ray/tune/"


class RayTuneCallback(tune.Callback):
    """Every trial is a run. Tags and steps are those of Tune's own TensorBoard callback: `ray/tune/loss`.

    It works in the process that called `Tuner.fit`; trials report to it, from whatever machine they are on. A trial
    that is paused, or tried again after a failure, goes on in its run.
    """

    def __init__(self, experiment: str | None = None, **options: Any) -> None:
        """Choose where the runs belong.

        Args:
            experiment: what the runs have in common; without it the name of the search.
            options: arguments of `aboard.Run`, for every trial.
        """
        super().__init__()
        if wrong := sorted({"name", "separate", "tags", "tensorboard_path"} & options.keys()):
            raise InvalidValue(
                f"{', '.join(wrong)} cannot be the same for all trials of a search.",
                hint="Leave it out: every trial is a run with a name and tags of its own.",
            )
        self._experiment = experiment
        self._options = options
        self._scalars = ScalarLogger("Ray Tune")
        self._runs: dict[str, Run] = {}
        self._endings: list[threading.Thread] = []

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self._run_of(trial)

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: Mapping[str, Any], **info: Any
    ) -> None:
        step = result.get("timesteps_total") or result.get("training_iteration") or 0
        shown = {name: value for name, value in result.items() if name not in _ABOUT_THE_TRIAL and _is_shown(value)}
        self._scalars.log(self._run_of(trial).writer(), shown, step, _PREFIX)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial is over: by itself, or because the scheduler has stopped it."""
        self._end(trial, "completed")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed for good."""
        self._end(trial, "failed", _reason(trial))

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """The search is over; trials that were still going on were cancelled with it."""
        for trial in trials:
            if trial.trial_id in self._runs:
                self._end(trial, "cancelled", "the search has ended")
        for ending in self._endings:
            ending.join()
        self._endings.clear()

    def _run_of(self, trial: Any) -> Run:
        run = self._runs.get(trial.trial_id)
        if run is None:
            given: dict[str, Any] = {"experiment": self._experiment or trial.experiment_dir_name, **self._options}
            tags = {"ray.trial": trial.trial_id}
            run = Run(separate=True, hparams=trial.config, tags=tags, **given)
            self._runs[trial.trial_id] = run
        return run

    def _end(self, trial: Any, status: str, reason: str = "") -> None:
        """End its run without keeping the other trials waiting for the last files to be shipped."""
        run = self._run_of(trial)
        del self._runs[trial.trial_id]
        ending = threading.Thread(target=run.finish, args=(status, reason), name=f"end of {run.name}")
        ending.start()
        self._endings.append(ending)


def _is_shown(value: Any) -> bool:
    """Names of hosts, dates and the like come with every result, and are no metrics that somebody misses."""
    return value is not None and not isinstance(value, (str, bool))


def _reason(trial: Any) -> str:
    """The last line of what was raised, which Ray has just put into a file of this machine."""
    try:
        lines = Path(trial.error_file or "").read_text(encoding="utf-8").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "the trial has failed"
