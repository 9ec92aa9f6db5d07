# SPDX-License-Identifier: Apache-2.0
"""What the pods of a unit see of claims and Secrets: the claims whole, or no more of them than the unit mounts."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidValue
from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Mount

if TYPE_CHECKING:
    from aboard.executors.kubernetes import Kubernetes

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of a container


def claim_of(options: Kubernetes, path: str) -> str | None:
    """The claim that pods see a path through; none: they do not see it."""
    asked = PurePosixPath(path)
    seen = {place: name for name, place in options.claims.items() if asked.is_relative_to(place)}
    return seen[max(seen, key=len)] if seen and ".." not in asked.parts else None


def volumes_of(options: Kubernetes, spec: UnitSpec) -> list[dict[str, Any]]:
    """The volumes of a pod."""
    named = {_claim(options, spec, mount) for mount in spec.mounts} if spec.mounts else options.claims.keys()
    claims = [name for name in options.claims if name in named]
    return [
        *({"name": f"claim-{name}", "persistentVolumeClaim": {"claimName": name}} for name in claims),
        *({"name": f"secret-{name}", "secret": {"secretName": name}} for name in options.secrets),
        *_shared_memory(options),
    ]


def volume_mounts_of(options: Kubernetes, spec: UnitSpec) -> list[dict[str, Any]]:
    """Where its container sees them; a unit that says which parts of claims it sees gets no others."""
    whole = () if spec.mounts else options.claims.items()
    return [
        *({"name": f"claim-{name}", "mountPath": path} for name, path in whole),
        *(_part(options, spec, mount) for mount in spec.mounts),
        *({"name": f"secret-{name}", "mountPath": path, "readOnly": True} for name, path in options.secrets.items()),
        *({"name": each["name"], "mountPath": _SHARED_MEMORY} for each in _shared_memory(options)),
    ]


def _shared_memory(options: Kubernetes) -> list[dict[str, Any]]:
    if not options.shared_memory:
        return []
    return [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": options.shared_memory}}]


def _part(options: Kubernetes, spec: UnitSpec, mount: Mount) -> dict[str, Any]:
    claim = _claim(options, spec, mount)
    below = PurePosixPath(mount.source).relative_to(options.claims[claim])
    return {
        "name": f"claim-{claim}",
        "mountPath": mount.target,
        **({"subPath": str(below)} if below.parts else {}),
        **({"readOnly": True} if mount.read_only else {}),
    }


def _claim(options: Kubernetes, spec: UnitSpec, mount: Mount) -> str:
    claim = claim_of(options, mount.source)
    if claim is None:
        seen = "".join(f", below {place} (claim {name})" for name, place in options.claims.items())
        hint = f"name what pods see through claims= of the executor{seen}; or use a URI such as gs://BUCKET/PATH"
        raise InvalidValue(f"unit {spec.name} cannot have {mount.source!r} of 'mounts' in Kubernetes", hint=hint)
    return claim
