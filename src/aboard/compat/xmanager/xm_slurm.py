# SPDX-License-Identifier: Apache-2.0
"""An executor for XManager's jobs that XManager does not have: `xm_slurm.Slurm(partition="gpu")`."""

from __future__ import annotations

from typing import Any

from aboard.compat.xmanager.xm import JobRequirements
from aboard.errors import InvalidValue
from aboard.executors.executor import Executor
from aboard.executors.slurm import Slurm as SlurmJobs


class Slurm:
    """Jobs of a Slurm cluster; further options are those of `aboard.executors.Slurm`. Jobs outlive the launcher."""

    has_containers = False

    def __init__(self, requirements: JobRequirements | None = None, **options: Any) -> None:
        self.requirements = requirements
        self._jobs = SlurmJobs(**options)

    def for_processes(self) -> Executor:
        return self._jobs

    def for_images(self) -> Executor:
        raise InvalidValue("Slurm has no images", hint="leave base_image out: the job uses the programs of the node")
