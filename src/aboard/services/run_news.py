# SPDX-License-Identifier: Apache-2.0
"""Tells the bus what is new about runs, by comparing them with what was last put into the catalog."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from aboard.model.run import Run
from aboard.services.changes import Changes

_REMEMBERED = 50_000


class _Known(NamedTuple):
    workspace: str
    is_deleted: bool
    status: str
    metrics: int
    document: int


class RunNews:
    """Remembers the runs that changed last. Safe to use from any thread."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def tell(self, runs: Sequence[Run], was_known: bool = False) -> None:
        """Runs as they are in the catalog now; `was_known`: those of which nothing is remembered here are not new."""
        for run in runs:
            with self._lock:
                before, now = self._known.get(run.uid), _known(run)
                self._known[run.uid] = now
                self._known.move_to_end(run.uid)
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            unknown = ["document"] if was_known else ["seen"]
            changed = unknown if before is None else _changed(before, now)
            if before is not None and before.workspace != now.workspace:
                self._changes.tell("run", before.workspace, {**_facts(run), "workspace": None, "changed": ["moved"]})
            if changed:
                self._changes.tell("run", run.workspace, {**_facts(run), "changed": changed})

    def tell_purged(self, run: Run) -> None:
        """A run that is gone for good."""
        with self._lock:
            self._known.pop(run.uid, None)
        self._changes.tell("run", run.workspace, {**_facts(run), "deleted": True, "changed": ["purged"]})


def _known(run: Run) -> _Known:
    metrics = hash(tuple((name, one.last, one.count) for name, one in sorted(run.metrics.items())))
    others = run.name, run.experiment, sorted(run.tags.items()), run.notes, run.attempts, sorted(map(str, run.hparams))
    return _Known(run.workspace, run.deleted is not None, str(run.status), metrics, hash(repr(others)))


def _changed(before: _Known, now: _Known) -> list[str]:
    changed: list[str] = []
    if before.is_deleted != now.is_deleted:
        changed.append("deleted" if now.is_deleted else "restored")
    if before.status != now.status:
        changed.append("status")
    if before.metrics != now.metrics:
        changed.append("metrics")
    if before.document != now.document or before.workspace != now.workspace:
        changed.append("document")
    return changed


def _facts(run: Run) -> dict[str, object]:
    return {
        "uid": run.uid,
        "number": run.number,
        "name": run.name,
        "workspace": run.workspace,
        "experiment": run.experiment_number,
        "status": str(run.status),
        "deleted": run.deleted is not None,
    }
