# SPDX-License-Identifier: Apache-2.0
"""The Job of a sweep, as it is submitted."""

from __future__ import annotations

from aboard.model.units import UnitSpec


def test_the_next_member_starts_only_when_a_pod_has_ended() -> None:
    """By default Kubernetes counts a pod that still terminates as failed, and starts another one beside it."""
    from aboard.executors import Kubernetes
    from aboard.executors.kubernetes.sweep import sweep_manifests

    for restarts in (0, 2):
        specs = [UnitSpec(name=f"train-{n}", image="x", command=("true",), restarts=restarts) for n in range(3)]
        _, job = sweep_manifests(Kubernetes(), specs, "lab", 1)
        assert (job["spec"]["parallelism"], job["spec"]["podReplacementPolicy"]) == (1, "Failed")
