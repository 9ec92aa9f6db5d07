# SPDX-License-Identifier: Apache-2.0
"""A cluster through the official client: which one, its objects by kind and name, and its refusals as errors.

The official client has no types, so its objects are `Any`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import threading
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from aboard.errors import AboardError, ExecutorNotConfigured, ExecutorUnavailable, MissingPackage, UnitRefused

try:
    import urllib3.exceptions
    from kubernetes import client as _client
    from kubernetes import config as _config
    from kubernetes.config import incluster_config as _incluster
    from yaml import YAMLError
except ImportError as error:
    _hint = "pip install 'aboard[kubernetes]'"
    raise MissingPackage("the executor kubernetes needs the official client", hint=_hint) from error

# The client has no types: what it hands out is looked at as it is.
client, config, incluster = cast("Any", _client), cast("Any", _config), cast("Any", _incluster)
ApiException: type[Exception] = client.ApiException
_ConfigException: type[Exception] = config.ConfigException
# What the library raises for a file that is not there, is none of Kubernetes, or may not be read.
UNREADABLE = (config.ConfigException, YAMLError, TypeError, OSError)


@contextlib.contextmanager
def translate_errors(namespace: str) -> Generator[None]:
    try:
        yield
    except ApiException as error:
        raise _refusal(cast("Any", error), namespace) from error
    except _ConfigException as error:  # tokens are read anew while a connection lasts
        hint = "look at the kubeconfig, or in a pod at the token of its service account"
        raise ExecutorUnavailable(f"who this is to Kubernetes cannot be read: {error}", hint=hint) from error
    except urllib3.exceptions.HTTPError as error:
        hint = "`kubectl cluster-info` tells whether the cluster can be reached"
        raise ExecutorUnavailable(f"the Kubernetes API server does not answer: {error}", hint=hint) from error


def _refusal(error: Any, namespace: str) -> AboardError:
    status = int(error.status or 0)
    said = _message(error)
    if status >= 500 or status in {0, 429}:
        return ExecutorUnavailable(f"the Kubernetes API server failed: {said}")
    if status == 401:
        hint = "your credentials have expired or are not for this cluster: log in again, `kubectl get pods` must work"
        return ExecutorNotConfigured(f"Kubernetes does not know who you are: {said}", hint=hint)
    if status == 403 and "exceeded quota" in said:
        hint = f"`kubectl describe quota --namespace {namespace}` shows it: wait, or ask for less"
        return UnitRefused(f"the quota of the namespace {namespace} is used up: {said}", hint=hint)
    if status == 403:
        hint = f"`kubectl auth can-i create jobs --namespace {namespace}` tells what you may do"
        return UnitRefused(f"Kubernetes does not allow this: {said}", hint=hint)
    if status == 404 and "namespaces" in said:
        return UnitRefused(f"there is no namespace {namespace!r}", hint="`kubectl get namespaces` lists them")
    return UnitRefused(f"Kubernetes refused: {said}")


def _message(error: Any) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason or error)


PATIENCE_SECONDS = 60.0
"""How long an API server may take to accept a connection, and to say anything more; the library would wait for ever."""
_SILENT_SECONDS = 7 * 86400.0  # what is followed may print nothing for long; the library takes no "for ever"
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_NO_CLUSTER = "`kubectl config get-contexts` lists what there is; KUBECONFIG or kubeconfig= names another file"
_NO_ACCOUNT = (
    "let the pod have the token of its service account (automountServiceAccountToken: true), "
    "or name a file with KUBECONFIG or kubeconfig="
)
_KINDS = {
    "Deployment": ("AppsV1Api", "deployment"),
    "Event": ("CoreV1Api", "event"),
    "Job": ("BatchV1Api", "job"),
    "Pod": ("CoreV1Api", "pod"),
    "Secret": ("CoreV1Api", "secret"),
    "Service": ("CoreV1Api", "service"),
}


@dataclass(frozen=True, kw_only=True)
class ClusterAddress:
    """Which cluster: that of the kubeconfig or context that is named, or the one this process runs in."""

    context: str = ""
    kubeconfig: str = ""

    @property
    def is_inside(self) -> bool:
        """Whether this process runs in a pod of the cluster."""
        # Who names a file in a pod means it: it may lead to another cluster, or the pod may have no token.
        return _IN_CLUSTER in os.environ and not (self.context or self._files)

    @property
    def _files(self) -> str | None:
        """Asked for at each call: the library looks at the variable once, when it is imported."""
        return self.kubeconfig or os.environ.get("KUBECONFIG") or None

    def namespace(self) -> str:
        """The one that is meant when nobody names one: of the pod, of the context, or `default`."""
        if self.is_inside:
            beside = Path(incluster.SERVICE_TOKEN_FILENAME)
            try:
                return beside.with_name("namespace").read_text(encoding="utf-8").strip() or "default"
            except OSError:
                return "default"
        try:
            contexts, active = config.list_kube_config_contexts(self._files)
        except UNREADABLE:  # who connects is told
            return "default"
        chosen = next((each for each in contexts if each["name"] == self.context), active)
        return chosen["context"].get("namespace", "default")

    @property
    def current_context(self) -> str:
        """The name of the context that is used; empty inside a cluster, and where there is none."""
        if self.is_inside or self.context:
            return self.context
        try:
            return str(config.list_kube_config_contexts(self._files)[1]["name"])
        except UNREADABLE:  # connecting reports it
            return ""

    def towards(self, context: str) -> Self:
        """The address of a unit that was submitted by this context, whatever the current one is.

        Inside a cluster, and where the files do not have that context, the address stays as it is.
        """
        if not context or self.context or self.is_inside:
            return self
        try:
            names = [each["name"] for each in config.list_kube_config_contexts(self._files)[0]]
        except UNREADABLE:
            return self
        return replace(self, context=context) if context in names else self

    def connection(self) -> Any:
        """A client of the cluster's API; to be closed."""
        made = client.Configuration()
        made.keep_alive = True  # else who follows a silent pod never learns that the connection was lost
        try:
            if self.is_inside:
                config.load_incluster_config(client_configuration=made)
            else:
                self._read_files(made)
        except UNREADABLE as error:
            hint = _NO_ACCOUNT if self.is_inside else _NO_CLUSTER
            raise ExecutorNotConfigured(f"no Kubernetes cluster is configured: {error}", hint=hint) from None
        made.retries = False
        return client.ApiClient(made)

    def _read_files(self, into: Any) -> None:
        """In a thread: a file may name a command that logs in, which the library waits for as long as it takes."""
        read: Future[None] = Future()

        def reading() -> None:
            try:
                config.load_kube_config(self._files, self.context or None, client_configuration=into)
                read.set_result(None)
            except BaseException as error:
                read.set_exception(error)

        threading.Thread(target=reading, daemon=True).start()
        try:
            read.result(PATIENCE_SECONDS)
        except TimeoutError as error:
            hint = "`kubectl get pods` must work without a question"
            raise ExecutorUnavailable("the login that the kubeconfig names does not end", hint=hint) from error


@dataclass(frozen=True, kw_only=True)
class ClusterIdentity:
    """What tells one cluster from another: its certificate authority, or its address where that is unknown.

    One cluster can have several addresses, from within and from outside, and one address (a tunnel) several clusters.
    """

    server: str
    authority: str = ""

    @classmethod
    def of(cls, configuration: Any) -> Self:
        """The cluster that a configuration of the client leads to."""
        authority = ""
        if configuration.ssl_ca_cert:
            authority = hashlib.sha256(Path(configuration.ssl_ca_cert).read_bytes().strip()).hexdigest()[:16]
        return cls(server=str(configuration.host), authority=authority)

    @classmethod
    def in_place(cls, place: Mapping[str, str]) -> Self | None:
        """The cluster that a handle names; none in handles of earlier versions."""
        server = place.get("cluster")
        return None if server is None else cls(server=server, authority=place.get("authority", ""))

    @property
    def as_place(self) -> dict[str, str]:
        """How a handle names it."""
        parts = {"cluster": self.server, "authority": self.authority}
        return {name: value for name, value in parts.items() if value}

    def is_same_as(self, other: ClusterIdentity) -> bool:
        if self.authority and other.authority:
            return self.authority == other.authority
        return self.server == other.server


class Namespace:
    def __init__(self, address: ClusterAddress, name: str) -> None:
        self.name = name
        self._api = address.connection()
        self.cluster = ClusterIdentity.of(self._api.configuration)

    def check_cluster(self, place: Mapping[str, str]) -> None:
        """Refuse to act on another cluster than the one a handle names: its units would look lost there."""
        recorded = ClusterIdentity.in_place(place)
        if recorded is None or recorded.is_same_as(self.cluster):
            return
        hint = "use the kubeconfig and context with which it was submitted (KUBECONFIG, `kubectl config get-contexts`)"
        text = f"This unit runs on the cluster {recorded.server}, but the configuration leads to {self.cluster.server}."
        raise ExecutorUnavailable(text, hint=hint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.close()

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """Make an object; false when there is one of that name."""
        try:
            self._call("create", manifest["kind"])(self.name, manifest)
        except ApiException as error:
            if cast("Any", error).status != 409:
                raise
            return False
        return True

    def get(self, kind: str, name: str) -> Any:
        """An object, or none."""
        try:
            made = self._call("read", kind)(name, self.name)
        except ApiException as error:
            if cast("Any", error).status == 404:
                return None
            raise
        made.kind = kind  # the server leaves it out
        return made

    def change(self, kind: str, name: str, change: Mapping[str, Any]) -> None:
        self._call("patch", kind)(name, self.name, change)

    def remove(self, kind: str, name: str) -> None:
        """Delete an object and what belongs to it, if it is there."""
        try:
            self._call("delete", kind)(name, self.name, propagation_policy="Background")
        except ApiException as error:
            if cast("Any", error).status != 404:
                raise

    def jobs(self, labels: str) -> list[Any]:
        return list(self._call("list", "Job")(self.name, label_selector=labels).items)

    def pods(self, labels: str) -> list[Any]:
        """The pods with these labels, the newest last."""
        listed = self._call("list", "Pod")(self.name, label_selector=labels)
        return sorted(listed.items, key=lambda pod: pod.metadata.creation_timestamp)

    def end_pod(self, pod: str, grace: int | None = None) -> None:
        """Have a pod end, if it is there; `grace` in place of its own."""
        # With none at all the server would forget the pod at once, whether or not the node has ended it.
        given = {} if grace is None else {"grace_period_seconds": max(1, grace)}
        try:
            self._call("delete", "Pod")(pod, self.name, **given)
        except ApiException as error:
            if cast("Any", error).status != 404:
                raise

    def end_pods(self, pods: list[Any], grace: int | None) -> None:
        for pod in pods:
            self.end_pod(pod.metadata.name, grace)

    def pod_log(self, pod: str, *, follow: bool) -> Any:
        """What a pod printed, as a stream to be closed; none when the pod is gone."""
        read = client.CoreV1Api(self._api).read_namespaced_pod_log
        patience = (PATIENCE_SECONDS, _SILENT_SECONDS if follow else PATIENCE_SECONDS)
        try:
            return read(pod, self.name, follow=follow, _preload_content=False, _request_timeout=patience)
        except ApiException as error:
            if cast("Any", error).status != 404:
                raise
            return None

    def warning(self, kind: str, name: str) -> str:
        """The newest warning that the cluster has about an object; empty when there is none, or it may not be seen."""
        about = f"involvedObject.kind={kind},involvedObject.name={name},type=Warning"
        try:
            listed = self._call("list", "Event")(self.name, field_selector=about).items
        except ApiException:
            return ""
        return str(max(listed, key=_when).message or "") if listed else ""

    def pod_socket(self, pod: str, port: int) -> Any:
        """A connection to a port of a pod, as a socket."""
        from kubernetes import stream

        call = client.CoreV1Api(self._api).connect_get_namespaced_pod_portforward
        return cast("Any", stream).portforward(call, pod, self.name, ports=str(port))

    def _call(self, verb: str, kind: str) -> Any:
        group, word = _KINDS[kind]
        method = getattr(getattr(client, group)(self._api), f"{verb}_namespaced_{word}")
        return functools.partial(method, _request_timeout=(PATIENCE_SECONDS, PATIENCE_SECONDS))


def _when(event: Any) -> float:
    """Events are listed by name; when one was seen last is said in one of two ways."""
    seen = event.last_timestamp or event.event_time or event.metadata.creation_timestamp
    return seen.timestamp() if seen is not None else 0.0
