# SPDX-License-Identifier: Apache-2.0
"""XGBoost: one callback."""

import numpy as np
import xgboost

from aboard.integrations.xgboost import XGBoostCallback

random = np.random.default_rng(0)
inputs = random.normal(size=(400, 4))
targets = (inputs.sum(axis=1) > 0).astype(int)
training, testing = xgboost.DMatrix(inputs[:300], targets[:300]), xgboost.DMatrix(inputs[300:], targets[300:])
xgboost.train(
    {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "max_depth": 2, "eta": 0.3, "nthread": 1},
    training,
    num_boost_round=10,
    evals=[(training, "train"), (testing, "test")],
    verbose_eval=False,
    callbacks=[XGBoostCallback()],
)
