# SPDX-License-Identifier: Apache-2.0
"""Marks by which a run learns that its job was cancelled: a file beside the job's record, or a key in the store.

`aboard run` looks for the mark that its variables name when it receives a request to end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from aboard.errors import AboardError
from aboard.store import Patience, open_store
from aboard.store.store import Store

MARK, KEY = "ABOARD_CANCEL_MARK", "ABOARD_CANCEL_OBJECT"
PREFIX = "_cancelled"
_OLD_SECONDS = 7 * 86400.0  # by then whoever was asked to end has done so
# A store that does not answer is not to keep a job from beginning, being stopped, or having ended.
BRIEF = Patience(connect_seconds=3, stall_seconds=5, request_seconds=10, retries=1, retry_seconds=5)

Variables = Mapping[str, str]


def mark_variables(unit: str, mark: Path, *, shares_files: bool) -> dict[str, str]:
    """What tells a unit where to look."""
    return {MARK: str(mark)} if shares_files else {KEY: f"{PREFIX}/{unit}"}


def mark_in_store(environment: Variables, unit: str) -> None:
    """Tell a unit with these variables; one that cannot be told is found to be cancelled by who looks after jobs."""
    if KEY in environment:
        with contextlib.suppress(AboardError):
            _opened(environment).put(f"{PREFIX}/{unit}", b"{}")


def forget_mark(environment: Variables, unit: str) -> None:
    """A job that is forgotten needs none."""
    if KEY in environment:
        with contextlib.suppress(AboardError):
            _opened(environment).delete(f"{PREFIX}/{unit}")


def clean_marks(store: Store) -> None:
    """Remove those that have done what they are for."""
    now = time.time()
    store.delete([mark.key for mark in store.list(PREFIX) if now - mark.modified > _OLD_SECONDS])


def _opened(environment: Variables) -> Store:
    return open_store(environment.get("ABOARD_STORE", ""), patience=BRIEF)
