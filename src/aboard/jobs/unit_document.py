# SPDX-License-Identifier: Apache-2.0
"""Units as JSON, for the process that submits them later."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Mount, Port, Resources


def unit_document(spec: UnitSpec) -> dict[str, Any]:
    """All of a unit, with its environment: who writes this down keeps it from others."""
    return {**asdict(spec), "environment": dict(spec.environment), "labels": dict(spec.labels)}


def unit_from(document: dict[str, Any]) -> UnitSpec:
    """The unit that was written so."""
    parts: dict[str, Any] = {
        **document,
        "command": tuple(document["command"]),
        "mounts": tuple(Mount(**one) for one in document["mounts"]),
        "ports": tuple(Port(**one) for one in document["ports"]),
        "resources": Resources(**document["resources"]),
    }
    return UnitSpec(**parts)
