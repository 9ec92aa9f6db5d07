# SPDX-License-Identifier: Apache-2.0
"""What an executor without a keeper fills in by itself: variables of the unit, and `$(NAME)` in its command."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict

from aboard.model.unit import UnitSpec

BEGUN = "ABOARD_UNIT_BEGUN"
"""The variable by which `aboard run` knows when the time of its unit began to count."""
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def unit_environment(spec: UnitSpec, ports: Mapping[str, int]) -> dict[str, str]:
    """The unit's own variables, its id, and where its ports are."""
    told = {port.variable: str(ports[port.name]) for port in spec.ports}
    return {**spec.environment, "ABOARD_UNIT_ID": spec.id, **told}


def begin_of_time(spec: UnitSpec) -> dict[str, str]:
    """For a unit whose time counts from now on, over all its starts; not part of what tells it from others."""
    return {} if spec.timeout is None else {BEGUN: f"{time.time():.3f}"}


def filled_command(spec: UnitSpec, environment: Mapping[str, str]) -> list[str]:
    """The command with values in place of `$(NAME)`; a name that is not there stays as it is."""
    return [_REFERENCE.sub(lambda match: environment.get(match[1], match[0]), part) for part in spec.command]


def spec_digest(spec: UnitSpec) -> str:
    """By which the same unit is told from another one under the same id; it gives nothing of the environment away."""
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()[:40]
