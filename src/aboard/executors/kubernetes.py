# SPDX-License-Identifier: Apache-2.0
"""Units in Kubernetes by the official client: Jobs for what ends, Deployments for what serves, and Services."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from aboard.errors import ExecutorUnavailable, InvalidValue, MissingPackage, UnitRefused
from aboard.executors.executor import Executor
from aboard.executors.filled_command import spec_digest
from aboard.executors.local import running_unit, unknown_unit
from aboard.model.uid import check_uid
from aboard.model.unit import UnitSpec
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_status import Endpoint, UnitStatus

try:
    from kubernetes import client as _client
    from kubernetes import config as _config

    from aboard.executors.kubernetes_faults import ApiException, explained
    from aboard.executors.kubernetes_manifests import DIGEST, STOPPED, UNIT_LABEL, manifests, object_name
    from aboard.executors.kubernetes_status import kubernetes_status
except ImportError as error:
    hint = "pip install 'aboard[kubernetes]'"
    raise MissingPackage("the executor kubernetes needs the official client", hint=hint) from error

# The client has no types: what it hands out is looked at as it is.
client, config = cast("Any", _client), cast("Any", _config)
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True)
class Kubernetes(Executor):
    """Pods of one cluster: the one this process runs in, otherwise that of the kubeconfig.

    A unit with `serves` and no timeout is a Deployment, every other one a Job that is never tried twice. Stopping keeps
    the object and ends its pods; what they printed is then gone.
    """

    name: ClassVar[str] = "kubernetes"

    namespace: str = ""
    """Default: that of the context, or `default`."""
    context: str = ""
    kubeconfig: str = ""
    service_account: str = ""
    """Of units that name none; with workload identity it is who they are to the cloud."""
    image_pull_secrets: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    """Persistent volume claim → where the unit sees it."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Secret → where the unit sees its entries as files."""
    environment_secrets: tuple[str, ...] = ()
    """Secrets whose entries become variables."""
    gpu_resource: str = "nvidia.com/gpu"
    ttl_seconds: int | None = None
    """Seconds after which an ended Job is removed by the cluster; none: it stays until it is forgotten."""

    def __post_init__(self) -> None:
        for option in ("image_pull_secrets", "environment_secrets"):
            object.__setattr__(self, option, tuple(getattr(self, option)))

    def manifests(self, spec: UnitSpec) -> list[dict[str, Any]]:
        """What `submit` would create, without asking the cluster anything."""
        return manifests(self, spec, self._namespace())

    def submit(self, spec: UnitSpec) -> UnitHandle:
        namespace = self._namespace()
        made = manifests(self, spec, namespace)
        with explained(namespace), self._api() as api:
            for manifest in made:
                try:
                    _Kind(api, manifest["kind"]).create(namespace, manifest)
                except ApiException as error:
                    # Somebody was quicker, or died before the Service.
                    if cast("Any", error).status != 409:
                        raise
            owner = _Kind(api, made[0]["kind"]).read(object_name(spec.id), namespace)
        annotations: dict[str, str] = owner.metadata.annotations or {}
        if annotations.get(DIGEST) != spec_digest(spec):
            hint = "submit a changed unit under a new id"
            raise UnitRefused(f"there is another unit with the id {spec.id}", hint=hint)
        return self.handle(spec.id, kind=made[0]["kind"], namespace=namespace)

    def find(self, unit: str) -> UnitHandle | None:
        namespace = self._namespace()
        with explained(namespace), self._api() as api:
            for kind in ("Job", "Deployment"):
                if _found(api, kind, object_name(check_uid(unit)), namespace) is not None:
                    return self.handle(unit, kind=kind, namespace=namespace)
        return None

    def status(self, handle: UnitHandle) -> UnitStatus:
        with explained(handle.place["namespace"]), self._api() as api:
            owner = self._known(api, handle)
            owner.kind = handle.place["kind"]
            return kubernetes_status(owner, _pods(api, handle))

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        namespace = handle.place["namespace"]
        with explained(namespace), self._api() as api:
            self._known(api, handle)
            pods = _pods(api, handle)
            if not pods:
                return
            read = client.CoreV1Api(api).read_namespaced_pod_log
            answer = read(pods[-1].metadata.name, namespace, follow=follow, _preload_content=False)
            passed = 0
            try:
                for piece in answer.stream():
                    wanted = piece[max(0, start - passed) :]
                    passed += len(piece)
                    if wanted:
                        yield wanted
            finally:
                answer.close()

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        if self.status(handle).state.is_ended:
            return
        namespace, kind = handle.place["namespace"], handle.place["kind"]
        body = {"suspend": True} if kind == "Job" else {"replicas": 0}
        change = {"metadata": {"annotations": {STOPPED: "true"}}, "spec": body}
        with explained(namespace), self._api() as api:
            _Kind(api, kind).change(object_name(handle.unit), namespace, change)
            if grace is not None:
                for pod in _pods(api, handle):
                    core = client.CoreV1Api(api)
                    core.delete_namespaced_pod(pod.metadata.name, namespace, grace_period_seconds=math.ceil(grace))

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        """Inside the cluster the Service's own name; from elsewhere none: `port_forward_line` says how to get there."""
        number = self._port(handle, port)
        if _IN_CLUSTER not in os.environ:
            return None
        return Endpoint(host=f"{object_name(handle.unit)}.{handle.place['namespace']}.svc", port=number)

    def port_forward_line(self, handle: UnitHandle, port: str = "http", *, here: int | None = None) -> str:
        """The command that brings a port of the unit to this machine."""
        number = self._port(handle, port)
        context = f" --context {self.context}" if self.context else ""
        target = f"service/{object_name(handle.unit)} {here or number}:{number}"
        return f"kubectl port-forward{context} --namespace {handle.place['namespace']} {target}"

    def check_path(self, path: str) -> None:
        """Refuse a path that pods cannot see."""
        if "://" in path or any(path == seen or path.startswith(f"{seen}/") for seen in self.claims.values()):
            return
        seen = "".join(f", a path below {place} (claim {name})" for name, place in self.claims.items())
        hint = f"use a URI such as gs://BUCKET/PATH or s3://BUCKET/PATH{seen}; a gcsfuse mount is this machine's alone"
        raise InvalidValue(f"pods of Kubernetes cannot see {path!r}", hint=hint)

    def forget(self, handle: UnitHandle) -> None:
        namespace, name = handle.place["namespace"], object_name(handle.unit)
        with explained(namespace), self._api() as api:
            owner = _found(api, handle.place["kind"], name, namespace)
            if owner is None:
                return
            owner.kind = handle.place["kind"]
            if not kubernetes_status(owner, _pods(api, handle)).state.is_ended:
                raise running_unit(handle)
            for kind in (handle.place["kind"], "Service"):
                if _found(api, kind, name, namespace) is not None:
                    _Kind(api, kind).delete(name, namespace)

    def _port(self, handle: UnitHandle, port: str) -> int:
        with explained(handle.place["namespace"]), self._api() as api:
            service = _found(api, "Service", object_name(handle.unit), handle.place["namespace"])
        ports: dict[str, int] = {each.name: each.port for each in service.spec.ports} if service is not None else {}
        if port not in ports:
            known = ", ".join(ports) or "none"
            raise InvalidValue(f"the unit has no port {port!r}", hint=f"its ports: {known}")
        return ports[port]

    def _known(self, api: Any, handle: UnitHandle) -> Any:
        owner = _found(api, handle.place["kind"], object_name(handle.unit), handle.place["namespace"])
        if owner is None:
            raise unknown_unit(handle)
        return owner

    def _namespace(self) -> str:
        if self.namespace:
            return self.namespace
        if _IN_CLUSTER in os.environ:
            return "default"
        try:
            contexts, active = config.list_kube_config_contexts(self.kubeconfig or None)
        except config.ConfigException:
            return "default"
        chosen = next((each for each in contexts if each["name"] == self.context), active)
        return chosen["context"].get("namespace", "default")

    def _api(self) -> Any:
        """A connection; to be closed."""
        made = client.Configuration()
        try:
            if _IN_CLUSTER in os.environ and not (self.kubeconfig or self.context):
                config.load_incluster_config(client_configuration=made)
            else:
                config.load_kube_config(self.kubeconfig or None, self.context or None, client_configuration=made)
        except config.ConfigException as error:
            hint = "`kubectl config get-contexts` lists what there is; KUBECONFIG or kubeconfig= names another file"
            raise ExecutorUnavailable(f"no Kubernetes cluster is configured: {error}", hint=hint) from error
        made.retries = False
        return client.ApiClient(made)


class _Kind:
    """The calls of one kind of object, under the same names for all."""

    def __init__(self, api: Any, kind: str) -> None:
        group, word = {
            "Job": (client.BatchV1Api, "job"),
            "Deployment": (client.AppsV1Api, "deployment"),
            "Service": (client.CoreV1Api, "service"),
        }[kind]
        calls = group(api)
        self.create = getattr(calls, f"create_namespaced_{word}")
        self.read = getattr(calls, f"read_namespaced_{word}")
        self.change = getattr(calls, f"patch_namespaced_{word}")
        self._delete = getattr(calls, f"delete_namespaced_{word}")

    def delete(self, name: str, namespace: str) -> None:
        self._delete(name, namespace, propagation_policy="Background")


def _found(api: Any, kind: str, name: str, namespace: str) -> Any:
    try:
        return _Kind(api, kind).read(name, namespace)
    except ApiException as error:
        if cast("Any", error).status == 404 and "namespaces" not in str(error):
            return None
        raise


def _pods(api: Any, handle: UnitHandle) -> list[Any]:
    listed = client.CoreV1Api(api).list_namespaced_pod(
        handle.place["namespace"], label_selector=f"{UNIT_LABEL}={handle.unit}"
    )
    return sorted(listed.items, key=lambda pod: pod.metadata.creation_timestamp)
