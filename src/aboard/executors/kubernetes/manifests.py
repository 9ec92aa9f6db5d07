# SPDX-License-Identifier: Apache-2.0
"""A unit as Kubernetes objects: a Job, or a Deployment for what serves; volumes, restart rules, a Service and a Secret.

Another pod follows after evictions and signals, as often as the unit allows. An evicted pod is gone afterwards, and the
newest one that is left may be an earlier one, which was killed.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from aboard.errors import InvalidValue
from aboard.executors.executor import refuse_parts, spec_digest, start_time_variable, unit_environment
from aboard.model.names import is_secret_name
from aboard.model.units import Mount, UnitSpec


@dataclass(frozen=True)
class KubernetesOptions:
    """The options of the executor `kubernetes`, from which manifests are made."""

    namespace: str = ""
    """Default: that of the context or of the pod this runs in, or `default`."""
    context: str = ""
    kubeconfig: str = ""
    service_account: str = ""
    """Of units that name none; with workload identity it is who they are to the cloud."""
    image_pull_secrets: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further labels of everything that is made."""
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    """Persistent volume claim → where the unit sees it; one with mounts sees those parts of claims alone."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Secret → where the unit sees its entries as files."""
    environment_secrets: tuple[str, ...] = ()
    """Secrets whose entries become variables."""
    gpu_resource: str = "nvidia.com/gpu"
    gpu_type_label: str = "nvidia.com/gpu.product"
    """The label by which nodes tell the type of their GPUs; on GKE `cloud.google.com/gke-accelerator`."""
    restricted: bool = False
    """Run as the Pod Security Standard `restricted` demands: no root, no privileges, the default seccomp profile."""
    run_as_user: int | None = None
    """The user id of the container; needed with `restricted` where the image's own user is root or has no number."""
    tolerations: tuple[str, ...] = ()
    """Taints of nodes that units may run on: `KEY`, `KEY:EFFECT`, `KEY=VALUE` or `KEY=VALUE:EFFECT`."""
    priority_class: str = ""
    shared_memory: str = ""
    """The size of /dev/shm, such as `8Gi`; containers have 64 MiB otherwise, too little for many data loaders."""
    ttl_seconds: int | None = None
    """Seconds after which an ended Job is removed by the cluster; none: it stays until it is forgotten."""
    idle_seconds: float | None = None
    """Seconds without a connection after which what serves has no pods until the next one; none: it stays."""

    def __post_init__(self) -> None:
        for option in ("image_pull_secrets", "environment_secrets", "tolerations"):
            object.__setattr__(self, option, tuple(getattr(self, option)))
        for option in ("ttl_seconds", "idle_seconds"):
            value = getattr(self, option)
            if value is not None and value < 0:
                raise InvalidValue(f"{option}={value} of kubernetes is below 0", hint="give seconds, or leave it out")


_KILL_SIGNALS = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV)
_FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
# A Job ends within moments of its last pod, and makes another one 10 s after a failure at the earliest.
_NEXT_POD_PAUSE = timedelta(seconds=5)
_DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


def restarts_of_job(spec: UnitSpec) -> dict[str, Any]:
    """For a Job of one unit. Its timeout is that of the Job, so who is asked to end was asked by the cluster."""
    if not spec.restarts:
        # The pod is gone then, and only the Job can say that it was not the unit's own fault.
        rule = {"action": "FailJob", "onPodConditions": _DISRUPTED}
        return {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]}}
    return {"backoffLimit": spec.restarts, **_failure_policy("FailJob", (*_KILL_SIGNALS, signal.SIGTERM))}


def restarts_of_indexes(spec: UnitSpec) -> dict[str, Any]:
    """For a Job with indexes, where a timeout is the pod's own, and what it ends tells so by SIGTERM's exit code."""
    if not spec.restarts:
        return {"backoffLimitPerIndex": 0}
    signals = _KILL_SIGNALS if spec.timeout is not None else (*_KILL_SIGNALS, signal.SIGTERM)
    return {"backoffLimitPerIndex": spec.restarts, **_failure_policy("FailIndex", signals)}


def had_another_pod(job: Any, left: int, ended: datetime | None, failed: datetime | None) -> bool:
    """Whether a Job that has used up its restarts had a pod after the newest of those `left`, which ended then."""
    is_one_gone = left <= (job.spec.backoff_limit or 0)
    return is_one_gone and ended is not None and failed is not None and failed - ended > _NEXT_POD_PAUSE


def index_had_another_pod(job: Any, told: Mapping[str, str], exit_code: int | None) -> bool:
    """Whether an index that failed had a pod after this one, whose annotations tell how often it failed before."""
    before = told.get(_FAILURE_COUNT, "")
    if not before.isdecimal() or int(before) >= (job.spec.backoff_limit_per_index or 0):
        return False
    rules = [rule.on_exit_codes for rule in job.spec.pod_failure_policy.rules]
    return exit_code is not None and all(exit_code in codes.values for codes in rules if codes is not None)


def _failure_policy(otherwise: str, signals: tuple[signal.Signals, ...]) -> dict[str, Any]:
    """The first rule that fits holds. A command that failed by itself was tried again by `aboard run` in its pod."""
    codes = sorted(128 + which for which in signals)
    disrupted = {"action": "Count", "onPodConditions": _DISRUPTED}
    failed = {"action": otherwise, "onExitCodes": {"containerName": "unit", "operator": "NotIn", "values": codes}}
    return {"podFailurePolicy": {"rules": [disrupted, failed]}}


_SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - of a container


def claim_of(claims: Mapping[str, str], path: str) -> str | None:
    """The claim that pods see a path through; none: they do not see it."""
    asked = PurePosixPath(path)
    seen = {place: name for name, place in claims.items() if asked.is_relative_to(place)}
    return seen[max(seen, key=len)] if seen and ".." not in asked.parts else None


def volumes_of(options: KubernetesOptions, spec: UnitSpec) -> list[dict[str, Any]]:
    named = {_claim_of_mount(options, spec, mount) for mount in spec.mounts} if spec.mounts else options.claims.keys()
    claims = [name for name in options.claims if name in named]
    return [
        *({"name": f"claim-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims),
        *({"name": f"secret-{name}", "secret": {"secretName": name}} for name in options.secrets),
        *_shared_memory(options),
    ]


def volume_mounts_of(options: KubernetesOptions, spec: UnitSpec) -> list[dict[str, Any]]:
    """Where its container sees them; a unit that says which parts of claims it sees gets no others."""
    whole = () if spec.mounts else options.claims.items()
    return [
        *({"name": f"claim-{name}", "mountPath": path} for name, path in whole),
        *(_claim_part(options, spec, mount) for mount in spec.mounts),
        *({"name": f"secret-{name}", "mountPath": path, "readOnly": True} for name, path in options.secrets.items()),
        *({"name": each["name"], "mountPath": _SHARED_MEMORY_PATH} for each in _shared_memory(options)),
    ]


def _shared_memory(options: KubernetesOptions) -> list[dict[str, Any]]:
    if not options.shared_memory:
        return []
    return [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": options.shared_memory}}]


def _claim_part(options: KubernetesOptions, spec: UnitSpec, mount: Mount) -> dict[str, Any]:
    claim = _claim_of_mount(options, spec, mount)
    below = PurePosixPath(mount.source).relative_to(options.claims[claim])
    return {
        "name": f"claim-{claim}",
        "mountPath": mount.target,
        **({"subPath": str(below)} if below.parts else {}),
        **({"readOnly": True} if mount.read_only else {}),
    }


def _claim_of_mount(options: KubernetesOptions, spec: UnitSpec, mount: Mount) -> str:
    claim = claim_of(options.claims, mount.source)
    if claim is None:
        seen = "".join(f", below {place} (claim {name})" for name, place in options.claims.items())
        hint = f"name what pods see through claims= of the executor{seen}; or use a URI such as gs://BUCKET/PATH"
        raise InvalidValue(f"unit {spec.name} cannot have {mount.source!r} of 'mounts' in Kubernetes", hint=hint)
    return claim


UNIT_LABEL = "aboard.dev/unit"
DIGEST, STOPPED, IDLE = "aboard.dev/digest", "aboard.dev/stopped", "aboard.dev/idle"
_FIRST_PORT = 20000
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_REFUSED_PARTS = {
    "source": "pods do not see this machine's folders: put the source into the image, or have the command fetch it",
}
_DOLLARS = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)|\$")

Manifest = dict[str, Any]


def object_name(unit: str) -> str:
    """What all objects of a unit are called; a namespace has one of each kind, so a unit is never made twice."""
    return f"aboard-{unit.lower()}"


def manifests(options: KubernetesOptions, spec: UnitSpec, namespace: str) -> list[Manifest]:
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


def add_start_time(owner: Manifest, spec: UnitSpec) -> None:
    """Have the unit know when its time begins: with its Job, however late its pod comes, and whichever pod it is."""
    if _QUEUE_LABEL in owner["metadata"]["labels"]:
        return  # Kueue holds the Job back, and its time begins when it lets it go
    container = owner["spec"]["template"]["spec"]["containers"][0]
    container["env"] += [{"name": name, "value": value} for name, value in start_time_variable(spec).items()]


def check_pod(spec: UnitSpec) -> None:
    refuse_parts("kubernetes", spec, _REFUSED_PARTS)
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


def _job(options: KubernetesOptions, spec: UnitSpec) -> Manifest:
    body: Manifest = {**restarts_of_job(spec), "template": pod_template(options, spec, restart="Never")}
    if spec.timeout is not None:
        body["activeDeadlineSeconds"] = math.ceil(spec.timeout)
    if options.ttl_seconds is not None:
        body["ttlSecondsAfterFinished"] = options.ttl_seconds
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _annotated(spec), "spec": body}


def _deployment(options: KubernetesOptions, spec: UnitSpec) -> Manifest:
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


def pod_template(options: KubernetesOptions, spec: UnitSpec, *, restart: str) -> Manifest:
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


def _pod_security(options: KubernetesOptions) -> Manifest:
    context: Manifest = (
        {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True} if options.restricted else {}
    )
    if options.run_as_user is not None:
        context["runAsUser"] = options.run_as_user
        context["fsGroup"] = options.run_as_user  # so that claims can be written
    return context


def _container(options: KubernetesOptions, spec: UnitSpec) -> Manifest:
    environment = unit_environment(spec, port_numbers(spec))
    container: Manifest = {
        "name": "unit",
        "image": spec.image,
        "env": [_variable(spec, name, value) for name, value in environment.items()],
        "resources": _resources(options, spec),
    }
    if spec.command:
        container["command"] = [_command_word(part, environment) for part in spec.command]
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


def _command_word(part: str, environment: Mapping[str, str]) -> str:
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


def _resources(options: KubernetesOptions, spec: UnitSpec) -> Manifest:
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


def labels_of(options: KubernetesOptions, spec: UnitSpec) -> dict[str, str]:
    """What the objects of a unit are found by; people's own labels stand beside aboard's."""
    own = {UNIT_LABEL: spec.id, "app.kubernetes.io/managed-by": "aboard", "app.kubernetes.io/name": spec.name}
    return {**options.labels, **spec.labels, **own}


def _annotated(spec: UnitSpec) -> Manifest:
    return {"annotations": {DIGEST: spec_digest(spec)}}
