# SPDX-License-Identifier: Apache-2.0
"""Units as tests give them to Kubernetes, and how their objects are called there."""

from __future__ import annotations

from typing import Any

from aboard.model.units import UnitSpec


def unit_spec(**parts: Any) -> UnitSpec:
    return UnitSpec(**{"name": "train", "image": "python:3", "command": ("python", "train.py"), **parts})


def object_name(unit: str) -> str:
    return f"aboard-{unit.lower()}"
