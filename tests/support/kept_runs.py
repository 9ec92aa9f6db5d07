# SPDX-License-Identifier: Apache-2.0
"""The run of a job as its store has it: whatever a server would add is not there."""

from __future__ import annotations

from aboard.model.runs import RunRecord
from aboard.store import open_store
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import RunFolder


def kept_run(store: str) -> RunRecord:
    """The only one there."""
    opened = open_store(store, read_only=True)
    (uid,) = [name for name in opened.list_folders() if not name.startswith("_")]
    run = load_run(RunFolder(opened, uid)).run
    assert run is not None
    return run
