# SPDX-License-Identifier: Apache-2.0
"""The runs of a store by the key of their folder: what they are called, and what their names on a board may show."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from aboard.model.name_template import Value
from aboard.model.names import offline_run_name, run_name
from aboard.model.run import Run

if TYPE_CHECKING:
    from aboard.store.run.summary import Summary


class StoredRuns:
    """Names that never collide: of two runs with one name, the second also shows its uid, whoever goes later."""

    class Place(NamedTuple):
        """A run by the key of its folder, and the path of a logdir in it; empty for the run itself."""

        run: str
        logdir: str

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.renamed = 0
        """Grows when a run has another name than before."""
        self._columns: dict[str, dict[str, Value]] = {}
        self._taken: set[tuple[str, str]] = set()

    def __contains__(self, run: str) -> bool:
        return run in self._names

    def add(self, run: str, uid: str, described: Run | None, summary: Summary | None) -> None:
        """Name a run, or learn more of one. `described` is what `run.json` says, if that can be read."""
        with self._lock:
            wanted = _wanted_name(uid, described)
            if self._wanted.get(run) != wanted:
                self._wanted[run] = wanted
                self._give(run, uid, wanted)
            self._columns[run] = _columns(uid, self._names[run], described, summary)

    def _give(self, run: str, uid: str, wanted: str) -> None:
        above, before = run.rpartition("/")[0], self._names.get(run)
        self._taken.discard((above, before or ""))
        name = f"{wanted}-{uid[-8:].lower()}" if (above, wanted) in self._taken else wanted
        self._taken.add((above, name))
        self._names[run] = name
        self.renamed += before is not None

    def name_of(self, run: str, logdir: str) -> str:
        """What a logdir is called on a board."""
        above = run.rpartition("/")[0]
        return "/".join(part for part in (above, self._names[run], logdir) if part)

    def columns_of(self, run: str, logdir: str) -> Mapping[str, Value]:
        """The fields of a template for a logdir; groups stand as `tags.x`."""
        return {**self._columns.get(run, {}), "logdir": logdir.rpartition("/")[2] or self._names[run]}


def _wanted_name(uid: str, described: Run | None) -> str:
    if described is None:
        return offline_run_name(uid)
    return described.name or (run_name(described.number) if described.number else offline_run_name(uid))


def _columns(uid: str, name: str, described: Run | None, summary: Summary | None) -> dict[str, Value]:
    tags = {**(summary.tags if summary else {}), **(described.tags if described else {})}
    hparams: Mapping[str, object] = summary.hparams if summary else {}
    columns: dict[str, Value] = {"run": name, "uid": uid}
    if described is not None:
        columns |= {
            "workspace": described.workspace,
            "experiment": described.experiment,
            "user": described.user or None,
        }
    columns |= {f"tags.{key}": value for key, value in tags.items()}
    return columns | {f"hparams.{key}": _plain(value) for key, value in hparams.items()}


def _plain(value: object) -> Value:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
