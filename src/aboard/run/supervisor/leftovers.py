# SPDX-License-Identifier: Apache-2.0
"""Finishes shipping the files of a run whose supervisor or helper is gone, after a crash or days without network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from aboard.errors import DamagedDocument
from aboard.model.run_states import RunState
from aboard.model.state_changes import state_from
from aboard.run.secrets import Secrets
from aboard.run.spool_files import START
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.event_metrics import EventMetrics
from aboard.run.supervisor.run_summary import RunSummary
from aboard.run.supervisor.shipping import Shipping, write_progress
from aboard.store.run.manifest import Manifest
from aboard.store.run.run_folder import RunFolder
from aboard.upload import ShippingState


class Leftovers(NamedTuple):
    """What became of a run."""

    status: RunState
    states: list[ShippingState]


def ship_leftovers(destination: Destination, timeout: float) -> Leftovers:
    """Ship what is left and seal the run; its spool is locked by the caller."""
    own: set[str] = set()

    def accept(path: Path) -> bool:
        return str(path) in own

    folders = {destination.output: _all, **dict.fromkeys(destination.watched, _all)}
    metrics = EventMetrics({**folders, **dict.fromkeys(destination.shared, accept)})
    summary = RunSummary(destination.folder, Secrets.of(os.environ, ()), metrics.summaries)
    summary.look()
    own.update(summary.own_files)
    for folder in summary.watched:
        if folder not in destination.watched:
            destination = destination.watching(folder)
    shipping = Shipping(destination, summary.now, accept)
    status = shipping.ended or _said(summary, is_attended=not (destination.folder / START).exists())
    states = shipping.finish(status, timeout)
    write_progress(destination.folder, states, is_over=True)
    return Leftovers(status, states)


def read_manifest(folder: RunFolder) -> Manifest | None:
    """The manifest of a run; None when there is none that can be read. Raises StoreError."""
    try:
        read = folder.read_manifest()
    except DamagedDocument:
        return None
    return read.manifest if read else None


def _said(summary: RunSummary, *, is_attended: bool) -> RunState:
    """How the training said that it ended; lost when it said nothing.

    A training under `aboard run` may have been ended together with its supervisor: an interpreter that came to its end
    then says little.
    """
    if not summary.said_status or (is_attended and not summary.is_certain):
        return RunState.LOST
    return state_from(RunState, summary.said_status, "a run")


def _all(_: Path) -> bool:
    return True
