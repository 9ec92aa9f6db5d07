# SPDX-License-Identifier: Apache-2.0
"""The tools whose runs can be taken over, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import cast

from aboard.errors import UnknownName
from aboard.exchange.foreign.foreign_run import ForeignRun

_HOMES = {
    "aim": ("aboard.exchange.foreign.aim", "runs_of_aim"),
    "mlflow": ("aboard.exchange.foreign.mlflow", "runs_of_mlflow"),
    "trackio": ("aboard.exchange.foreign.trackio", "runs_of_trackio"),
    "wandb": ("aboard.exchange.foreign.wandb", "runs_of_wandb"),
}
NAMES = tuple(_HOMES)


def foreign_runs(tool: str, place: str) -> Iterator[ForeignRun]:
    """The runs of a tool in a place that it knows."""
    if tool not in _HOMES:
        raise UnknownName(f"Nothing is known of {tool!r}.", hint=f"Runs can be taken from {', '.join(NAMES)}.")
    module, function = _HOMES[tool]
    read = cast("Callable[[str], Iterator[ForeignRun]]", getattr(importlib.import_module(module), function))
    return read(place)
