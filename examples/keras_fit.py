# SPDX-License-Identifier: Apache-2.0
"""Keras 3 on any back end: one callback."""

import keras
import numpy as np

from aboard.integrations.keras import KerasCallback

random = np.random.default_rng(0)
inputs = random.normal(size=(256, 4)).astype("float32")
targets = inputs.sum(axis=1, keepdims=True)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])

callback = KerasCallback(hparams={"hidden": 8}, histogram_freq=1)
model.fit(inputs, targets, epochs=3, batch_size=64, validation_split=0.25, verbose=0, callbacks=[callback])
model.fit(inputs, targets, epochs=2, batch_size=64, verbose=0, callbacks=[callback])  # goes on with epoch 3
model.evaluate(inputs, targets, verbose=0, callbacks=[callback])
print("backend", keras.backend.backend())
