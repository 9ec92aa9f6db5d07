# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a loop that logs through TorchWriter, with a trace of the profiler beside the run."""

import torch

from aboard import Run
from aboard.integrations.torch import TorchWriter, profiler_handler

run = Run(hparams={"lr": 0.1, "hidden": 8})
logger = TorchWriter()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(256, 4)
targets = inputs.sum(1, keepdim=True)

schedule = torch.profiler.schedule(wait=2, warmup=1, active=2, repeat=1)
with torch.profiler.profile(schedule=schedule, on_trace_ready=profiler_handler()) as profiler:
    for step in range(20):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profiler.step()
        logger.writer.add_scalar("loss", loss, step)
        logger.writer.add_histogram("weights", model[0].weight, step)
logger.writer.add_graph(model, inputs[:1].requires_grad_())
logger.close()
print("loss", loss.item())
