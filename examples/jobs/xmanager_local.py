# SPDX-License-Identifier: Apache-2.0
"""A launch script of XManager with changed import lines: three trainings, and a board beside them while they run."""

import argparse
import pathlib

from aboard.compat.xmanager import xm, xm_local
from aboard.compat.xmanager.contrib import tensorboard

parser = argparse.ArgumentParser()
parser.add_argument("--root", default="runs/xmanager")
parser.add_argument("--port", type=int, default=6006)
flags = parser.parse_args()

with xm_local.create_experiment(experiment_title="line") as experiment:
    spec = xm.PythonContainer(path=str(pathlib.Path(__file__).parent), entrypoint=xm.CommandList(["python train.py"]))
    [executable] = experiment.package([xm.Packageable(executable_spec=spec, executor_spec=xm_local.Local.Spec())])
    log_dir = pathlib.Path(flags.root).absolute() / str(experiment.experiment_id) / "logs"
    tensorboard.add_tensorboard(
        experiment,
        str(log_dir),
        flags.port,
        timeout_secs=600,
        executor=xm_local.Local(),
    )
    print(f"TensorBoard: http://localhost:{flags.port}/", flush=True)
    for index, rate in enumerate((0.1, 0.2, 0.4)):
        args = {"lr": rate, "log_dir": str(log_dir / str(index))}
        experiment.add(xm.Job(executable=executable, executor=xm_local.Local(), args=args))
