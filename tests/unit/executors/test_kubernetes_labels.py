# SPDX-License-Identifier: Apache-2.0
"""By which labels the objects of a unit are found."""

from __future__ import annotations

import pytest

from aboard.executors import Kubernetes
from aboard.executors.kubernetes.manifests import UNIT_LABEL
from aboard.model.units import Port, UnitSpec


@pytest.mark.parametrize("serves", [False, True], ids=["job", "deployment"])
def test_every_object_and_its_pods_carry_the_unit(serves: bool) -> None:
    spec = UnitSpec(
        name="train",
        command=("true",),
        image="example.org/train",
        ports=(Port(name="http"),),
        environment={"API_KEY": "secret"},
        labels={"team": "vision"},
        serves=serves,
    )
    made = {one["kind"]: one for one in Kubernetes(namespace="lab", labels={UNIT_LABEL: "another"}).preview([spec])}
    owner = made["Deployment" if serves else "Job"]
    for labels in [one["metadata"]["labels"] for one in (*made.values(), owner["spec"]["template"])]:
        assert (labels[UNIT_LABEL], labels["team"]) == (spec.id, "vision")
    assert made["Service"]["spec"]["selector"] == {UNIT_LABEL: spec.id}
    if serves:
        assert owner["spec"]["selector"]["matchLabels"] == {UNIT_LABEL: spec.id}
