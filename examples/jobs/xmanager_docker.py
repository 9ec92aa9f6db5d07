# SPDX-License-Identifier: Apache-2.0
"""A launch script of XManager with changed import lines: TensorBoard in a container, at localhost:6006."""

import argparse
import pathlib

from aboard.compat.xmanager import xm_local
from aboard.compat.xmanager.contrib import tensorboard

parser = argparse.ArgumentParser()
parser.add_argument("log_dir", help="a folder of this machine, or gs://BUCKET/PATH")
parser.add_argument("--port", type=int, default=6006, help="inside the container")
parser.add_argument("--host_port", type=int, default=6006)
parser.add_argument("--volume", action="append", default=[], help="HOST:CONTAINER")
flags = parser.parse_args()

volumes = dict(volume.split(":") for volume in flags.volume)
if flags.log_dir.startswith("gs://"):
    volumes[str(pathlib.Path("~/.config/gcloud").expanduser())] = "/root/.config/gcloud"

with xm_local.create_experiment(experiment_title="docker") as experiment:
    tensorboard.add_tensorboard(
        experiment,
        flags.log_dir,  # Log directory used
        flags.port,  # Port used by TensorBoard inside container
        timeout_secs=3600,  # Time passed before stopping the server
        executor=xm_local.Local(
            docker_options=xm_local.DockerOptions(
                # Make visualization visible to host on `localhost:6006`.
                ports={flags.host_port: flags.port},
                volumes=volumes,
            )
        ),
    )
    print(f"TensorBoard: http://localhost:{flags.host_port}/", flush=True)
    input("Press Enter to end it. ")
