# SPDX-License-Identifier: Apache-2.0
"""XManager's `contrib.tensorboard`: a board as an auxiliary unit of an experiment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from aboard.compat.xmanager.xm_local import Experiment, Kubernetes, Local, Vertex
from aboard.compat.xmanager.xm_slurm import Slurm
from aboard.errors import InvalidValue
from aboard.jobs.experiment_board import DEFAULT_PORT, DEFAULT_TIMEOUT, ExperimentBoard
from aboard.jobs.experiment_board import add_tensorboard as add_beside


class TensorboardProvider:
    """What XManager's class of that name can be asked."""

    DEFAULT_TENSORBOARD_PORT = DEFAULT_PORT

    @staticmethod
    def get_tensorboard_job_args(
        log_dir: str, port: int | None = None, additional_args: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The flags of the board's process; further ones go before."""
        given = {"logdir": log_dir, "port": port or DEFAULT_PORT, "host": "0.0.0.0", "load_fast": "false"}  # noqa: S104 - of a container
        return {**given, **(additional_args or {})}


def add_tensorboard(
    experiment: Experiment,
    log_dir: str | os.PathLike[str] | None = None,
    port: int | Local | Kubernetes | Slurm | Vertex | None = None,
    timeout_secs: float = DEFAULT_TIMEOUT,
    args: Mapping[str, Any] | None = None,
    *,
    executor: Local | Kubernetes | Slurm | Vertex | None = None,
    logdir: str | os.PathLike[str] | None = None,
) -> ExperimentBoard:
    """As `aboard.add_tensorboard`, with XManager's executors: with DockerOptions a container, otherwise a process."""
    if isinstance(executor, Vertex) or isinstance(port, Vertex):
        hint = "give Vertex(tensorboard=TensorboardCapability(name, base_output_directory)) to its jobs"
        raise InvalidValue("Vertex has TensorBoard instances of its own, and no place for another", hint=hint)
    if isinstance(port, Local | Kubernetes | Slurm):
        if executor is not None:
            raise InvalidValue("there are two executors", hint="name one of them")
        port, executor = None, port
    chosen = executor or Local()
    board = add_beside(
        experiment.experiment,
        log_dir,
        port,
        timeout_secs,
        args,
        executor=chosen.for_images() if chosen.has_containers else chosen.for_processes(),
        logdir=logdir,
    )
    if line := board.port_forward_line:
        sys.stdout.write(f"TensorBoard: {line}\n")
    return board
