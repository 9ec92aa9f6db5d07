# SPDX-License-Identifier: Apache-2.0
"""Ray Tune: every trial is a run, all in one experiment, with what was tried as hyperparameters."""

from pathlib import Path

import ray
from ray import tune

from aboard.integrations.ray_tune import RayTuneCallback


def train(config: dict[str, float]) -> None:
    for step in range(1, 6):
        tune.report({"loss": (config["x"] - 0.5) ** 2 / step, "size": {"hidden": config["hidden"]}})
    if config["x"] > 1:
        raise RuntimeError("x is out of range")


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
tuner = tune.Tuner(
    train,
    param_space={"x": tune.grid_search([0.0, 0.5, 2.0]), "hidden": 8},
    run_config=tune.RunConfig(
        name="parabola", storage_path=str(Path("ray").resolve()), callbacks=[RayTuneCallback()], verbose=0
    ),
)
results = tuner.fit()
print(results.get_best_result("loss", "min").config)
