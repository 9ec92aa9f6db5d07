# SPDX-License-Identifier: Apache-2.0
"""A launch script of XManager with changed import lines: trainings in pods, and TensorBoard in a pod beside them."""

from absl import app, flags

from aboard.compat.xmanager import xm, xm_local
from aboard.compat.xmanager.contrib import tensorboard

_PATH = flags.DEFINE_string("path", ".", "Folder with train.py.")
_IMAGE = flags.DEFINE_string("image", "registry.example.com/train:1", "With aboard in it.")
_LOGS = flags.DEFINE_string("logs", "gs://bucket/logs", "Where all pods can write and read.")
_KEYS = flags.DEFINE_list("keys", [], "Secrets with keys of the store, where the service account does not open it.")
_PORT = flags.DEFINE_integer("tensorboard_port", 6006, "Port used by TensorBoard inside its pod.")


def main(_: list[str]) -> None:
    with xm_local.create_experiment(experiment_title="pods") as experiment:
        spec = xm.PythonContainer(
            path=_PATH.value, base_image=_IMAGE.value, entrypoint=xm.CommandList(["python train.py"])
        )
        pods = xm_local.Kubernetes(environment_secrets=tuple(_KEYS.value))
        [executable] = experiment.package([xm.Packageable(spec, xm_local.Kubernetes.Spec())])
        log_dir = f"{_LOGS.value}/{experiment.experiment_id}"
        for index, rate in enumerate((0.1, 0.2)):
            args = {"lr": rate, "log_dir": f"{log_dir}/{index}"}
            experiment.add(xm.Job(executable=executable, executor=pods, args=args))
        tensorboard.add_tensorboard(
            experiment,
            log_dir,
            _PORT.value,
            timeout_secs=600,
            executor=pods,
        )


app.run(main)
