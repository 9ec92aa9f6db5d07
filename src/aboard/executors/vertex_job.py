# SPDX-License-Identifier: Apache-2.0
"""A unit as a CustomJob of Vertex AI, in the words of its REST API."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidValue
from aboard.executors.executor import refuse_parts
from aboard.executors.filled_command import filled_command, spec_digest, unit_environment
from aboard.model.unit import UnitSpec

if TYPE_CHECKING:
    from aboard.executors.vertex import Vertex

UNIT_LABEL, DIGEST_LABEL = "aboard-unit", "aboard-digest"
_REFUSED = {
    "mounts": "jobs of Vertex do not see this machine's folders: they see gs://BUCKET/PATH, also as /gcs/BUCKET/PATH",
    "source": "jobs of Vertex do not see this machine's folders: put the source into the image",
    "ports": "jobs of Vertex cannot be connected to; TensorBoard is the instance that tensorboard= names",
    "serves": "jobs of Vertex cannot be connected to; TensorBoard is the instance that tensorboard= names",
}


def custom_job(options: Vertex, spec: UnitSpec, tensorboard: str = "") -> dict[str, Any]:
    """The job; `tensorboard` is the resource name of an instance."""
    refuse_parts("vertex", spec, _REFUSED)
    if not spec.image:
        hint = "Give --image IMAGE (image= in Python); jobs of Vertex run nothing else."
        raise InvalidValue(f"unit {spec.name} has no image", hint=hint)
    environment = unit_environment(spec, {})
    container: dict[str, Any] = {
        "image_uri": spec.image,
        # Vertex reads `$(NAME)` in values as a variable, and `$$(NAME)` as what was meant.
        "env": [{"name": name, "value": value.replace("$(", "$$(")} for name, value in environment.items()],
    }
    if spec.command:
        container["command"] = filled_command(spec, environment)
    pool = {"machine_spec": _machine(options, spec), "replica_count": 1, "container_spec": container}
    # Vertex starts a job again after failures of its own alone, and as often as it likes: `aboard run` counts.
    scheduling: dict[str, Any] = {"disable_retries": not spec.restarts}
    if spec.timeout is not None:
        scheduling["timeout"] = f"{math.ceil(spec.timeout)}s"
    job: dict[str, Any] = {"worker_pool_specs": [pool], "scheduling": scheduling}
    account = spec.service_account or options.service_account
    if account:
        job["service_account"] = account
    if options.network:
        job["network"] = options.network
    if options.base_output_directory:
        job["base_output_directory"] = {"output_uri_prefix": options.output_uri}
    if tensorboard:
        job["tensorboard"] = tensorboard
    own = {UNIT_LABEL: spec.id.lower(), DIGEST_LABEL: spec_digest(spec)}
    labels = {**{name.lower().replace(".", "-"): value.lower() for name, value in spec.labels.items()}, **own}
    return {"display_name": spec.name, "job_spec": job, "labels": {**options.labels, **labels}}


def _machine(options: Vertex, spec: UnitSpec) -> dict[str, Any]:
    """Vertex has machines of fixed sizes; one that was named is taken, whatever the unit asks for."""
    asked = spec.resources
    machine: dict[str, Any] = {"machine_type": options.machine_type or _fitting(asked.cpus, asked.memory)}
    if asked.gpus:
        if not asked.gpu_type:
            hint = "give gpu_type=, as NVIDIA_TESLA_T4 or NVIDIA_L4"
            raise InvalidValue(f"{asked.gpus} GPUs of Vertex need a type", hint=hint)
        machine |= {"accelerator_type": asked.gpu_type.upper().replace("-", "_"), "accelerator_count": asked.gpus}
    return machine


def _fitting(cpus: float | None, memory: int | None) -> str:
    """The smallest machine of the general kind (3.75 GB for each CPU) that has what is asked for; two CPUs and more."""
    needed = max(cpus or 4, (memory or 0) / (3.75 * (1 << 30)))
    for size in (4, 8, 16, 32, 64, 96):
        if needed <= size:
            return f"n1-standard-{size}"
    hint = "name machine_type= of the executor"
    raise InvalidValue(f"no n1-standard machine has {cpus} CPUs and {memory} bytes of memory", hint=hint)
