# SPDX-License-Identifier: Apache-2.0
"""The event-file format in Python: a module for each kind of summary, loaded on first use."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aboard.events import (
        audio,
        custom_scalars,
        graph,
        histogram,
        hparams,
        image,
        mesh,
        pr_curve,
        projector,
        tensor,
        video,
    )

__all__ = [
    "audio",
    "custom_scalars",
    "graph",
    "histogram",
    "hparams",
    "image",
    "mesh",
    "pr_curve",
    "projector",
    "tensor",
    "video",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'aboard.events' has no attribute {name!r}")
    return importlib.import_module(f"aboard.events.{name}")
