# SPDX-License-Identifier: Apache-2.0
"""A small training for the launchers beside it: gradient descent on a line, logged where the job is told to."""

import argparse
import os

from aboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--log_dir", default=os.environ.get("PAI_OUTPUT_TENSORBOARD", "runs/line"))
arguments = parser.parse_args()

weight = 5.0
with SummaryWriter(arguments.log_dir) as writer:
    for step in range(arguments.steps):
        weight -= arguments.lr * 2 * weight
        writer.add_scalar("train/loss", weight**2, step)
print(f"loss {weight**2:.3g} after {arguments.steps} steps")
