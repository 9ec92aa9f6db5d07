# SPDX-License-Identifier: Apache-2.0
"""XManager's `xm_local`: executors with its options, and experiments whose local jobs are waited for."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from aboard.compat.xmanager.xm import Executable, Job, JobRequirements, Packageable, package, words_of
from aboard.errors import InvalidType, InvalidValue
from aboard.executors.executor import Executor
from aboard.executors.local import Local as LocalProcesses
from aboard.jobs.experiment import Experiment as OpenExperiment
from aboard.jobs.job import Job as SubmittedJob
from aboard.jobs.submit import submit
from aboard.model.units import UnitHandle, UnitStatus

if TYPE_CHECKING:
    from aboard.executors.docker import Docker


_KUBERNETES_FLAG, _GOOGLE_FLAG = "xm_k8s_service_account_name", "xm_gcp_service_account_name"


def define_flags() -> None:
    """Have absl know the flags, where a script uses absl at all."""
    flags = _absl()
    if flags is None:
        return
    for name, default, told in (
        (_KUBERNETES_FLAG, "", "Service account of pods."),
        (_GOOGLE_FLAG, "xmanager", "Service account of jobs on Vertex, without its project."),
    ):
        if name not in flags.FLAGS:
            flags.DEFINE_string(name, default, told)


def kubernetes_service_account() -> str:
    """What --xm_k8s_service_account_name says."""
    return _flag_value(_KUBERNETES_FLAG, "")


def vertex_service_account(project: str) -> str:
    """What --xm_gcp_service_account_name says, with the project that it belongs to."""
    name = _flag_value(_GOOGLE_FLAG, "xmanager")
    return name if "@" in name or not project else f"{name}@{project}.iam.gserviceaccount.com"


def _flag_value(name: str, default: str) -> str:
    flags = _absl()
    if flags is None or name not in flags.FLAGS or not flags.FLAGS.is_parsed():
        return default
    return str(flags.FLAGS[name].value or default)


def _absl() -> Any:
    try:
        return importlib.import_module("absl.flags")
    except ImportError:
        return None


_GCLOUD = "/root/.config/gcloud"


@dataclass(frozen=True)
class DockerOptions:
    """`ports` go from the container to the machine, `volumes` from the machine to the container.

    As there, credentials of gcloud and the folder ~/gcs are shown to containers when they are there.
    """

    ports: Mapping[int, int] | None = None
    volumes: Mapping[str, str] | None = None
    mount_gcs_path: bool = True
    interactive: bool = False
    address: str = field(default="", kw_only=True)
    """Of the daemon; aboard's own addition."""

    def __post_init__(self) -> None:
        if self.interactive:
            hint = "leave it out; `docker exec -it` opens a shell in a container that runs"
            raise InvalidValue("interactive containers are not possible: jobs outlive their launcher", hint=hint)

    def executor(self) -> Docker:
        """The same for aboard."""
        from aboard.executors.docker import Docker

        volumes = {os.path.expanduser(source): target for source, target in (self.volumes or {}).items()}  # noqa: PTH111 - of the daemon's machine
        has_gcloud = Path("~/.config/gcloud").expanduser().is_dir() and _GCLOUD not in volumes.values()
        return Docker(
            address=self.address,
            ports=dict(self.ports or {}),
            volumes=volumes,
            credentials=("gcloud",) if has_gcloud else (),
            mount_gcs_path=self.mount_gcs_path and Path("~/gcs").expanduser().is_dir(),
        )


_BUCKET = "GOOGLE_CLOUD_BUCKET_NAME"
_GOOGLE = "GOOGLE_CLOUD_PLATFORM"


@dataclass(frozen=True)
class Spec:
    """For `Packageable(executor_spec=…)`: nothing is built, so nothing has to be known."""

    push_image_tag: str | None = None


@dataclass(frozen=True)
class Kubernetes:
    """Pods of the cluster that kubectl speaks to; `service_account` overrides --xm_k8s_service_account_name."""

    requirements: JobRequirements | None = None
    cloud_provider: str = _GOOGLE
    tpu_capability: object = None
    service_account: str = field(default="", kw_only=True)
    environment_secrets: tuple[str, ...] = field(default=(), kw_only=True)
    """Secrets whose entries become variables, as keys of a store that the service account does not open."""

    Spec = Spec
    has_containers = True

    def __post_init__(self) -> None:
        if self.tpu_capability is not None:
            hint = "leave it out; aboard.executors.Kubernetes(node_selector=…) chooses nodes"
            raise InvalidValue("aboard does not know how to ask for TPUs", hint=hint)

    def for_images(self) -> Executor:
        from aboard.executors.kubernetes.executor import Kubernetes as Pods

        account = self.service_account or kubernetes_service_account()
        if str(self.cloud_provider).rpartition(".")[2] != _GOOGLE:
            return Pods(service_account=account, environment_secrets=self.environment_secrets)
        label = "cloud.google.com/gke-accelerator"
        return Pods(service_account=account, environment_secrets=self.environment_secrets, gpu_type_label=label)

    def for_processes(self) -> NoReturn:
        raise InvalidValue("a job on Kubernetes needs an image", hint="give base_image, with aboard in it")


@dataclass(frozen=True)
class TensorboardCapability:
    """A TensorBoard instance of Vertex by its name, made if there is none; it reads `base_output_directory`/logs.

    Without a folder it is the bucket that GOOGLE_CLOUD_BUCKET_NAME names.
    """

    name: str
    base_output_directory: str | None = None

    @property
    def folder(self) -> str:
        """Where jobs leave what they make."""
        told = self.base_output_directory or os.environ.get(_BUCKET, "")
        if not told:
            hint = f"give base_output_directory=gs://BUCKET/PATH, or set {_BUCKET}"
            raise InvalidValue(f"the TensorBoard {self.name!r} of Vertex has no log folder", hint=hint)
        return told


@dataclass(frozen=True)
class Vertex:
    """Custom jobs of Vertex AI, in the project of the person's credentials unless one is named."""

    requirements: JobRequirements | None = None
    tensorboard: TensorboardCapability | None = None
    project: str = field(default="", kw_only=True)
    location: str = field(default="us-central1", kw_only=True)
    service_account: str = field(default="", kw_only=True)
    endpoint_address: str = field(default="", kw_only=True)

    Spec = Spec
    has_containers = True

    def for_images(self) -> Executor:
        from aboard.executors.vertex import Vertex as CustomJobs
        from aboard.executors.vertex import default_project

        project = self.project or os.environ.get("GOOGLE_CLOUD_PROJECT", "") or default_project()
        board = self.tensorboard
        return CustomJobs(
            project=project,
            location=self.location,
            service_account=self.service_account or vertex_service_account(project),
            tensorboard="" if board is None else board.name,
            base_output_directory="" if board is None else board.folder,
            endpoint_address=self.endpoint_address,
        )

    def for_processes(self) -> NoReturn:
        raise InvalidValue("a job on Vertex needs an image", hint="give base_image, with aboard in it")


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
