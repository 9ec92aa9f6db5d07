# SPDX-License-Identifier: Apache-2.0
"""A launch script of PAI with changed import lines; it runs where ABOARD_JOBS_EXECUTOR says, or in Docker."""

import argparse
import pathlib

from aboard.compat.pai.estimator import Estimator
from aboard.compat.pai.tensorboard import TensorBoard

parser = argparse.ArgumentParser()
parser.add_argument("--image", default="registry.example.com/train:1")
flags = parser.parse_args()

estimator = Estimator(
    command="python train.py $PAI_USER_ARGS",
    source_dir=str(pathlib.Path(__file__).parent),
    image_uri=flags.image,
    instance_type="ecs.g6.large",
    hyperparameters={"lr": 0.2},
)
estimator.fit(wait=False)

tb = estimator.tensorboard()
print(tb.app_uri)

estimator.wait()
data = estimator.tensorboard_data()
print("logs:", data)
tb.delete()

again = TensorBoard.create(uri=data)
print(again.status, again.app_uri)
again.delete()
