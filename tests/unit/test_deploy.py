# SPDX-License-Identifier: Apache-2.0
"""The files in deploy: what kubectl renders fits the official schemas, and what they settle is known to aboard."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from aboard.config.settings import load_settings
from support.kubernetes_rights import ROLE
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
    for manifest in manifests:
        kubernetes_validate.validate(manifest, SCHEMAS, strict=True)
    kinds = {manifest["kind"] for manifest in manifests}
    assert {"Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service"} <= kinds
    assert "Secret" not in kinds, "secrets are referred to, never written here"


def test_the_role_for_units_holds_no_more_than_units_need() -> None:
    (role,) = yaml.safe_load_all(ROLE.read_text())
    kubernetes_validate.validate(role, SCHEMAS, strict=True)
    assert role["kind"] == "Role", "of one namespace, never of a cluster"
    assert "namespace" not in role["metadata"], "it is applied to the namespace that units are in"
    rights = {
        (group, what, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for what in rule["resources"]
        for verb in rule["verbs"]
    }
    assert not [right for right in rights if "*" in right]
    # That it is enough is seen by all tests on the tests' own cluster, which allows nothing else.
    made = {what for _, what, verb in rights if verb == "create"}
    assert made == {"jobs", "deployments", "services", "secrets", "pods/portforward"}
    assert ("", "secrets", "list") not in rights, "who submits units is not to see the secrets of others"


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


def test_the_settings_of_the_example_are_known() -> None:
    settings = load_settings(environ={"ABOARD_CONFIG": str(DEPLOY / "kubernetes/example/config.toml")})
    assert settings.login.mode == "oidc"
    assert settings.serve.catalog.startswith("postgresql://")
    assert "password" not in (DEPLOY / "kubernetes/example/config.toml").read_text()


def test_variables_of_images_and_services_are_known() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    given = {
        name: value
        for name, value in compose["services"]["server"]["environment"].items()
        if name.startswith("ABOARD_") and name != "ABOARD_HOME"
    }
    given |= dict(re.findall(r"(ABOARD_(?!HOME)\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text()))
    documented = (DEPLOY.parent / "docs/settings.md").read_text()
    assert [name for name in given if f"`{name}`" not in documented] == []
    settings = load_settings(environ=given)
    assert (settings.serve.host, settings.serve.port, settings.serve.boards_port) == ("0.0.0.0", 6006, 6007)
    example = (DEPLOY / "example.env").read_text()
    asked = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    assert asked == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
