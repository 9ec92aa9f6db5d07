# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Accelerate: a tracker."""

import torch
from accelerate import Accelerator

from aboard.integrations.accelerate import AboardTracker

accelerator = Accelerator(cpu=True, log_with=AboardTracker())
accelerator.init_trackers("example", config={"lr": 0.1, "batch": 16})
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=16)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
step = 0
for _ in range(2):
    for batch in loader:
        loss = model(batch).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"loss": loss, "note": f"step {step}"}, step=step)
        step += 1
images = torch.rand(2, 8, 8, 3).numpy()
accelerator.get_tracker("aboard").log_images({"samples": images}, step=step)
accelerator.end_training()
