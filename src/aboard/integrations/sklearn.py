# SPDX-License-Identifier: Apache-2.0
"""scikit-learn, whose `fit` tells nothing while it goes on: curves that estimators keep, scores, and searches.

A search (`GridSearchCV` and its kin) becomes one run for each candidate, in one experiment, with its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aboard.errors import InvalidValue
from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

_base: Any = require("sklearn.base", "scikit-learn", "1.2", newest_tested="1.9")
# What estimators keep of their training, and what it is called here.
_CURVES = {
    "loss_curve_": "loss",  # MLPClassifier, MLPRegressor
    "validation_scores_": "validation_score",
    "train_score_": "train_score",  # gradient boosting
    "validation_score_": "validation_score",  # histogram gradient boosting
    "oob_scores_": "oob_score",
    "oob_improvement_": "oob_improvement",
    "lower_bounds_": "lower_bound",  # mixtures
    "scores_": "score",
}


def log_fit(
    estimator: Any,
    features: Any = None,
    target: Any = None,
    *,
    run: Run | None = None,
    stage: str = "test",
    metrics: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Log an estimator after its `fit`: parameters, the curves that it keeps, and its score on data.

    Args:
        estimator: a fitted estimator; parameters of a pipeline are named as scikit-learn names them.
        features: data to score it on.
        target: what is true of these data.
        run: the run to log to; without one that of the script, of `aboard run`, or a new one.
        stage: the logdir of the score and the metrics.
        metrics: further numbers, such as those of `classification_report(…, output_dict=True)`.
        options: arguments of `aboard.Run`, for a new run.
    """
    _check(estimator)
    chosen = choose_run(run, **options)
    numbers = ScalarLogger("scikit-learn")
    chosen.log_hparams({"estimator": type(estimator).__name__, **_parameters(estimator)})
    for name, tag in _CURVES.items():
        values = getattr(estimator, name, None)
        if values is not None and np.ndim(values) == 1:
            for step, value in enumerate(values):
                numbers.log(chosen.writer("train"), {tag: value}, step)
    step = _iterations(estimator)
    found = dict(metrics or {})
    if features is not None:
        found = {"score": estimator.score(features, target), **found}
    numbers.log(chosen.writer(stage), found, step)
    chosen.flush()
    return chosen


def log_search(search: Any, *, experiment: str | None = None, **options: Any) -> list[str]:
    """Log a fitted search: a run for each candidate, with its parameters and scores; the names of the runs.

    `experiment` is what the runs have in common; without it the name of the estimator. `options` are those of
    `aboard.Run`.
    """
    _check(search)
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise InvalidValue(f"{type(search).__name__} has no results yet.", hint="Call fit() first.")
    group = experiment or f"{type(search).__name__}-{type(search.estimator).__name__}"
    names: list[str] = []
    numbers = ScalarLogger("scikit-learn")
    for place, parameters in enumerate(results["params"]):
        hparams = {"estimator": type(search.estimator).__name__, **_plain(parameters)}
        with Run(experiment=group, hparams=hparams, separate=True, **options) as run:
            scores = {name: column[place] for name, column in results.items() if name.startswith(("mean_", "rank_"))}
            numbers.log(run.writer(), scores, 0)
            for name, column in results.items():
                if name.startswith("split") and name.endswith(("_score", "_loss")):
                    split, _, metric = name[5:].partition("_")
                    numbers.log(run.writer(), {f"split/{metric}": column[place]}, int(split))
            if place == getattr(search, "best_index_", None):
                run.tag("best")
            names.append(run.name)
    return names


def _check(estimator: Any) -> None:
    if not isinstance(estimator, _base.BaseEstimator):
        raise InvalidValue(f"{estimator!r:.80} is no estimator of scikit-learn.", hint="Give one that was fitted.")


def _parameters(estimator: Any) -> dict[str, Any]:
    return _plain(estimator.get_params(deep=True))


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that are estimators themselves are told by their names; theirs stand beside them."""
    return {
        name: type(value).__name__ if isinstance(value, _base.BaseEstimator) else value
        for name, value in parameters.items()
        if not isinstance(value, list)
    }


def _iterations(estimator: Any) -> int:
    count = getattr(estimator, "n_iter_", None) or getattr(estimator, "n_estimators_", None)
    return int(np.max(count)) if count is not None else 0
