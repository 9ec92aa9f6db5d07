# SPDX-License-Identifier: Apache-2.0
"""The runs of a catalog that a board shows: taken from the pool of open runs, and followed while they live."""

from __future__ import annotations

import threading
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from aboard.model.name_template import Value
from aboard.model.selected_run import SelectedRun
from aboard.reader.run_reader import RunReader
from aboard.services.board_columns import logdir_columns
from aboard.services.open_run import OpenRun, RunPlace
from aboard.services.open_runs import OpenRuns

_LOOK_AGAIN_SECONDS = 60.0  # at a run that has ended: what was left of it may be shipped later


@dataclass(slots=True)
class _Shown:
    run: OpenRun
    is_followed: bool


class BoardRuns:
    """Runs by `uid/logdir`, a source of runs for a board. Safe to use from any thread."""

    def __init__(self, pool: OpenRuns) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._shown: dict[str, _Shown] = {}
        self._columns: Mapping[str, Mapping[str, Value]] = {}
        self._logdirs: list[Mapping[str, RunReader]] = []
        self._runs: Mapping[str, RunReader] = MappingProxyType({})
        self._unfollowed = 0
        self._is_closed = False

    def show(
        self, selected: Sequence[SelectedRun], columns: Mapping[str, Mapping[str, Value]], stores: Container[str]
    ) -> None:
        """Show these runs from now on, of those that are in one of `stores`."""
        wanted = {run.uid: run for run in selected if run.store in stores}
        with self._lock:
            if self._is_closed:
                return
            before = self._shown
            self._shown = {uid: self._kept(before.pop(uid, None), run) for uid, run in wanted.items()}
            self._unfollowed = sum(1 for run in selected if run.store and run.store not in stores)
            if columns != self._columns:
                self._columns, self._logdirs = columns, []
        for gone in before.values():
            self._pool.give_back(gone.run, follow=gone.is_followed)

    def _kept(self, shown: _Shown | None, selected: SelectedRun) -> _Shown:
        is_live = not selected.status.is_ended
        place = RunPlace(selected.store, selected.uid)
        if shown is not None and shown.is_followed == is_live and shown.run.place == place:
            if not is_live:
                shown.run.want(_LOOK_AGAIN_SECONDS)
            return shown
        taken = _Shown(self._pool.take(place, follow=is_live), is_live)
        if shown is not None:
            self._pool.give_back(shown.run, follow=shown.is_followed)
            taken.run.want(0.0)  # its end is there now
        return taken

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """What was read so far; the same mapping as before when there is no other logdir."""
        with self._lock:
            logdirs = [shown.run.logdirs for shown in self._shown.values()]
            if len(logdirs) != len(self._logdirs) or any(
                one is not other for one, other in zip(logdirs, self._logdirs, strict=True)
            ):
                by_run = zip(self._shown, logdirs, strict=True)
                found = {f"{uid}/{path}": run for uid, inside in by_run for path, run in sorted(inside.items())}
                self._logdirs = logdirs
                self._runs = MappingProxyType(found)
            return self._runs

    def columns_of(self, key: str) -> Mapping[str, Value]:
        """What the name of a logdir may show."""
        uid, _, logdir = key.partition("/")
        return logdir_columns(self._columns.get(uid, {}), logdir)

    @property
    def read_count(self) -> int:
        """Of how many runs all that was there has been read once."""
        with self._lock:
            return sum(shown.run.is_read for shown in self._shown.values())

    @property
    def problems(self) -> list[str]:
        """Why runs cannot be read now, each reason once."""
        with self._lock:
            told = [shown.run.problem for shown in self._shown.values()]
            unfollowed = self._unfollowed
        problems = list(dict.fromkeys(problem.message for problem in told if problem is not None))
        return problems + ([f"{unfollowed} runs are in stores that this server does not follow"] if unfollowed else [])

    def close(self) -> None:
        """Give all runs back."""
        with self._lock:
            self._is_closed = True
            shown, self._shown = self._shown, {}
        for one in shown.values():
            self._pool.give_back(one.run, follow=one.is_followed)
