# SPDX-License-Identifier: Apache-2.0
"""LightGBM: `lightgbm.train(…, callbacks=[LightGBMCallback()])`, and the same for its scikit-learn estimators."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from aboard.integrations.framework import ScalarLogger, choose_run, require
from aboard.run.training.run import Run

require("lightgbm", "lightgbm", "3.3", newest_tested="4.7")


class LightGBMCallback:
    """Logs every metric of every validation set after each round: the set is the logdir, the metric the tag."""

    order = 20
    before_iteration = False

    def __init__(self, run: Run | None = None, **options: Any) -> None:
        """Choose the run: `run`, that of the script, of `aboard run`, or a new one, to which `options` belong."""
        self.run = choose_run(run, **options)
        self._scalars = ScalarLogger("LightGBM")
        self._has_told = False

    def __call__(self, env: Any) -> None:
        if not self._has_told:
            self._has_told = True
            self.run.log_hparams(env.params)
        stages: dict[str, dict[str, Any]] = defaultdict(dict)
        # Of cross-validation each row has a deviation besides.
        for stage, metric, value, *_ in env.evaluation_result_list or ():
            if stage == "cv_agg":
                stage, _, metric = metric.partition(" ")  # noqa: PLW2901
            stages[stage][metric] = value
        for stage, metrics in stages.items():
            self._scalars.log(self.run.writer(stage), metrics, env.iteration)
        if env.iteration + 1 == env.end_iteration:
            self.run.flush()
