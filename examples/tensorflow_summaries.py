# SPDX-License-Identifier: Apache-2.0
"""TensorFlow with tf.summary, Keras' own callback and the summaries of TensorFlow 1, as they are: no line of aboard.

Start it with `aboard run --watch model_dir -- python examples/tensorflow_summaries.py`.
"""

import numpy as np
import tensorflow as tf

inputs = np.random.default_rng(0).normal(size=(128, 4)).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
# Keras writes to the folder "logs" unless told otherwise; `aboard run` looks there.
callbacks = [tf.keras.callbacks.TensorBoard(histogram_freq=1)]
model.fit(inputs, targets, epochs=2, validation_split=0.5, verbose=0, callbacks=callbacks)

with tf.summary.create_file_writer("logs/custom").as_default():
    for step in range(5):
        tf.summary.scalar("distance", 1 / (step + 1), step=step)

# What an Estimator leaves in its model_dir: TensorFlow 2.16 and later have no Estimator, its file writer is there.
with tf.Graph().as_default(), tf.compat.v1.summary.FileWriter("model_dir") as writer:
    for step in range(5):
        value = tf.compat.v1.Summary.Value(tag="loss", simple_value=1 / (step + 1))
        writer.add_summary(tf.compat.v1.Summary(value=[value]), step)
