# SPDX-License-Identifier: Apache-2.0
"""Many units as one Job of Kubernetes with an index for each: a Secret holds what each index runs.

A unit that is stopped before its turn gets a script that ends at once, because an index cannot be taken out of a Job.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aboard.errors import InvalidValue
from aboard.executors.executor import fill_in_command, spec_digest, unit_environment
from aboard.executors.kubernetes.cluster import Namespace
from aboard.executors.kubernetes.manifests import (
    DIGEST,
    KubernetesOptions,
    Manifest,
    check_pod,
    labels_of,
    object_name,
    pod_template,
    restarts_of_indexes,
)
from aboard.executors.kubernetes.status import (
    MEMBER_FORGOTTEN,
    MEMBER_STOPPED,
    STOPPED_BEFORE_START,
    UnitObject,
    annotations_of,
    is_forgotten,
)
from aboard.model.units import UnitSpec

SWEEP_LABEL, UNITS = "aboard.dev/sweep", "aboard.dev/units"
SCRIPTS = "/aboard-units"
_MOST_BYTES = 900_000  # a Secret has room for 1 MiB
# The annotations of an object may have 256 KiB: the id of each unit, and the marks that it was stopped and forgotten.
_MOST_UNITS = 2_400
_ENDS_AT_ONCE = "echo stopped before it began\n"


def sweep_manifests(
    options: KubernetesOptions, specs: Sequence[UnitSpec], namespace: str, at_once: int | None
) -> list[Manifest]:
    """The Secret and the Job of a sweep; they have the name of its first unit."""
    scripts = {str(index): _script(spec) for index, spec in enumerate(specs)}
    _check_sweep(specs, scripts)
    first = specs[0]
    # Deadlines are the pods' own: that of a Job would be one for all.
    template = pod_template(options, replace(first, environment={}, command=_START_COMMAND), restart="Never")
    pod = template["spec"]
    if first.timeout is not None:
        pod["activeDeadlineSeconds"] = math.ceil(first.timeout)
    if _tells_its_end(first):
        pod["terminationGracePeriodSeconds"] += _SECONDS_TO_TELL
    container = pod["containers"][0]
    container["env"] = []
    pod["volumes"] = [
        *pod.get("volumes", []),
        {"name": "aboard-units", "secret": {"secretName": object_name(first.id)}},
    ]
    mount = {"name": "aboard-units", "mountPath": SCRIPTS, "readOnly": True}
    container["volumeMounts"] = [*container.get("volumeMounts", []), mount]
    # The labels of the first unit, without those that would make all pods its own.
    labels = {**labels_of(options, first), SWEEP_LABEL: first.id}
    for own in ("aboard.dev/unit", "aboard.job"):
        labels.pop(own, None)
    template["metadata"]["labels"] = labels
    body: Manifest = {
        "completionMode": "Indexed",
        "completions": len(specs),
        "parallelism": min(at_once or len(specs), len(specs)),
        **restarts_of_indexes(first),
        "maxFailedIndexes": len(specs),  # one that fails does not end the others
        # An index fails, and the next may start, only when its pod has ended, not while it terminates.
        "podReplacementPolicy": "Failed",
        "template": template,
    }
    if options.ttl_seconds is not None:
        body["ttlSecondsAfterFinished"] = options.ttl_seconds
    units = " ".join(spec.id for spec in specs)
    digest = " ".join(spec_digest(spec) for spec in specs[:1])
    metadata = {"name": object_name(first.id), "namespace": namespace, "labels": labels}
    annotated = {**metadata, "annotations": {DIGEST: digest, UNITS: units}}
    secret: Manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    return [
        {**secret, "stringData": scripts},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": annotated, "spec": body},
    ]


def find_in_sweep(namespace: Namespace, unit: str) -> dict[str, str] | None:
    """The Job and index of a unit that was submitted as one of many."""
    for job in namespace.jobs(SWEEP_LABEL):
        units = annotations_of(job).get(UNITS, "").split()
        if unit in units:
            return {"job": job.metadata.name, "index": str(units.index(unit))}
    return None


def stop_member(namespace: Namespace, place: UnitObject, grace: int | None) -> None:
    """End one unit, or have it never begin."""
    mark = f"{MEMBER_STOPPED}{place.index}"
    namespace.change("Job", place.name, {"metadata": {"annotations": {mark: "true"}}})
    namespace.change("Secret", place.name, {"stringData": {str(place.index): _ENDS_AT_ONCE}})
    # A pod that comes from here on runs the other script, and is not the unit any more.
    pods = place.pods(namespace)
    if not pods:
        namespace.change("Job", place.name, {"metadata": {"annotations": {mark: STOPPED_BEFORE_START}}})
    namespace.end_pods(pods, grace)


def forget_member(namespace: Namespace, owner: Any, index: int) -> None:
    """Forget one unit; with the last one the Job goes."""
    name = owner.metadata.name
    namespace.change("Job", name, {"metadata": {"annotations": {f"{MEMBER_FORGOTTEN}{index}": "true"}}})
    now = namespace.get("Job", name)
    if now is not None and all(is_forgotten(now, each) for each in range(now.spec.completions)):
        namespace.remove("Job", name)
        namespace.remove("Secret", name)


_START_COMMAND = ("/bin/sh", "-c", f'exec /bin/sh "{SCRIPTS}/$JOB_COMPLETION_INDEX"')


# A pod that ignores its deadline is killed, with the exit code of any other kill, and would begin again. So the unit is
# killed before its pod is, and the script tells that the end was asked for.
_SECONDS_TO_TELL = 5
_SCRIPT_WITH_DEADLINE = """{command} & unit=$! asked=
trap 'asked=1; kill -TERM $unit; (sleep {grace}; kill -KILL $unit) 2>&- &' TERM
while :; do wait $unit; code=$?; kill -0 $unit 2>&- || break; done
[ "$asked$code" != 1137 ] || code=143
exit $code
"""


def _tells_its_end(spec: UnitSpec) -> bool:
    """Whether what its deadline ends must be told from what was killed."""
    return spec.timeout is not None and spec.restarts > 0


def _script(spec: UnitSpec) -> str:
    environment = unit_environment(spec, {})
    lines = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    command = shlex.join(fill_in_command(spec, environment))
    if _tells_its_end(spec):
        return lines + _SCRIPT_WITH_DEADLINE.format(command=command, grace=math.ceil(spec.grace))
    return f"{lines}exec {command}\n"


def _check_sweep(specs: Sequence[UnitSpec], scripts: dict[str, str]) -> None:
    first = specs[0]
    for spec in specs:
        check_pod(spec)
        if spec.ports or _of_pod(spec) != _of_pod(first):
            hint = "submit units with another image, other resources, mounts, times or ports by themselves"
            raise InvalidValue(f"unit {spec.name} does not fit into a Job with the others", hint=hint)
    size = len(json.dumps(scripts))
    if size > _MOST_BYTES or len(specs) > _MOST_UNITS:
        most = min(_MOST_UNITS, _MOST_BYTES * len(specs) // size)
        hint = f"make several sweeps of at most {most} runs"
        raise InvalidValue(f"a sweep of {len(specs)} runs does not fit into one Job of Kubernetes", hint=hint)


def _of_pod(spec: UnitSpec) -> tuple[object, ...]:
    """What one template says for all pods."""
    return spec.image, spec.resources, spec.mounts, spec.timeout, spec.grace, spec.restarts, spec.service_account
