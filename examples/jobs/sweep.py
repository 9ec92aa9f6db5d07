# SPDX-License-Identifier: Apache-2.0
"""A sweep over a grid, on this machine or wherever the argument says (`slurm:partition=gpu`), on one live board."""

import argparse
import pathlib

import aboard

parser = argparse.ArgumentParser()
parser.add_argument("executor", nargs="?", default="local")
flags = parser.parse_args()

sweep = aboard.sweep(
    "python train.py --lr {hparams.lr} --steps {hparams.steps}",
    {"lr": [0.05, 0.1, 0.2], "steps": [10, 20]},
    source_dir=pathlib.Path(__file__).parent,
    executor=flags.executor,
    experiment="line-sweep",
    at_once=2,
)
board = sweep.tensorboard()
print("board:", board.app_uri, flush=True)
print("ended:", {str(state): count for state, count in sweep.wait().items()})
