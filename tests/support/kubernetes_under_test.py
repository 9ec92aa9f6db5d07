# SPDX-License-Identifier: Apache-2.0
"""The cluster that tests of Kubernetes run on: the tests' own server and node, or one that is there already.

KUBERNETES_UNDER_TEST names a kubeconfig whose user may do everything, KUBERNETES_IMAGE an image with a shell, Python,
aboard and TensorBoard that the nodes have or can fetch, KUBERNETES_SEES the address of this machine as pods see it.
Folders of this machine are seen by pods only if it is the one node.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aboard.model.names import new_uid
from support.kubernetes_api import KubernetesApi
from support.kubernetes_node import kubernetes_cluster

EXISTING = os.environ.get("KUBERNETES_UNDER_TEST", "")
Object = dict[str, Any]


@dataclass(kw_only=True)
class KubernetesUnderTest(ABC):
    """A namespace of a cluster, and what tests look at and do beside the executor."""

    config: Path
    """A kubeconfig for who uses aboard there."""
    image: str = "python:3"
    address: str = "127.0.0.1"
    """Of this machine, as pods see it."""
    namespace: str = "lab"
    has_own_ports: bool = False
    """Whether each pod has all ports for itself."""

    @abstractmethod
    def objects(self, kind: str) -> list[Object]:
        """The objects of a kind, such as `jobs`."""

    @abstractmethod
    def end_pod(self, name: str) -> None:
        """Take a pod away at once."""

    @abstractmethod
    def evict_pod(self, name: str) -> None:
        """Have a pod end as it does when its node is emptied."""

    @abstractmethod
    def first_then(self, first: str, later: str) -> str:
        """A script that does `first` in the first pod that runs it, and `later` in those that replace that one."""

    @abstractmethod
    def pass_back_off(self) -> None:
        """Let the time pass that a controller waits before it replaces a pod."""

    @abstractmethod
    def add_claim(self, name: str, folder: Path) -> None:
        """A volume claim for a folder of this machine."""

    @abstractmethod
    def add_account(self, name: str) -> None:
        """A service account that may do nothing."""

    @abstractmethod
    def add_secret(self, name: str, values: dict[str, str]) -> None:
        """A Secret of who looks after the cluster."""

    @abstractmethod
    def forbid(self) -> None:
        """Take all rights from who uses aboard."""

    @abstractmethod
    def allow(self) -> None:
        """Give them back."""

    def kinds(self) -> list[str]:
        """The kind of each object."""
        kinds = ("deployments", "jobs", "pods", "secrets", "services")
        return sorted(kind for kind in kinds for _ in self.objects(kind))


@dataclass(kw_only=True)
class OwnCluster(KubernetesUnderTest):
    """The tests' own."""

    api: KubernetesApi = field(repr=False)

    def objects(self, kind: str) -> list[Object]:
        with self.api.lock:
            return [made for (its_kind, _), made in self.api.objects.items() if its_kind == kind]

    def end_pod(self, name: str) -> None:
        self.api.end_pod(name, 0)

    def evict_pod(self, name: str) -> None:
        self.api.evict_pod(name)

    def first_then(self, first: str, later: str) -> str:
        marker = self.config.parent / f"first-{new_uid()}"
        return f"if mkdir {shlex.quote(str(marker))}; then {first}; else {later}; fi"

    def pass_back_off(self) -> None:
        self.api.set_clock_ahead(10)

    def add_claim(self, name: str, folder: Path) -> None:
        """Its pods see the folders of this machine as they are."""

    def add_account(self, name: str) -> None:
        """It asks for none."""

    def add_secret(self, name: str, values: dict[str, str]) -> None:
        made = {"metadata": {"name": name, "labels": {}}, "stringData": values}
        self.api.answer("POST", f"/api/v1/namespaces/{self.namespace}/secrets", {}, made)

    def forbid(self) -> None:
        self.api.refuse = 403, 'jobs.batch is forbidden: User "person" cannot get resource "jobs"'

    def allow(self) -> None:
        self.api.refuse = None


@contextlib.contextmanager
def kubernetes_under_test(folder: Path, certificate: Path | None = None) -> Generator[KubernetesUnderTest]:
    """A namespace for one test; what is in it goes afterwards."""
    if EXISTING:
        from support.kubernetes_existing import existing_cluster

        with existing_cluster(folder, Path(EXISTING)) as existing:
            yield existing
        return
    with kubernetes_cluster(folder, certificate) as (api, config):
        yield OwnCluster(config=config, api=api)
