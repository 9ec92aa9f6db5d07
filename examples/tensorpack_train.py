# SPDX-License-Identifier: Apache-2.0
"""Tensorpack, whose graphs are those of TensorFlow 1: its monitor, writing into the folder of the run."""

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_v2_behavior()

from tensorpack import ModelDesc, SimpleTrainer, TrainConfig, launch_train_with_config  # noqa: E402
from tensorpack.callbacks import MergeAllSummaries, MovingAverageSummary  # noqa: E402
from tensorpack.dataflow import DataFromList  # noqa: E402
from tensorpack.tfutils.summary import add_moving_summary  # noqa: E402

from aboard.compat.determined.tensorpack import TFEventWriter  # noqa: E402


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((4,), tf.float32, "x")]

    def build_graph(self, x):
        weights = tf.compat.v1.get_variable("w", [4])
        cost = tf.reduce_mean(tf.square(x - weights), name="cost")
        add_moving_summary(cost)
        return cost

    def optimizer(self):
        return tf.compat.v1.train.GradientDescentOptimizer(0.1)

    def tensorpack_monitors(self):
        return [TFEventWriter(split_files=True)]


model = Model()
rows = [[np.ones(4, np.float32) * place] for place in range(10)]
config = TrainConfig(
    model=model,
    dataflow=DataFromList(rows),
    steps_per_epoch=5,
    max_epoch=2,
    callbacks=[],
    extra_callbacks=[MovingAverageSummary(), MergeAllSummaries()],
    monitors=model.tensorpack_monitors(),
)
launch_train_with_config(config, SimpleTrainer())
