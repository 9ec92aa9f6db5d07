# SPDX-License-Identifier: Apache-2.0
"""XGBoost: `xgboost.train(…, callbacks=[XGBoostCallback()])`, and the same for its scikit-learn estimators."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The base classes are of frameworks that are not installed where types are checked.

from __future__ import annotations

import json
from typing import Any

from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

xgboost: Any = require("xgboost", "xgboost", "1.6", newest_tested="3.2")


class XGBoostCallback(xgboost.callback.TrainingCallback):
    """Logs every metric of every evaluation set after each round: the set is the logdir, the metric the tag."""

    def __init__(self, run: Run | None = None, **options: Any) -> None:
        """Choose the run: `run`, that of the script, of `aboard run`, or a new one, to which `options` belong."""
        super().__init__()
        self.run = choose_run(run, **options)
        self._scalars = ScalarLogger("XGBoost")

    def before_training(self, model: Any) -> Any:
        """Parameters of the booster are hyperparameters; of several folds those of the first."""
        folds = getattr(model, "cvfolds", None)
        self.run.log_hparams(_parameters(folds[0].bst if folds else model))
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        for stage, metrics in evals_log.items():
            newest = {name: _newest(values) for name, values in metrics.items()}
            self._scalars.log(self.run.writer(stage), newest, epoch)
        return False

    def after_training(self, model: Any) -> Any:
        """What the booster says of its best round; the run goes on."""
        best = model.attr("best_iteration") if hasattr(model, "attr") else None
        if best is not None:
            self.run.log_event("best iteration", {"iteration": int(best), "score": str(model.attr("best_score"))})
        self.run.flush()
        return model


def _newest(values: Any) -> Any:
    """The value of this round; of cross-validation, mean and deviation, the mean."""
    newest = values[-1]
    return newest[0] if isinstance(newest, tuple) else newest


def _parameters(model: Any) -> dict[str, Any]:
    """The settings that matter for training, flat; XGBoost tells all of them as nested text."""
    told = json.loads(model.save_config())["learner"]
    kept: dict[str, Any] = {"booster": told["learner_train_param"]["booster"]}
    kept["objective"] = told["learner_train_param"]["objective"]
    grown = told.get("gradient_booster", {}).get("tree_train_param", {})
    for name, text in grown.items():
        try:
            number = float(text)
        except (TypeError, ValueError):
            kept[name] = text
            continue
        kept[name] = int(number) if number.is_integer() else number
    return kept
