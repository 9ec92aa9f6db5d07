# SPDX-License-Identifier: Apache-2.0
"""A run of a selection: as much of it as tells what it is and where its files are."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.model.run_states import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedRun:
    """One of the runs that a selection means."""

    number: int
    uid: str
    name: str
    workspace: str
    status: RunState
    experiment_number: int | None = None
    store: str = ""
