# SPDX-License-Identifier: Apache-2.0
"""The manifests in deploy, as kubectl renders them: they fit the official schemas and one another."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.processes import needs

DEPLOY = Path(__file__).parents[2] / "deploy"
SCHEMAS = "1.32"


@pytest.fixture(scope="module", params=["base", "example"])
def manifests(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    needs("" if shutil.which("kubectl") else "kubectl is not installed")
    command = ["kubectl", "kustomize", str(DEPLOY / "kubernetes" / request.param)]
    rendered = subprocess.run(command, capture_output=True, text=True, check=False)
    assert rendered.returncode == 0, rendered.stderr
    assert rendered.stderr == ""
    return list(yaml.safe_load_all(rendered.stdout))


def _pods(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = [one for one in manifests if one["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]


def test_the_schemas_of_kubernetes_hold(manifests: list[dict[str, Any]]) -> None:
    import kubernetes_validate

    for manifest in manifests:
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
    kinds = {manifest["kind"] for manifest in manifests}
    assert {"Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service"} <= kinds
    assert "Secret" not in kinds, "secrets are referred to, never written here"


def test_what_selects_pods_finds_them(manifests: list[dict[str, Any]]) -> None:
    (deployment,) = [one for one in manifests if one["kind"] == "Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for manifest in manifests:
        spec = manifest.get("spec", {})
        if manifest["kind"] == "Service":
            assert spec["selector"].items() <= labels.items()
        elif manifest["kind"] == "NetworkPolicy":
            assert spec["podSelector"]["matchLabels"].items() <= labels.items()
        elif manifest["kind"] == "PodDisruptionBudget":
            assert spec["selector"]["matchLabels"].items() <= labels.items()
        elif manifest["kind"] == "HorizontalPodAutoscaler":
            assert spec["scaleTargetRef"]["name"] == deployment["metadata"]["name"]


def test_pods_may_do_little_and_what_they_write_is_a_volume(manifests: list[dict[str, Any]]) -> None:
    pods = _pods(manifests)
    (container,) = pods["containers"]
    assert pods["securityContext"]["runAsNonRoot"]
    assert pods["enableServiceLinks"] is False, "ABOARD_PORT and its like are not settings"
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    home = re.search(r"ABOARD_HOME=(\S+)", (DEPLOY / "Dockerfile").read_text())
    assert home is not None
    assert {home[1], "/tmp"} <= mounted
    assert {probe for probe in container if probe.endswith("Probe")} == {
        "startupProbe",
        "livenessProbe",
        "readinessProbe",
    }
