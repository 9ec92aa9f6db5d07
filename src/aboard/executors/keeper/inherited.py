# SPDX-License-Identifier: Apache-2.0
"""What a unit inherits of the process that submits it, also when another one starts it again."""

from __future__ import annotations

import os
from typing import Dict  # noqa: UP035 - as Python 3.8 has it

from .unit_folder import UnitFolder

Environment = Dict[str, str]  # noqa: UP006 - evaluated, by Python 3.8 too
_FILE = "inherited.json"
_KEPT_OWN = "ABOARD_HOME"


def inherited() -> Environment:
    """The environment of this process without what is aboard's own: a unit has its own store, token, run and id."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ABOARD_") or name == _KEPT_OWN}


def write_down(folder: UnitFolder, environment: Environment) -> None:
    """Keep it for who starts the unit again."""
    folder.write(_FILE, {"environment": environment})


def written_down(folder: UnitFolder) -> Environment:
    """What was kept; of units that an earlier version has submitted nothing was."""
    kept = folder.read(_FILE)
    return inherited() if kept is None else kept["environment"]
