# SPDX-License-Identifier: Apache-2.0
"""LightGBM: one callback."""

import lightgbm
import numpy as np

from aboard.integrations.lightgbm import LightGBMCallback

random = np.random.default_rng(0)
inputs = random.normal(size=(400, 4))
targets = (inputs.sum(axis=1) > 0).astype(int)
training = lightgbm.Dataset(inputs[:300], targets[:300])
testing = training.create_valid(inputs[300:], targets[300:])
lightgbm.train(
    {"objective": "binary", "metric": ["binary_logloss", "auc"], "num_leaves": 4, "verbose": -1, "num_threads": 1},
    training,
    num_boost_round=10,
    valid_sets=[training, testing],
    valid_names=["train", "test"],
    callbacks=[LightGBMCallback()],
)
