# SPDX-License-Identifier: Apache-2.0
"""A unit as objects of Kubernetes: a Job, or a Deployment for what serves; a Service and a Secret where needed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidValue
from aboard.executors.executor import refuse_parts
from aboard.executors.filled_command import begin_of_time, spec_digest, unit_environment
from aboard.executors.kubernetes_restarts import restarts_of_job
from aboard.executors.kubernetes_volumes import volume_mounts_of, volumes_of
from aboard.model.secret_names import is_secret_name
from aboard.model.unit import UnitSpec

if TYPE_CHECKING:
    from aboard.executors.kubernetes import Kubernetes

UNIT_LABEL = "aboard.dev/unit"
DIGEST, STOPPED, IDLE = "aboard.dev/digest", "aboard.dev/stopped", "aboard.dev/idle"
_FIRST_PORT = 20000
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_REFUSED = {
    "source": "pods do not see this machine's folders: put the source into the image, or have the command fetch it",
}
_DOLLARS = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$")

Manifest = dict[str, Any]


def object_name(unit: str) -> str:
    """What all objects of a unit are called; a namespace has one of each kind, so a unit is never made twice."""
    return f"aboard-{unit.lower()}"


def manifests(options: Kubernetes, spec: UnitSpec, namespace: str) -> list[Manifest]:
    """All objects of a unit, in the order in which they are made; one of them is its owner, a Job or Deployment."""
    check_pod(spec)
    # Who may look at pods sees their variables; entries of Secrets are kept from them.
    secret = {name: value for name, value in spec.environment.items() if is_secret_name(name)}
    made = [_secret(secret)] if secret else []
    if spec.ports:
        made.append(_service(spec))
    # Last, so that nothing has begun to run when one of the others is refused.
    made.append(_deployment(options, spec) if is_deployment(spec) else _job(options, spec))
    for manifest in made:
        named = {"namespace": namespace, "name": object_name(spec.id), "labels": labels_of(options, spec)}
        manifest["metadata"] |= named
    return made


def tell_begin(owner: Manifest, spec: UnitSpec) -> None:
    """Have the unit know when its time begins: with its Job, however late its pod comes, and whichever pod it is."""
    if _QUEUE_LABEL in owner["metadata"]["labels"]:
        return  # Kueue holds the Job back, and its time begins when it lets it go
    container = owner["spec"]["template"]["spec"]["containers"][0]
    container["env"] += [{"name": name, "value": value} for name, value in begin_of_time(spec).items()]


def check_pod(spec: UnitSpec) -> None:
    """Refuse a unit that cannot be a pod."""
    refuse_parts("kubernetes", spec, _REFUSED)
    if not spec.image:
        hint = "Give --image IMAGE (image= in Python); pods run nothing else."
        raise InvalidValue(f"unit {spec.name} has no image", hint=hint)
    for port in spec.ports:
        if port.host is not None:
            hint = "a Service has the pod's own number; endpoint() and `kubectl port-forward` bring it to this machine"
            raise InvalidValue(f"port {port.name} of unit {spec.name} cannot appear elsewhere", hint=hint)


def is_deployment(spec: UnitSpec) -> bool:
    """Only a Job can have a deadline."""
    return spec.serves and spec.timeout is None


def port_numbers(spec: UnitSpec) -> dict[str, int]:
    """The number of each port; in a pod all are free."""
    return {port.name: port.number or _FIRST_PORT + index for index, port in enumerate(spec.ports)}


def _job(options: Kubernetes, spec: UnitSpec) -> Manifest:
    body: Manifest = {**restarts_of_job(spec), "template": pod_template(options, spec, restart="Never")}
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
        "template": pod_template(options, spec, restart="Always"),
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _annotated(spec), "spec": body}


def _service(spec: UnitSpec) -> Manifest:
    numbers = port_numbers(spec)
    ports = [{"name": name, "port": number, "targetPort": number} for name, number in numbers.items()]
    body = {"type": "ClusterIP", "selector": {UNIT_LABEL: spec.id}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": body}


def _secret(values: Mapping[str, str]) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "type": "Opaque", "stringData": dict(values)}


def pod_template(options: Kubernetes, spec: UnitSpec, *, restart: str) -> Manifest:
    """What the pods of a unit are made from."""
    pod: Manifest = {
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": math.ceil(spec.grace),
        "containers": [_container(options, spec)],
        # Variables for every Service of the namespace would stand among aboard's own: they begin with ABOARD_, too.
        "enableServiceLinks": False,
    }
    account = spec.service_account or options.service_account
    if account:
        pod["serviceAccountName"] = account
    selector = dict(options.node_selector)
    if spec.resources.gpu_type:
        selector[options.gpu_type_label] = spec.resources.gpu_type
    if selector:
        pod["nodeSelector"] = selector
    if options.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in options.image_pull_secrets]
    if options.tolerations:
        pod["tolerations"] = [_toleration(text) for text in options.tolerations]
    if options.priority_class:
        pod["priorityClassName"] = options.priority_class
    if context := _pod_security(options):
        pod["securityContext"] = context
    if volumes := volumes_of(options, spec):
        pod["volumes"] = volumes
    return {"metadata": {"labels": labels_of(options, spec)}, "spec": pod}


def _toleration(text: str) -> Manifest:
    """`KEY`, `KEY:EFFECT`, `KEY=VALUE` or `KEY=VALUE:EFFECT`, as `kubectl taint` writes taints."""
    taint, _, effect = text.partition(":")
    key, is_equal, value = taint.partition("=")
    if not key or effect not in {"", "NoSchedule", "PreferNoSchedule", "NoExecute"}:
        hint = "write KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT; effects: NoSchedule, PreferNoSchedule, NoExecute"
        raise InvalidValue(f"The toleration {text!r} of kubernetes is not valid.", hint=hint)
    made: Manifest = {"key": key, "operator": "Equal" if is_equal else "Exists"}
    if is_equal:
        made["value"] = value
    return {**made, "effect": effect} if effect else made


def _pod_security(options: Kubernetes) -> Manifest:
    context: Manifest = (
        {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True} if options.restricted else {}
    )
    if options.run_as_user is not None:
        context["runAsUser"] = options.run_as_user
        context["fsGroup"] = options.run_as_user  # so that claims can be written
    return context


def _container(options: Kubernetes, spec: UnitSpec) -> Manifest:
    environment = unit_environment(spec, port_numbers(spec))
    container: Manifest = {
        "name": "unit",
        "image": spec.image,
        "env": [_variable(spec, name, value) for name, value in environment.items()],
        "resources": _resources(options, spec),
    }
    if spec.command:
        container["command"] = [_word(part, environment) for part in spec.command]
    if options.environment_secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in options.environment_secrets]
    if spec.ports:
        container["ports"] = [{"name": name, "containerPort": number} for name, number in port_numbers(spec).items()]
    if spec.ports and spec.serves:
        # Nobody is sent to it before it answers.
        first = port_numbers(spec)[spec.ports[0].name]
        container["readinessProbe"] = {"tcpSocket": {"port": first}, "periodSeconds": 1, "failureThreshold": 60}
    if options.restricted:
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if seen := volume_mounts_of(options, spec):
        container["volumeMounts"] = seen
    return container


def _variable(spec: UnitSpec, name: str, value: str) -> Manifest:
    if name in spec.environment and is_secret_name(name):
        return {"name": name, "valueFrom": {"secretKeyRef": {"name": object_name(spec.id), "key": name}}}
    return {"name": name, "value": _escaped(value)}


def _word(part: str, environment: Mapping[str, str]) -> str:
    """A word of the command as it must be written so that the unit gets it as it was meant."""

    def written(match: re.Match[str]) -> str:
        name = match[1]
        if name is None or name not in environment:
            return _escaped(match[0])
        return match[0] if is_secret_name(name) else _escaped(environment[name])

    return _DOLLARS.sub(written, part)


def _escaped(text: str) -> str:
    """Kubernetes reads `$$` as `$`, and `$(NAME)` as a variable, in commands and in values of variables."""
    return text.replace("$", "$$")


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


def labels_of(options: Kubernetes, spec: UnitSpec) -> dict[str, str]:
    """What the objects of a unit are found by; people's own labels stand beside aboard's."""
    own = {UNIT_LABEL: spec.id, "app.kubernetes.io/managed-by": "aboard", "app.kubernetes.io/name": spec.name}
    return {**options.labels, **spec.labels, **own}


def _annotated(spec: UnitSpec) -> Manifest:
    return {"annotations": {DIGEST: spec_digest(spec)}}
