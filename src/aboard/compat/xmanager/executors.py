# SPDX-License-Identifier: Apache-2.0
"""XManager's executors, DockerOptions and absl flags for service accounts, and what they are to aboard."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from aboard.compat.xmanager.xm import JobRequirements
from aboard.errors import InvalidValue
from aboard.executors.executor import Executor

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
    """Pods of the cluster that kubectl speaks to; `service_account` goes before --xm_k8s_service_account_name."""

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
        from aboard.executors.vertex_client import default_project

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
