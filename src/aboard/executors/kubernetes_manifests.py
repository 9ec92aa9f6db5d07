# SPDX-License-Identifier: Apache-2.0
"""A unit as objects of Kubernetes: a Job, or a Deployment for what serves; and a Service for its ports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidValue
from aboard.executors.executor import refuse_parts
from aboard.executors.filled_command import spec_digest, unit_environment
from aboard.model.unit import UnitSpec

if TYPE_CHECKING:
    from aboard.executors.kubernetes import Kubernetes

UNIT_LABEL = "aboard.dev/unit"
DIGEST, STOPPED = "aboard.dev/digest", "aboard.dev/stopped"
_FIRST_PORT = 20000
_REFUSED = {
    "mounts": "pods do not see this machine's folders: use claims= and secrets= of the executor, or a URI such as gs://",
    "source": "pods do not see this machine's folders: put the source into the image, or have the command fetch it",
}

Manifest = dict[str, Any]


def object_name(unit: str) -> str:
    """What all objects of a unit are called; a namespace has one of each kind, so a unit is never made twice."""
    return f"aboard-{unit.lower()}"


def manifests(options: Kubernetes, spec: UnitSpec, namespace: str) -> list[Manifest]:
    """All objects of a unit, the one that runs it first."""
    refuse_parts("kubernetes", spec, _REFUSED)
    if not spec.image:
        raise InvalidValue(f"unit {spec.name} has no image", hint="give image=; pods run nothing else")
    for port in spec.ports:
        if port.host is not None:
            hint = "a Service has the pod's own number; `kubectl port-forward` puts it wherever you like"
            raise InvalidValue(f"port {port.name} of unit {spec.name} cannot appear elsewhere", hint=hint)
    made = [_deployment(options, spec) if is_deployment(spec) else _job(options, spec)]
    if spec.ports:
        made.append(_service(spec))
    for manifest in made:
        manifest["metadata"] |= {"namespace": namespace, "name": object_name(spec.id), "labels": _labels(spec)}
    return made


def is_deployment(spec: UnitSpec) -> bool:
    """Only a Job can have a deadline."""
    return spec.serves and spec.timeout is None


def port_numbers(spec: UnitSpec) -> dict[str, int]:
    """The number of each port; in a pod all are free."""
    return {port.name: port.number or _FIRST_PORT + index for index, port in enumerate(spec.ports)}


def _job(options: Kubernetes, spec: UnitSpec) -> Manifest:
    body: Manifest = {"backoffLimit": 0, "template": _template(options, spec, restart="Never")}
    if spec.timeout is not None:
        body["activeDeadlineSeconds"] = math.ceil(spec.timeout)
    if options.ttl_seconds is not None:
        body["ttlSecondsAfterFinished"] = options.ttl_seconds
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _annotated(spec), "spec": body}


def _deployment(options: Kubernetes, spec: UnitSpec) -> Manifest:
    body = {
        "replicas": 1,
        "strategy": {"type": "Recreate"},  # never two of one unit
        "selector": {"matchLabels": {UNIT_LABEL: spec.id}},
        "template": _template(options, spec, restart="Always"),
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _annotated(spec), "spec": body}


def _service(spec: UnitSpec) -> Manifest:
    numbers = port_numbers(spec)
    ports = [{"name": name, "port": number, "targetPort": number} for name, number in numbers.items()]
    body = {"type": "ClusterIP", "selector": {UNIT_LABEL: spec.id}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": body}


def _template(options: Kubernetes, spec: UnitSpec, *, restart: str) -> Manifest:
    pod: Manifest = {
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": math.ceil(spec.grace),
        "containers": [_container(options, spec)],
    }
    account = spec.service_account or options.service_account
    if account:
        pod["serviceAccountName"] = account
    if options.node_selector:
        pod["nodeSelector"] = dict(options.node_selector)
    if options.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in options.image_pull_secrets]
    volumes = [
        *({"name": f"claim-{name}", "persistentVolumeClaim": {"claimName": name}} for name in options.claims),
        *({"name": f"secret-{name}", "secret": {"secretName": name}} for name in options.secrets),
    ]
    if volumes:
        pod["volumes"] = volumes
    return {"metadata": {"labels": _labels(spec)}, "spec": pod}


def _container(options: Kubernetes, spec: UnitSpec) -> Manifest:
    environment = unit_environment(spec, port_numbers(spec))
    container: Manifest = {
        "name": "unit",
        "image": spec.image,
        # Kubernetes fills in $(NAME) by itself.
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": _resources(options, spec),
    }
    if spec.command:
        container["command"] = list(spec.command)
    if options.environment_secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in options.environment_secrets]
    if spec.ports:
        container["ports"] = [{"name": name, "containerPort": number} for name, number in port_numbers(spec).items()]
    seen = [
        *({"name": f"claim-{name}", "mountPath": path} for name, path in options.claims.items()),
        *({"name": f"secret-{name}", "mountPath": path, "readOnly": True} for name, path in options.secrets.items()),
    ]
    if seen:
        container["volumeMounts"] = seen
    return container


def _resources(options: Kubernetes, spec: UnitSpec) -> Manifest:
    asked = spec.resources
    told: dict[str, str] = {}
    if asked.cpus:
        told["cpu"] = f"{math.ceil(asked.cpus * 1000)}m"
    if asked.memory:
        told["memory"] = str(asked.memory)
    limits = dict(told)
    if asked.gpus:
        limits[options.gpu_resource] = str(asked.gpus)
    return {kind: amounts for kind, amounts in (("requests", told), ("limits", limits)) if amounts}


def _labels(spec: UnitSpec) -> Mapping[str, str]:
    own = {UNIT_LABEL: spec.id, "app.kubernetes.io/managed-by": "aboard", "app.kubernetes.io/name": spec.name}
    return {**spec.labels, **own}


def _annotated(spec: UnitSpec) -> Manifest:
    return {"annotations": {DIGEST: spec_digest(spec)}}
