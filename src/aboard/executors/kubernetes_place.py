# SPDX-License-Identifier: Apache-2.0
"""Where a unit is in a cluster: an object of its own, or an index of a Job that it shares with others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from aboard.executors.kubernetes_cluster import Namespace
from aboard.executors.kubernetes_manifests import IDLE, UNIT_LABEL, object_name
from aboard.executors.kubernetes_status import annotations_of, kubernetes_status
from aboard.executors.kubernetes_sweep import INDEX_LABEL, member_status
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import UnitStatus


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a handle says of that."""

    namespace: str
    kind: str
    name: str
    labels: str
    """By which its pods are found."""
    index: int | None = None

    @classmethod
    def of(cls, handle: UnitHandle) -> Self:
        """The place of a unit."""
        told, namespace, kind = handle.place, handle.place["namespace"], handle.place["kind"]
        if "index" not in told:
            name, labels = object_name(handle.unit), f"{UNIT_LABEL}={handle.unit}"
            return cls(namespace=namespace, kind=kind, name=name, labels=labels)
        labels = f"batch.kubernetes.io/job-name={told['job']},{INDEX_LABEL}={told['index']}"
        return cls(namespace=namespace, kind=kind, name=told["job"], labels=labels, index=int(told["index"]))

    @property
    def without_pods(self) -> dict[str, Any]:
        """The change that ends all pods of its object, which stays."""
        return {"suspend": True} if self.kind == "Job" else {"replicas": 0}

    @property
    def with_pods(self) -> dict[str, Any]:
        """The change that takes this back."""
        return {"suspend": False} if self.kind == "Job" else {"replicas": 1}

    def pods(self, opened: Namespace) -> list[Any]:
        """Its pods, the newest last."""
        return opened.pods(self.labels)

    def is_idle(self, owner: Any) -> bool:
        """Whether its pods have ended because nobody looked."""
        return IDLE in annotations_of(owner)

    def status(self, owner: Any, opened: Namespace) -> UnitStatus:
        """How the unit is doing. Where nothing starts, the cluster is asked why."""
        pods = self.pods(opened)
        status = kubernetes_status(owner, pods) if self.index is None else member_status(owner, pods, self.index)
        if len(pods) > status.attempt and self.kind == "Job":
            status = replace(status, attempt=len(pods))
        if status.message or status.state not in (UnitState.PENDING, UnitState.STARTING):
            return status
        about = ("Pod", str(pods[-1].metadata.name)) if pods else (self.kind, self.name)
        return replace(status, message=opened.warning(*about))
