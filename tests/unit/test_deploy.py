# SPDX-License-Identifier: Apache-2.0
"""The files in deploy: rights are few, and every setting is known to aboard. Manifests: tests/integration."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from aboard.config.settings import load_settings
from support.kubernetes_rights import ROLE

DEPLOY = Path(__file__).parents[2] / "deploy"
SCHEMAS = "1.32"


def test_the_role_for_units_holds_no_more_than_units_need() -> None:
    import kubernetes_validate

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
