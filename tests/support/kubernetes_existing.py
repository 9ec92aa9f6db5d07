# SPDX-License-Identifier: Apache-2.0
"""A namespace of a cluster that is there; who uses aboard in it has the rights that aboard asks for, and no more."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config

from aboard.model.names import new_uid
from support.kubernetes_rights import ROLE
from support.kubernetes_under_test import KubernetesUnderTest, Object
from support.processes import until
from support.what_was_real import stood_on

PERSON = "person"
_LISTS = {
    "deployments": ("AppsV1Api", "deployment"),
    "events": ("CoreV1Api", "event"),
    "jobs": ("BatchV1Api", "job"),
    "pods": ("CoreV1Api", "pod"),
    "secrets": ("CoreV1Api", "secret"),
    "services": ("CoreV1Api", "service"),
}
_GONE_SECONDS = 120.0


@dataclass(kw_only=True)
class ExistingCluster(KubernetesUnderTest):
    """It is asked as the user of KUBERNETES_UNDER_TEST; `config` is that of the service account."""

    admin: Any = field(repr=False)
    volumes: list[str] = field(default_factory=list)

    @property
    def _core(self) -> Any:
        """Any: the client takes plain documents, which its types do not say."""
        return client.CoreV1Api(self.admin)

    def objects(self, kind: str) -> list[Object]:
        group, word = _LISTS[kind]
        listed = getattr(getattr(client, group)(self.admin), f"list_namespaced_{word}")(self.namespace)
        return [self.admin.sanitize_for_serialization(each) for each in listed.items]

    def end_pod(self, name: str) -> None:
        client.CoreV1Api(self.admin).delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def evict_pod(self, name: str) -> None:
        body = {"metadata": {"name": name}}
        self._core.create_namespaced_pod_eviction(name, self.namespace, body)

    def first_then(self, first: str, later: str) -> str:
        # Its pods have nothing in common but the time: the first one starts before this moment and waits for it.
        is_before = f"[ $(date +%s) -lt {int(time.time()) + 20} ]"
        return f"if {is_before}; then while {is_before}; do sleep 0.2; done; {first}; else {later}; fi"

    def pass_back_off(self) -> None:
        """Its controller waits before it makes the second pod, which is there when this is called."""

    def add_claim(self, name: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        volume = f"{self.namespace}-{name}"
        common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        size = {"storage": "1Gi"}
        self._core.create_persistent_volume(
            {"metadata": {"name": volume}, "spec": {**common, "capacity": size, "hostPath": {"path": str(folder)}}}
        )
        self.volumes.append(volume)
        wanted = {**common, "resources": {"requests": size}, "volumeName": volume}
        self._core.create_namespaced_persistent_volume_claim(
            self.namespace, {"metadata": {"name": name}, "spec": wanted}
        )

    def add_account(self, name: str) -> None:
        self._core.create_namespaced_service_account(self.namespace, {"metadata": {"name": name}})

    def add_secret(self, name: str, values: dict[str, str]) -> None:
        made = {"metadata": {"name": name}, "stringData": values}
        self._core.create_namespaced_secret(self.namespace, made)

    def allow(self, account: str = PERSON) -> None:
        roles: Any = client.RbacAuthorizationV1Api(self.admin)
        name = yaml.safe_load(ROLE.read_text())["metadata"]["name"]
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        roles.create_namespaced_role_binding(
            self.namespace, {"metadata": {"name": account}, "roleRef": reference, "subjects": [subject]}
        )

    def forbid(self) -> None:
        client.RbacAuthorizationV1Api(self.admin).delete_namespaced_role_binding(PERSON, self.namespace)

    def config_of(self, account: str, folder: Path) -> Path:
        """A kubeconfig for an account of the namespace."""
        token = self._core.create_namespaced_service_account_token(
            account, self.namespace, {"spec": {"expirationSeconds": 3600}}
        )
        made = self.admin.configuration
        cluster = {"server": made.host, "certificate-authority": made.ssl_ca_cert}
        context = {"cluster": "there", "user": account, "namespace": self.namespace}
        path = folder / f"kubeconfig-{account}"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "there",
            "clusters": [{"name": "there", "cluster": cluster}],
            "users": [{"name": account, "user": {"token": token.status.token}}],
            "contexts": [{"name": "there", "context": context}],
        }
        path.write_text(json.dumps(document))
        return path


@contextlib.contextmanager
def existing_cluster(folder: Path, kubeconfig: Path) -> Generator[ExistingCluster]:
    """A namespace of its own, which is removed with everything in it."""
    name = f"aboard-test-{new_uid().lower()}"
    with config.new_client_from_config(str(kubeconfig)) as admin:
        served = client.VersionApi(admin).get_code().git_version
        stood_on("kubernetes", f"real: a cluster {served}, and the official client {version('kubernetes')}")
        core: Any = client.CoreV1Api(admin)
        core.create_namespace({"metadata": {"name": name}})
        cluster = ExistingCluster(
            config=folder,
            image=os.environ["KUBERNETES_IMAGE"],
            address=os.environ.get("KUBERNETES_SEES", "127.0.0.1"),
            namespace=name,
            has_own_ports=True,
            admin=admin,
        )
        try:
            cluster.add_account(PERSON)
            client.RbacAuthorizationV1Api(admin).create_namespaced_role(name, yaml.safe_load(ROLE.read_text()))
            cluster.allow()
            cluster.config = cluster.config_of(PERSON, folder)
            # Every pod is the account `default` unless it says otherwise, and none is made without it.
            until(lambda: _has_account(core, name))
            yield cluster
        finally:
            core.delete_namespace(name)
            for volume in cluster.volumes:
                core.delete_persistent_volume(volume)
            until(lambda: not _exists(core, name), _GONE_SECONDS)


def _has_account(core: Any, namespace: str) -> bool:
    accounts = core.list_namespaced_service_account(namespace).items
    return any(each.metadata.name == "default" for each in accounts)


def _exists(core: Any, namespace: str) -> bool:
    return any(each.metadata.name == namespace for each in core.list_namespace().items)
