# SPDX-License-Identifier: Apache-2.0
"""XManager's executors of clusters and clouds, and what they are to aboard."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import NoReturn

from aboard.compat.xmanager.flags import kubernetes_service_account, vertex_service_account
from aboard.compat.xmanager.xm import JobRequirements
from aboard.errors import InvalidValue
from aboard.executors.executor import Executor

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
        """Pods."""
        from aboard.executors.kubernetes import Kubernetes as Pods

        account = self.service_account or kubernetes_service_account()
        if str(self.cloud_provider).rpartition(".")[2] != _GOOGLE:
            return Pods(service_account=account, environment_secrets=self.environment_secrets)
        label = "cloud.google.com/gke-accelerator"
        return Pods(service_account=account, environment_secrets=self.environment_secrets, gpu_type_label=label)

    def for_processes(self) -> NoReturn:
        """There are none."""
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
        """Jobs of Vertex."""
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
        """There are none."""
        raise InvalidValue("a job on Vertex needs an image", hint="give base_image, with aboard in it")
