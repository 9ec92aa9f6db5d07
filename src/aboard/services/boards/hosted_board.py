# SPDX-License-Identifier: Apache-2.0
"""One board that is open in this process: its runs under the names that its template gives them, as TensorBoard.

This module imports TensorBoard, so it is loaded when the first board is opened. Runs are taken from the pool of
open runs, and followed while they are live.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from aboard.board.hosting import BoardApp
from aboard.board.names import NamedRuns, folder_columns
from aboard.board.provider import BoardMetadata, SampleLimits
from aboard.board.sources import JoinedRuns, RunSource
from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError
from aboard.model.board_settings import parse_settings
from aboard.model.boards import BoardRecord
from aboard.model.names import folded
from aboard.model.selections import SelectedRun
from aboard.model.templates import BOARD_FIELDS, NameTemplate, TemplateValue
from aboard.reader.run import RunReader, indexes_of
from aboard.services.boards.folders import BoardFolders, OpenFolders
from aboard.services.boards.selection import BoardRefreshIntervals, BoardSelection, logdir_columns, run_columns
from aboard.services.runs.open_runs import OpenRun, OpenRuns, RunLocation

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
        self._columns: Mapping[str, Mapping[str, TemplateValue]] = {}
        self._logdirs: list[Mapping[str, RunReader]] = []
        self._runs: Mapping[str, RunReader] = MappingProxyType({})
        self._unfollowed = 0
        self._is_closed = False

    def show(
        self,
        selected: Sequence[SelectedRun],
        columns: Mapping[str, Mapping[str, TemplateValue]],
        place_of: Callable[[SelectedRun], RunLocation],
    ) -> None:
        """Show these runs from now on; `place_of` raises for those that this server may not open."""
        readable = readable_places(selected, place_of)
        with self._lock:
            if self._is_closed:
                return
            before = self._shown
            self._shown = {
                run.uid: self._kept(before.pop(run.uid, None), run, place) for run, place in readable.items()
            }
            self._unfollowed = sum(1 for run in selected if run.store and run not in readable)
            if columns != self._columns:
                self._columns, self._logdirs = columns, []
        for gone in before.values():
            self._pool.give_back(gone.run, follow=gone.is_followed)

    def _kept(self, shown: _Shown | None, selected: SelectedRun, place: RunLocation) -> _Shown:
        is_live = not selected.status.is_ended
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

    def columns_of(self, key: str) -> Mapping[str, TemplateValue]:
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


def readable_places(
    selected: Sequence[SelectedRun], place_of: Callable[[SelectedRun], RunLocation]
) -> Mapping[SelectedRun, RunLocation]:
    """Where the files of runs are, of those that can be opened."""
    found: dict[SelectedRun, RunLocation] = {}
    for run in selected:
        with suppress(AboardError):
            found[run] = place_of(run)
    return found


MOST_SHOWN = 10_000
"""Runs on one board: each takes some 20 KB of memory, and a page that lists more is of no use."""
_SHARE = 20  # looking at what a board shows takes at most this part of the time
_LONGEST_SECONDS = 60.0


class HostedBoard:
    """A board with its runs. `look` finds out what it shows now; nothing else here waits for anything."""

    def __init__(
        self,
        board: BoardRecord,
        catalog: Catalog,
        pool: OpenRuns,
        folders: OpenFolders,
        *,
        plugins: Collection[str] | None,
        default_template: str,
        intervals: BoardRefreshIntervals,
    ) -> None:
        """`plugins` are the installed ones that boards may load now, whatever was allowed when this was made."""
        self.board = board
        self.selected: Sequence[SelectedRun] = ()
        self.shown: frozenset[str]
        """Folded names of the workspaces whose runs it shows."""
        self.used_at = time.monotonic()
        self.reported_problems: list[str] = []
        self.has_looked = False
        self._catalog, self._intervals = catalog, intervals
        self._selection = BoardSelection(board, catalog)
        self._template = NameTemplate(board.template or default_template, BOARD_FIELDS)
        self._runs = BoardRuns(pool)
        self._folders = BoardFolders(folders, self._selection.folders) if self._selection.folders else None
        self._workspaces_of_folders = self.shown = folders.workspaces_of(self._selection.folders)
        self._looking = threading.Lock()
        self._holding = threading.Lock()
        self._answers_under_way, self._is_closed = 0, False
        self._next_look = 0.0
        self._source = self._named_runs()
        settings = parse_settings(board.settings, allowed_plugins=None)
        self.app = BoardApp(
            board.id,
            self._source,
            about=BoardMetadata(
                name=settings.window_title or board.description or board.name,
                description=board.description,
                creation_time=board.created.timestamp(),
            ),
            limits=SampleLimits(of_plugin=settings.samples),
            plugins=[name for name in settings.plugins if plugins is None or name in plugins] or "none",
            secret=bytes.fromhex(board.secret) if board.secret else None,
        )

    def _named_runs(self) -> RunSource:
        named = NamedRuns(self._runs, self._template, self._runs.columns_of, ("run", "path"))
        if self._folders is None:
            return named
        if not self.board.template:
            return JoinedRuns([named, self._folders])
        columns = folder_columns(self._folders.roots, self._folders.columns_of)
        return JoinedRuns([named, NamedRuns(self._folders, self._template, columns, ("run",))])

    @property
    def is_due(self) -> bool:
        """Whether it is time to look again."""
        return time.monotonic() >= self._next_look and not self._looking.locked()

    def look(self, place_of: Callable[[SelectedRun], RunLocation]) -> tuple[set[int], set[int]]:
        """Find out which runs are meant now; the numbers of those that joined, and of those that left."""
        with self._looking:
            began = time.monotonic()
            try:
                selected = self._selection.resolve()
                shown = selected
                if len(selected) > MOST_SHOWN:
                    shown = sorted(selected, key=lambda run: run.number)[-MOST_SHOWN:]
                columns = run_columns(shown, self._template, self._catalog.selected)
                workspaces = frozenset(folded(run.workspace) for run in selected) | self._workspaces_of_folders
                self.shown |= workspaces  # before the runs are there: nobody sees them whose rights were not checked
                self._runs.show(shown, columns, place_of)
                if self._folders is not None:
                    self._folders.open()
                before, after = {run.number for run in self.selected}, {run.number for run in selected}
                self.selected = selected
                self.shown = workspaces
                self.has_looked = True
                return after - before, before - after
            finally:
                usual = self._intervals.live if self._selection.is_live or self._lives() else self._intervals.fixed
                took = time.monotonic() - began
                self._next_look = time.monotonic() + min(max(usual, took * _SHARE), _LONGEST_SECONDS)

    @property
    def read_count(self) -> int:
        """Of how many runs all that was there has been read once."""
        return self._runs.read_count

    @property
    def logdir_count(self) -> int:
        """In how many folders with event files something was found to show."""
        return sum(len(index) > 0 for index in indexes_of(list(self._source.runs.values())))

    @property
    def problems(self) -> list[str]:
        """What cannot be read now, in words."""
        found = [*self._runs.problems, *(self._folders.problems if self._folders is not None else ())]
        if len(self.selected) > MOST_SHOWN:
            found.append(f"more than {MOST_SHOWN:,} runs are selected; the newest {MOST_SHOWN:,} are shown")
        return found

    def hold(self) -> bool:
        """Keep its runs for an answer, until `let_go`; false for a board that is closed, which has none any more."""
        with self._holding:
            self._answers_under_way += not self._is_closed
            return not self._is_closed

    def let_go(self) -> None:
        """End of an answer."""
        with self._holding:
            self._answers_under_way -= 1
            is_last = self._is_closed and not self._answers_under_way
        if is_last:
            self._give_back()

    def close(self) -> None:
        """Give back what it holds, when the answers that are under way have been made."""
        with self._holding:
            is_last = not self._is_closed and not self._answers_under_way
            self._is_closed = True
        if is_last:
            self._give_back()

    def _give_back(self) -> None:
        self._runs.close()
        if self._folders is not None:
            self._folders.close()

    def _lives(self) -> bool:
        return any(not run.status.is_ended for run in self.selected)
