# SPDX-License-Identifier: Apache-2.0
"""JAX and Flax: a metric writer of clu, beside clu's own."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from clu import metric_writers

from aboard.integrations.clu import AboardMetricWriter


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(jnp.tanh(nn.Dense(8)(x)))


model, inputs = Model(), jax.random.normal(jax.random.key(0), (128, 4))
targets = inputs.sum(axis=1, keepdims=True)
params = model.init(jax.random.key(1), inputs)
writer = metric_writers.MultiWriter([AboardMetricWriter(stage="train"), metric_writers.LoggingWriter()])
writer.write_hparams({"lr": 0.1, "hidden": 8})


@jax.jit
def step(params):
    loss, grads = jax.value_and_grad(lambda p: ((model.apply(p, inputs) - targets) ** 2).mean())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


for number in range(1, 11):
    params, loss = step(params)
    writer.write_scalars(number, {"loss": loss})
writer.write_histograms(10, {"kernel": params["params"]["Dense_0"]["kernel"]})
writer.write_texts(10, {"note": "trained"})
writer.write_images(10, {"picture": jax.random.uniform(jax.random.key(2), (2, 8, 8, 3))})
writer.flush()
