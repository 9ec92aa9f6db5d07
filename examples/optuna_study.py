# SPDX-License-Identifier: Apache-2.0
"""Optuna: every trial is a run, all in one experiment."""

import optuna

from aboard import Run
from aboard.integrations.optuna import tracked

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial: optuna.Trial, run: Run) -> float:
    x = trial.suggest_float("x", -1, 1)
    for step in range(5):
        value = (x - 0.5) ** 2 / (step + 1)
        run.log_metrics({"step": step, "value": value}, step_name="step")
        trial.report(value, step)
    if trial.number == 1:
        raise optuna.TrialPruned
    return value


study = optuna.create_study(study_name="parabola", sampler=optuna.samplers.RandomSampler(seed=0))
study.optimize(tracked(objective), n_trials=3)
print(study.best_params)
