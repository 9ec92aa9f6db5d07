# SPDX-License-Identifier: Apache-2.0
"""Event files of a folder that a server shows as a read-only source."""

from __future__ import annotations

from pathlib import Path

from aboard import SummaryWriter


def log_curve(folder: Path, *values: float, tag: str = "loss", first: int = 0, at: float = 1000.0) -> None:
    """Log some points, one second from another."""
    with SummaryWriter(str(folder)) as writer:
        for step, value in enumerate(values, first):
            writer.add_scalar(tag, value, step, walltime=at + step)
