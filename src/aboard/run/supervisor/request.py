# SPDX-License-Identifier: Apache-2.0
"""What `aboard run` is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aboard.model.hparams import HparamValue


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A command, and the run that it is to be."""

    command: tuple[str, ...]
    home: Path
    store: str
    mirrors: tuple[str, ...] = ()
    workspace: str = "default"
    experiment: str = ""
    name: str | None = None
    """None: a new run, called after its uid. The name of a run that is there: a new attempt of that one."""
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    watched: tuple[Path, ...] = ()
    output: Path | None = None
    restarts: int = 0
    grace: float = 30.0
    """Seconds between a signal that asks the command to end and killing it."""
    flush_timeout: float = 300.0
    """Seconds for shipping the rest when the command has ended."""
    resources_every: float = 10.0
    """Seconds between looks at CPU, memory and GPUs; 0: none."""
    log_limit: int = 32 << 20
    """Bytes of the command's output that are kept from its beginning."""
    capture_code: bool = True
    must_ship: bool = False
    """Whether this disk goes with the command: what the store does not get is lost, which is a failure."""
