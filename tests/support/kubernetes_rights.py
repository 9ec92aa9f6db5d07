# SPDX-License-Identifier: Apache-2.0
"""What the Role that comes with aboard allows: who uses the tests' own API server may do this, and no more."""

from __future__ import annotations

from pathlib import Path

import yaml

ROLE = Path(__file__).parents[2] / "deploy/kubernetes/units/role.yaml"
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}


def may(verb: str, group: str, resource: str) -> bool:
    """Whether a rule has the verb for a resource, such as `pods/log`, of an API group."""
    return any(
        verb in rule["verbs"] and group in rule["apiGroups"] and resource in rule["resources"] for rule in _RULES
    )


def verb_of(method: str, *, names_one: bool) -> str:
    """What a request does, in the words of Kubernetes."""
    return _VERBS.get(method, "get" if names_one else "list")


_RULES = yaml.safe_load(ROLE.read_text())["rules"]
