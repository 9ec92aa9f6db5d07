# SPDX-License-Identifier: Apache-2.0
"""The NetworkPolicy in deploy, as kubectl renders it, lets the server reach the pods of its boards."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.processes import needs

KUBERNETES = Path(__file__).parents[2] / "deploy" / "kubernetes"


@pytest.mark.parametrize("folder", ["base", "example"])
def test_the_server_may_connect_to_boards_in_pods(folder: str) -> None:
    from aboard.executors import Kubernetes
    from aboard.executors.kubernetes.manifests import labels_of
    from aboard.model.units import UnitSpec

    board = labels_of(Kubernetes(), UnitSpec(name="board", image="x", command=("tensorboard",), serves=True))
    (policy,) = [one for one in _rendered(folder) if one["kind"] == "NetworkPolicy"]
    peers = [peer for rule in policy["spec"]["egress"] for peer in rule.get("to", ()) if "ports" not in rule]
    assert any(_selects(peer["podSelector"], board) for peer in peers), peers


def _rendered(folder: str) -> list[dict[str, Any]]:
    needs("" if shutil.which("kubectl") else "kubectl is not installed")
    done = subprocess.run(["kubectl", "kustomize", str(KUBERNETES / folder)], capture_output=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """As Kubernetes decides it, for the one operator that is used."""
    expressions = selector.get("matchExpressions", [])
    assert {one["operator"] for one in expressions} <= {"In"}
    is_named = selector.get("matchLabels", {}).items() <= labels.items()
    return is_named and all(labels.get(one["key"]) in one["values"] for one in expressions)
