# SPDX-License-Identifier: Apache-2.0
"""PAI's `Estimator`: a training job, and the board over its logs."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from aboard.compat.pai.tensorboard import TensorBoard
from aboard.config.settings import load_settings
from aboard.errors import Conflict, InvalidValue
from aboard.executors.executor import Executor
from aboard.executors.registry import executor_from
from aboard.jobs.job import Job
from aboard.jobs.submit import submit
from aboard.model.names import new_uid


class NoSubmittedJob(Conflict, RuntimeError):
    """For an estimator that has not been fitted; PAI raises a RuntimeError."""


class FailedJob(Conflict, RuntimeError):
    """For a job that was waited for and did not complete."""


class Estimator:
    """How a job is run. Where: an `executor`, the one of the settings, or Docker when there is an image."""

    def __init__(
        self,
        command: str,
        source_dir: str | os.PathLike[str] | None = None,
        image_uri: str | None = None,
        instance_type: str | None = None,
        *,
        instance_count: int = 1,
        hyperparameters: Mapping[str, Any] | None = None,
        environments: Mapping[str, str] | None = None,
        base_job_name: str | None = None,
        max_run_time: float | None = None,
        executor: Executor | str | None = None,
    ) -> None:
        """Take PAI's arguments.

        Args:
            command: A line of shell.
            source_dir: Sent along, without what git ignores.
            image_uri: An image with aboard in it; processes (local, ssh, slurm) do without, and it is said.
            instance_type: Kept as a tag of the run; with `local_gpu` it gets a GPU.
            instance_count: 1.
            hyperparameters: Kept with the run; in PAI_HPS as JSON and in PAI_USER_ARGS as arguments.
            environments: Further variables.
            base_job_name: What runs are called, before a part of their own.
            max_run_time: Seconds.
            executor: aboard's own addition.
        """
        if instance_count != 1:
            hint = "start the ranks of one machine with torchrun, or submit a job for each part"
            raise InvalidValue(f"a job on {instance_count} instances is not possible", hint=hint)
        self.command, self.source_dir, self.image_uri, self.instance_type = (
            command,
            source_dir,
            image_uri,
            instance_type,
        )
        self.hyperparameters, self.environments = dict(hyperparameters or {}), dict(environments or {})
        self.base_job_name, self.max_run_time = base_job_name, max_run_time
        self._executor = executor
        self._job: Job | None = None

    @property
    def latest_job(self) -> Job | None:
        """The job of the last `fit`."""
        return self._job

    def fit(self, wait: bool = True, show_logs: bool = True) -> Job:
        """Submit a job; with `wait`, show what it prints and return when it has completed."""
        executor = self._chosen()
        arguments = [word for name, value in self.hyperparameters.items() for word in (f"--{name}", str(value))]
        self._job = submit(
            ("/bin/sh", "-c", self.command),
            source_dir=self.source_dir,
            executor=executor,
            hparams=self.hyperparameters,
            name=None if self.base_job_name is None else f"{self.base_job_name}_{new_uid()[-6:].lower()}",
            tags={"instance_type": self.instance_type} if self.instance_type else None,
            environment={
                "PAI_HPS": json.dumps(self.hyperparameters),
                "PAI_USER_ARGS": shlex.join(arguments),
                **self.environments,
            },
            image=(self.image_uri or "") if executor.takes_images else "",
            gpus=1 if self.instance_type == "local_gpu" else 0,
            timeout=self.max_run_time,
        )
        if wait:
            self.wait(show_logs=show_logs)
        return self._job

    def wait(self, *, show_logs: bool = True) -> None:
        """Wait for the job; an error when it did not complete."""
        job = self._submitted()
        if show_logs:
            for piece in job.logs(follow=True):
                sys.stdout.write(piece.decode(errors="replace"))
                sys.stdout.flush()
        status = job.wait()
        if not status.has_succeeded:
            why = status.message or status.reason or status.state
            raise FailedJob(f"the job {job.name} is {status.state}: {why}", hint="latest_job.logs() has its output")

    def tensorboard(self, wait: bool = True) -> TensorBoard:
        """A board over the logs of the last job, live; the one that is there is opened again."""
        return TensorBoard(self._submitted().tensorboard(wait=wait).id)

    def tensorboard_data(self) -> str:
        """Where the logs of the last job are; waits until its run has begun."""
        run = self._submitted().wait_for_run()
        return f"{run.store.rstrip('/')}/{run.uid}/tb/"

    def _submitted(self) -> Job:
        if self._job is None:
            raise NoSubmittedJob("Could not find a submitted training job.", hint="call fit() first")
        return self._job

    def _chosen(self) -> Executor:
        said = self._executor or load_settings().executor
        executor = executor_from(said or ("docker" if self.image_uri else "local"), "local")
        if self.image_uri and not executor.takes_images:
            sys.stderr.write(f"aboard: {executor.name} has no images; the job runs without {self.image_uri}\n")
        return executor
