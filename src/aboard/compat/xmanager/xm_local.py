# SPDX-License-Identifier: Apache-2.0
"""XManager's `xm_local`: executors by its names, and experiments whose local jobs are waited for."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aboard.compat.xmanager.executors import (
    DockerOptions,
    Kubernetes,
    Spec,
    TensorboardCapability,
    Vertex,
    define_flags,
)
from aboard.compat.xmanager.xm import Executable, Job, JobRequirements, Packageable, package, words_of
from aboard.errors import InvalidType
from aboard.executors.executor import Executor
from aboard.executors.local import Local as LocalProcesses
from aboard.jobs.experiment import Experiment as OpenExperiment
from aboard.jobs.job import Job as SubmittedJob
from aboard.jobs.submit import submit
from aboard.model.units import UnitHandle, UnitStatus

define_flags()

__all__ = [
    "DockerOptions",
    "Experiment",
    "Kubernetes",
    "Local",
    "TensorboardCapability",
    "Vertex",
    "WorkUnit",
    "create_experiment",
]


@dataclass(frozen=True)
class Local:
    """The machine of the launcher: containers where there are images or DockerOptions, otherwise processes."""

    requirements: JobRequirements | None = None
    docker_options: DockerOptions | None = None
    experimental_stream_output: bool = True

    Spec = Spec

    @property
    def has_containers(self) -> bool:
        """Whether a board beside an experiment is a container."""
        return self.docker_options is not None

    def for_images(self) -> Executor:
        return (self.docker_options or DockerOptions()).executor()

    def for_processes(self) -> Executor:
        return LocalProcesses()


class WorkUnit:
    """A job of an experiment. It can be awaited as well as left alone."""

    def __init__(self, job: SubmittedJob, work_unit_id: int, *, is_local: bool) -> None:
        self.job, self.work_unit_id, self.is_local = job, work_unit_id, is_local

    async def wait_until_complete(self) -> UnitStatus:
        return await asyncio.to_thread(self.job.wait)

    def stop(self) -> None:
        self.job.cancel()

    def __await__(self) -> Generator[Any, None, Self]:
        async def added() -> Self:
            return self

        return added().__await__()


class Experiment:
    """Jobs that belong together. At the end of the `with` block the local ones are waited for."""

    def __init__(self, experiment_title: str) -> None:
        self.experiment = OpenExperiment(experiment_title)
        self.experiment_id = int(time.time() * 1000)
        self._units: list[WorkUnit] = []

    @property
    def title(self) -> str:
        return self.experiment.name

    @property
    def work_unit_count(self) -> int:
        return len(self._units)

    @property
    def work_units(self) -> Mapping[int, WorkUnit]:
        """Jobs by their numbers, from 1 on."""
        return {unit.work_unit_id: unit for unit in self._units}

    def package(self, packageables: list[Packageable]) -> list[Executable]:
        """Executables in the order of what they are made from."""
        return package(packageables)

    def add(self, job: Job, args: Mapping[str, Any] | None = None) -> WorkUnit:
        """Submit a job; `args` may hold further `args` and `env_vars` for it."""
        if not isinstance(job, Job):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = "add each xm.Job by itself; groups and generators of jobs are not taken"
            raise InvalidType(f"{type(job).__name__} cannot be added to an experiment", hint=hint)
        number = len(self._units) + 1
        executor = job.executor or Local()
        needs = executor.requirements or JobRequirements()
        further = args or {}
        words = [*words_of(job.executable.args), *words_of(job.args), *words_of(further.get("args"))]
        image = job.executable.image
        submitted = submit(
            job.executable.command(words),
            source_dir=None if job.executable.source is None else Path(job.executable.source),
            executor=executor.for_images() if image else executor.for_processes(),
            experiment=self.title,
            name=f"{job.name or self.title}-{self.experiment_id}-{number}",
            environment={**job.executable.env_vars, **job.env_vars, **further.get("env_vars", {})},
            image=image,
            cpus=needs.cpus,
            memory=needs.memory,
            gpus=needs.gpus,
            gpu_type="" if isinstance(executor, Local) else needs.gpu_type,
        )
        if isinstance(executor, Vertex):
            _say_where(submitted)
        is_local = isinstance(executor, Local)
        unit = WorkUnit(self.experiment.add(submitted), number, is_local=is_local)
        self._units.append(unit)
        if isinstance(executor, Local) and executor.experimental_stream_output:
            threading.Thread(target=_stream, args=(submitted, number), daemon=True).start()
        return unit

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        local = [unit for unit in self._units if unit.is_local]
        try:
            if kind is None:
                for unit in local:
                    unit.job.wait()
        except BaseException:
            _terminate(local)
            raise
        finally:
            self.experiment.close()
        if kind is not None:
            _terminate(local)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)


def create_experiment(experiment_title: str) -> Experiment:
    return Experiment(experiment_title)


def _say_where(job: SubmittedJob) -> None:
    from aboard.executors.vertex import Vertex as CustomJobs

    runs_on = job.executor
    assert isinstance(runs_on, CustomJobs)
    sys.stdout.write(f"Job launched at: {runs_on.console_url(UnitHandle.parse(job.record.handle))}\n")


def _terminate(units: list[WorkUnit]) -> None:
    live = [unit for unit in units if not unit.job.refresh().state.is_ended]
    if live:
        sys.stderr.write(f"Terminating {len(live)} local job(s) that may still be running...\n")
    for unit in live:
        unit.stop()


def _stream(job: SubmittedJob, number: int) -> None:
    """Show what a local job prints, line by line, with its number."""
    rest = b""
    for piece in job.logs(follow=True):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            sys.stdout.write(f"[{number}] {line.decode(errors='replace')}\n")
        sys.stdout.flush()
