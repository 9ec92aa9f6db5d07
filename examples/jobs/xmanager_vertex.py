# SPDX-License-Identifier: Apache-2.0
"""A launch script of XManager with changed import lines: a training on Vertex AI with its TensorBoard instance."""

import argparse

from aboard.compat.xmanager import xm, xm_local

parser = argparse.ArgumentParser()
parser.add_argument("--project", default="", help="that of the credentials, unless it is named")
parser.add_argument("--image", default="us-docker.pkg.dev/project/train:1", help="with aboard in it")
parser.add_argument("--tensorboard", default="line")
parser.add_argument("--output_dir", default="gs://bucket/line")
parser.add_argument("--endpoint", default="", help="of the API, where it is not Google's own")
flags = parser.parse_args()

with xm_local.create_experiment(experiment_title="cloud") as experiment:
    spec = xm.PythonContainer(base_image=flags.image, path=None, entrypoint=xm.CommandList(["python train.py"]))
    [executable] = experiment.package([xm.Packageable(spec, xm_local.Vertex.Spec())])
    tensorboard_capability = xm_local.TensorboardCapability(
        # Name of the TensorBoard instance used. Will be created if it doesn't exist.
        name=flags.tensorboard,
        # Log directory used
        base_output_directory=flags.output_dir,
    )
    vertex = xm_local.Vertex(tensorboard=tensorboard_capability, project=flags.project, endpoint_address=flags.endpoint)
    experiment.add(xm.Job(executable=executable, executor=vertex, args={"lr": 0.1}))
