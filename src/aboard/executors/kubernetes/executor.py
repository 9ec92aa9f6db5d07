# SPDX-License-Identifier: Apache-2.0
"""Units in Kubernetes by the official client: Jobs for what ends, Deployments for what serves, and Services."""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from aboard.errors import InvalidValue, UnitRefused
from aboard.executors.executor import Executor, running_unit, spec_digest, unknown_unit
from aboard.executors.kubernetes.cluster import (
    ApiException,
    ClusterAddress,
    ClusterIdentity,
    Namespace,
    translate_errors,
)
from aboard.executors.kubernetes.manifests import (
    DIGEST,
    STOPPED,
    KubernetesOptions,
    add_start_time,
    claim_of,
    manifests,
    object_name,
)
from aboard.executors.kubernetes.status import UnitObject, annotations_of, is_forgotten, is_ready
from aboard.executors.kubernetes.sweep import UNITS, find_in_sweep, forget_member, stop_member, sweep_manifests
from aboard.executors.tunnel import Tunnel
from aboard.model.names import check_uid
from aboard.model.units import Endpoint, Port, UnitHandle, UnitSpec, UnitStatus

LISTENS = "listening"
"""What the process that forwards ports prints when it can be connected to."""
_OWNERS = ("Job", "Deployment")
_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.2, 2.0


@dataclass(frozen=True)
class Kubernetes(KubernetesOptions, Executor):
    """Pods of one cluster: that of the kubeconfig that is named, or the one this process runs in.

    A unit with `serves` and no timeout is a Deployment, every other one a Job; another pod comes only after a killed
    one, and where the unit has `restarts`. Stopping keeps the object and ends its pods; what they printed is then gone.
    Ports are reached through a tunnel of aboard's own.
    """

    name: ClassVar[str] = "kubernetes"
    knows_paths: ClassVar[bool] = True
    takes_images: ClassVar[bool] = True

    def manifests(self, spec: UnitSpec) -> list[dict[str, Any]]:
        """What `submit` would create, without asking the cluster anything."""
        return manifests(self, spec, self._namespace())

    def preview(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[dict[str, Any]]:
        if len(specs) > 1:
            return sweep_manifests(self, specs, self._namespace(), at_once)
        return [manifest for spec in specs for manifest in self.manifests(spec)]

    def submit(self, spec: UnitSpec) -> UnitHandle:
        made = self.manifests(spec)
        add_start_time(made[-1], spec)
        kind, cluster = self._created(spec, made)
        return self._handle_in(cluster, spec.id, kind=kind, namespace=self._namespace())

    def submit_array(self, specs: Sequence[UnitSpec], *, at_once: int | None = None) -> list[UnitHandle]:
        """Many units as one Job with an index for each, at most `at_once` at a time."""
        if not specs:
            return []
        namespace = self._namespace()
        kind, cluster = self._created(specs[0], sweep_manifests(self, specs, namespace, at_once))
        job = object_name(specs[0].id)
        return [
            self._handle_in(cluster, spec.id, kind=kind, namespace=namespace, job=job, index=str(index))
            for index, spec in enumerate(specs)
        ]

    def find(self, unit: str) -> UnitHandle | None:
        namespace = self._namespace()
        with self._opened(namespace) as opened:
            for kind in _OWNERS:
                owner = opened.get(kind, object_name(check_uid(unit)))
                if owner is not None and UNITS not in annotations_of(owner):
                    return self._handle_in(opened.cluster, unit, kind=kind, namespace=namespace)
            place = find_in_sweep(opened, unit)
            if place is None:
                return None
            return self._handle_in(opened.cluster, unit, kind="Job", namespace=namespace, **place)

    def status(self, handle: UnitHandle) -> UnitStatus:
        place = UnitObject.of(handle)
        with self._opened_for(handle) as opened:
            owner = self._known(opened, handle)
            status = place.status(owner, opened)
        if status.state.is_ended:
            self._tunnel(handle).close()
        return status

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        place = UnitObject.of(handle)
        sent: dict[str, int] = {}
        pause = _POLL_SECONDS
        with self._opened_for(handle) as opened:
            while True:
                has_ended = place.status(self._known(opened, handle), opened).state.is_ended
                pods = [pod.metadata.name for pod in place.pods(opened) if _has_started(pod)]
                for pod in pods:  # one after the other, where a killed one was replaced
                    for piece in _printed(opened, pod, sent.get(pod, 0), follow=follow and pod == pods[-1]):
                        sent[pod] = sent.get(pod, 0) + len(piece)
                        pause = _POLL_SECONDS
                        wanted = piece[max(0, len(piece) - (sum(sent.values()) - start)) :]
                        if wanted:
                            yield wanted
                if has_ended or not follow:
                    return
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_POLL_SECONDS)

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        if self.status(handle).state.is_ended:
            return
        place = UnitObject.of(handle)
        seconds = None if grace is None else math.ceil(grace)
        with self._opened_for(handle) as opened:
            if place.index is not None:
                stop_member(opened, place, seconds)
                return
            # The grace that a node hears of first is the one it keeps to: ours must be there before the controller's.
            pods = place.pods(opened) if seconds is not None else []
            mark = {"metadata": {"annotations": {STOPPED: "true"}}}
            if pods and place.kind == "Job":  # which makes no other pod
                opened.change(place.kind, place.name, mark)
                opened.end_pods(pods, seconds)
            opened.change(place.kind, place.name, {**mark, "spec": self._ending(opened, place)})
            opened.end_pods(pods, seconds)

    def _ending(self, opened: Namespace, place: UnitObject) -> dict[str, Any]:
        """The change that ends a unit. A suspended Job never finishes, so one with a lifetime gets a deadline."""
        owner = opened.get(place.kind, place.name) if place.kind == "Job" else None
        if owner is None or owner.spec.ttl_seconds_after_finished is None or owner.spec.suspend:
            return place.without_pods
        return {"activeDeadlineSeconds": 1}

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        """Inside the cluster the Service's own name, from elsewhere the end of a tunnel on this machine."""
        place = UnitObject.of(handle)
        with self._opened_for(handle) as opened:
            ports = self._ports(opened, handle, port)
            if not (place.is_idle(self._known(opened, handle)) or any(map(is_ready, place.pods(opened)))):
                return None
        if self._address.is_inside and self.idle_seconds is None:
            return Endpoint(host=f"{place.name}.{place.namespace}.svc", port=ports[port])
        return self._tunnel(handle).endpoint(port, ports)

    def port_forward_line(self, handle: UnitHandle, port: str = "http", *, here: int | None = None) -> str:
        """The command by which kubectl brings a port of the unit to this machine."""
        place = UnitObject.of(handle)
        with self._opened_for(handle) as opened:
            number = self._ports(opened, handle, port)[port]
        words = ["kubectl", "port-forward"]
        words += ["--kubeconfig", self.kubeconfig] if self.kubeconfig else []
        context = self.address_of(handle).context
        words += ["--context", context] if context else []
        words += ["--namespace", place.namespace, f"service/{place.name}", f"{here or number}:{number}"]
        return shlex.join(words)

    def check_path(self, path: str) -> None:
        """Refuse a path that pods cannot see."""
        is_uri = "://" in path and not path.startswith("file:")
        if is_uri or claim_of(self.claims, path) is not None:
            return
        mounted = " or ".join(f"{place} (claim {name})" for name, place in self.claims.items())
        below = f"use a path below {mounted}; " if mounted else ""
        claim = f"name the PersistentVolumeClaim that has it: kubernetes:claims=NAME:{path}"
        hint = f"{below}{claim}; or use a URI such as gs://BUCKET/PATH; a gcsfuse mount is this machine's alone"
        raise InvalidValue(f"pods of Kubernetes cannot see {path!r}", hint=hint)

    def forget(self, handle: UnitHandle) -> None:
        place = UnitObject.of(handle)
        with self._opened_for(handle) as opened:
            owner = opened.get(place.kind, place.name)
            is_gone = owner is None or (place.index is not None and is_forgotten(owner, place.index))
            if not is_gone and not place.status(owner, opened).state.is_ended:
                raise running_unit(handle)
            if place.index is None:
                # Also where the owner is gone: a submitter that died has not told the others whose they are.
                for kind in (place.kind, "Service", "Secret"):
                    opened.remove(kind, place.name)
            elif not is_gone:
                forget_member(opened, owner, place.index)
        self._tunnel(handle).close()

    @property
    def _address(self) -> ClusterAddress:
        return ClusterAddress(context=self.context, kubeconfig=self.kubeconfig)

    @property
    def is_reached_from_anywhere(self) -> bool:
        return True

    def written_out(self) -> Self:
        return replace(self, namespace=self._namespace())

    def _handle_in(self, cluster: ClusterIdentity, unit: str, **place: str) -> UnitHandle:
        """A handle that says on which cluster the unit is, and by which context it was reached."""
        context = self._address.current_context
        return self.handle(unit, **place, **cluster.as_place, **({"context": context} if context else {}))

    def address_of(self, handle: UnitHandle) -> ClusterAddress:
        """The cluster of a unit: by the context with which it was submitted."""
        return self._address.towards(handle.place.get("context", ""))

    def _namespace(self) -> str:
        return self.namespace or self._address.namespace()

    @contextlib.contextmanager
    def _opened(self, namespace: str) -> Generator[Namespace]:
        with translate_errors(namespace), Namespace(self._address, namespace) as opened:
            yield opened

    @contextlib.contextmanager
    def _opened_for(self, handle: UnitHandle) -> Generator[Namespace]:
        namespace = handle.place["namespace"]
        with translate_errors(namespace), Namespace(self.address_of(handle), namespace) as opened:
            opened.check_cluster(handle.place)
            yield opened

    def _created(self, spec: UnitSpec, made: list[dict[str, Any]]) -> tuple[str, ClusterIdentity]:
        """Make all objects that are not there, and have them end with their owner; its kind and cluster."""
        name = object_name(spec.id)
        kind = next(each["kind"] for each in made if each["kind"] in _OWNERS)
        with self._opened(made[0]["metadata"]["namespace"]) as opened:
            there = opened.get(kind, name)
            if there is not None:
                _check_same(there, spec)  # before anything is made beside it
            with _taken_back_if_refused(opened, name) as own:
                for manifest in made:  # somebody may have been quicker, or may have died in between
                    if opened.create(manifest):
                        own.append(manifest["kind"])
                owner = opened.get(kind, name)
                _check_same(owner, spec)
                version = "apps/v1" if kind == "Deployment" else "batch/v1"
                reference = {"apiVersion": version, "kind": kind, "name": name, "uid": owner.metadata.uid}
                for manifest in made:
                    if manifest["kind"] not in _OWNERS:
                        owned = {"metadata": {"ownerReferences": [reference]}}
                        opened.change(manifest["kind"], name, owned)
            return kind, opened.cluster

    def _known(self, opened: Namespace, handle: UnitHandle) -> Any:
        place = UnitObject.of(handle)
        owner = opened.get(place.kind, place.name)
        if owner is None or (place.index is not None and is_forgotten(owner, place.index)):
            raise unknown_unit(handle)
        return owner

    def _ports(self, opened: Namespace, handle: UnitHandle, port: str) -> dict[str, int]:
        service = opened.get("Service", UnitObject.of(handle).name)
        ports: dict[str, int] = {each.name: each.port for each in service.spec.ports} if service is not None else {}
        if port not in ports:
            known = ", ".join(ports) or "none"
            raise InvalidValue(f"the unit has no port {port!r}", hint=f"its ports: {known}")
        return ports

    def _tunnel(self, handle: UnitHandle) -> Tunnel:
        def forwarding(ports: Mapping[str, int]) -> list[str]:
            told = [f"$({Port(name=name).variable}):{number}" for name, number in ports.items()]
            return [sys.executable, "-m", "aboard.executors.kubernetes.forward", handle.text(), *told]

        return Tunnel(handle.unit, forwarding, says=LISTENS.encode())


def _check_same(owner: Any, spec: UnitSpec) -> None:
    if owner is None or annotations_of(owner).get(DIGEST) != spec_digest(spec):
        hint = "submit a changed unit under a new id"
        raise UnitRefused(f"there is another unit with the id {spec.id}", hint=hint)


@contextlib.contextmanager
def _taken_back_if_refused(opened: Namespace, name: str) -> Generator[list[str]]:
    """The kinds that this call has made are removed when a part is refused, unless another's unit needs them."""
    own: list[str] = []
    try:
        yield own
    except ApiException:
        with contextlib.suppress(ApiException):  # what was refused first is what people are to know
            is_ours = not any(opened.get(kind, name) for kind in _OWNERS if kind not in own)
            for kind in reversed(own if is_ours else []):  # the owner first: nothing is to run without the others
                opened.remove(kind, name)
        raise


def _has_started(pod: Any) -> bool:
    """Whether its container has run, so that there can be output."""
    states = [each.state for each in pod.status.container_statuses or () if each.state is not None]
    return any(state.running is not None or state.terminated is not None for state in states)


def _printed(opened: Namespace, pod: str, skipped: int, *, follow: bool) -> Iterator[bytes]:
    answer = opened.pod_log(pod, follow=follow)
    if answer is None:
        return
    passed = 0
    try:
        for piece in answer.stream():
            wanted = piece[max(0, skipped - passed) :]
            passed += len(piece)
            if wanted:
                yield wanted
    finally:
        answer.close()
