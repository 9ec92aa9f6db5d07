# SPDX-License-Identifier: Apache-2.0
"""A launch script of XManager with changed import lines: three trainings on Slurm, and a board here beside them."""

import argparse
import pathlib

from aboard.compat.xmanager import xm, xm_local, xm_slurm
from aboard.compat.xmanager.contrib import tensorboard

parser = argparse.ArgumentParser()
parser.add_argument("--root", default="runs/xmanager", help="a folder that the nodes see too")
parser.add_argument("--partition", default="")
parser.add_argument("--port", type=int, default=6006)
flags = parser.parse_args()

with xm_local.create_experiment(experiment_title="line-slurm") as experiment:
    spec = xm.PythonContainer(path=str(pathlib.Path(__file__).parent), entrypoint=xm.CommandList(["python train.py"]))
    [executable] = experiment.package([xm.Packageable(executable_spec=spec)])
    log_dir = pathlib.Path(flags.root).absolute() / str(experiment.experiment_id) / "logs"
    tensorboard.add_tensorboard(experiment, str(log_dir), flags.port, timeout_secs=3600, executor=xm_local.Local())
    print(f"TensorBoard: http://localhost:{flags.port}/", flush=True)
    executor = xm_slurm.Slurm(xm.JobRequirements(cpu=1), partition=flags.partition)
    for index, rate in enumerate((0.1, 0.2, 0.4)):
        args = {"lr": rate, "log_dir": str(log_dir / str(index))}
        experiment.add(xm.Job(executable=executable, executor=executor, args=args))
# The board stays until the last of the jobs has ended.
