# SPDX-License-Identifier: Apache-2.0
"""Where the runs of a person go who has logged in at a server: into its store, if that can be reached from here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class RunStore(NamedTuple):
    """The store to use, empty for the person's own, and what they should know about it."""

    uri: str = ""
    told: str = ""


def run_store(named: str) -> RunStore:
    """The store that a server names for runs. A folder is used if it is one of this machine and can be written."""
    if not named:
        return RunStore()
    if "://" not in named and not _can_write(Path(named)):
        hint = "set ABOARD_STORE to a store that both can reach"
        return RunStore("", f"The server keeps runs in {named}, which cannot be written from here: {hint}.")
    return RunStore(
        named, f"Runs that are logged from now on go to {named}, unless ABOARD_STORE or --store name another."
    )


def _can_write(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
