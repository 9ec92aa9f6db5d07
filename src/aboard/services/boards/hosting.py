# SPDX-License-Identifier: Apache-2.0
"""The boards that are open in this process: opened on request, closed when unused for long.

An open board answers from what was read of its runs. In the background the catalog is asked which runs it shows now.
While the catalog does not answer, open boards go on with what they had.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, Conflict, UnknownName
from aboard.model.boards import BoardRecord, LineLevel
from aboard.model.names import run_name
from aboard.model.people import Access
from aboard.model.selections import SelectedRun
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.services.boards.folders import OpenFolders
from aboard.services.boards.selection import BoardRefreshIntervals, workspaces_of
from aboard.services.runs.open_runs import OpenRuns, RunLocation

if TYPE_CHECKING:
    from aboard.services.boards.hosted_board import HostedBoard


_log = logging.getLogger("aboard.services")
_LOOKING_THREADS = 4
_NAMED_RUNS = 10
_TOUCH_SECONDS = 30.0
_CLOSE_SECONDS = 600.0


class Hosting:
    """Opens boards and keeps them up to date.

    `place_of` says where a run is, and raises for one that may not be read. `on_change` is called when a board shows
    other runs.
    """

    def __init__(
        self,
        catalog: Catalog,
        pool: OpenRuns,
        folders: OpenFolders,
        place_of: Callable[[SelectedRun], RunLocation],
        *,
        on_change: Callable[[BoardRecord, str], None],
        plugins: Collection[str] | None,
        default_template: str,
        intervals: BoardRefreshIntervals | None = None,
        close_seconds: float = _CLOSE_SECONDS,
    ) -> None:
        self._catalog, self._pool, self._folders, self._place_of = catalog, pool, folders, place_of
        self._on_change, self._plugins = on_change, plugins
        self._default_template, self._close_seconds = default_template, close_seconds
        self._intervals = intervals or BoardRefreshIntervals()
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, HostedBoard] = {}
        self._touched: dict[str, float] = {}
        self._threads = ThreadPoolExecutor(_LOOKING_THREADS, thread_name_prefix="aboard-boards")

    @property
    def open_count(self) -> int:
        """Boards that are open in this process."""
        return len(self._open)

    def find(self, board_id: str) -> HostedBoard | None:
        """A board, if it is open."""
        return self._open.get(board_id)

    def use_open(self, board_id: str, access: Access) -> HostedBoard | None:
        """As `use`, for a board that is open, without waiting for anything; None for one that is not."""
        hosted = self._open.get(board_id)
        if hosted is not None:
            check_seen(hosted.board, hosted.shown, access)
            self._use(hosted)
        return hosted

    def use(self, board_id: str, access: Access) -> HostedBoard:
        """A board for a request of this person: it counts as used. Opened if it is not.

        What one may not see does not exist; one that has ended says so.
        """
        hosted = self.use_open(board_id, access)
        if hosted is None:
            hosted = self.open(self._catalog.boards.get(board_id), access)
            check_seen(hosted.board, hosted.shown, access)
        return hosted

    @contextlib.contextmanager
    def held(self, board_id: str, access: Access) -> Generator[HostedBoard]:
        """As `use`, and its runs stay until the block ends, also when it is stopped or becomes another meanwhile.

        At the end the rights are checked once more: runs of another workspace may have joined meanwhile.
        """
        while not (hosted := self.use(board_id, access)).hold():
            continue  # closed just now, and no longer among those that are open
        try:
            yield hosted
            check_seen(hosted.board, hosted.shown, access)
        finally:
            hosted.let_go()

    def open(self, board: BoardRecord, access: Access) -> HostedBoard:
        """Open a board that this person may see."""
        check_seen(board, (), access)
        check_running(board)
        with self._lock:
            turn = self._opening.setdefault(board.id, threading.Lock())
        # One folder that does not answer must not keep other boards from being opened.
        with turn:
            found = self._open.get(board.id)
            if found is None:
                found = self._opened(board)
                with self._lock:
                    self._open[board.id] = found
                    self._opening.pop(board.id, None)
        return found

    def _opened(self, board: BoardRecord) -> HostedBoard:
        # Here: TensorBoard takes a second and 50 MB, and a server without boards needs neither.
        from aboard.services.boards.hosted_board import HostedBoard

        made = HostedBoard(
            board,
            self._catalog,
            self._pool,
            self._folders,
            plugins=self._plugins,
            default_template=self._default_template,
            intervals=self._intervals,
        )
        try:
            self._look(made)
        except BaseException:
            made.close()
            raise
        return made

    def prepare(self) -> None:
        """Load what boards are made of, in the background: somebody will open one."""
        if "aboard.services.boards.hosted_board" not in sys.modules:
            load = partial(importlib.import_module, "aboard.services.boards.hosted_board")
            threading.Thread(target=load, name="aboard-prepare", daemon=True).start()

    def close_board(self, board_id: str) -> None:
        """Close a board that has ended, or was changed."""
        with self._lock:
            hosted = self._open.pop(board_id, None)
            self._touched.pop(board_id, None)
        if hosted is not None:
            hosted.close()

    def look_anew(self, board_id: str) -> None:
        """Have an open board become what the catalog says of it now, in the background; until then it is as it was."""
        hosted = self._open.get(board_id)
        if hosted is not None:
            with contextlib.suppress(RuntimeError):  # the server is ending
                self._threads.submit(self._look_again, hosted, at_once=True)

    def change(self, board: BoardRecord) -> None:
        """Make an open board what it was changed into; whoever asks meanwhile gets an answer from one or the other."""
        hosted = self._open.get(board.id)
        if hosted is None:
            return
        try:
            self._become(hosted, board)
        except AboardError as error:
            _log.warning("The board %s is opened anew when somebody asks: %s", board.name, error.message)
            self.close_board(board.id)

    def close_unused(self) -> None:
        """Close what nobody has asked for in a long time; it is opened again when somebody does."""
        limit = time.monotonic() - self._close_seconds
        for board_id, hosted in list(self._open.items()):
            if hosted.used_at < limit:
                self.close_board(board_id)

    def close(self) -> None:
        """Close all boards."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(AboardError):
            self.note_uses(all_of_them=True)
        for board_id in list(self._open):
            self.close_board(board_id)

    def note_uses(self, *, all_of_them: bool = False) -> None:
        """Write down when boards were used last: not at every request, but before it would make a difference."""
        for hosted in list(self._open.values()):
            board_id, used_at = hosted.board.id, hosted.used_at
            noted = self._touched.get(board_id, 0.0)
            if used_at > noted and (all_of_them or used_at - noted > touch_seconds(hosted.board)):
                self._touched[board_id] = used_at
                self._catalog.boards.touch(board_id, now() - timedelta(seconds=time.monotonic() - used_at))

    def _use(self, hosted: HostedBoard) -> None:
        hosted.used_at = time.monotonic()
        if hosted.is_due:
            try:
                self._threads.submit(self._look_again, hosted)
            except RuntimeError:
                return  # the server is ending

    def _look_again(self, hosted: HostedBoard, *, at_once: bool = False) -> None:
        if not (at_once or hosted.is_due):
            return
        try:
            board = self._catalog.boards.get(hosted.board.id)
            if board.state is not UnitState.RUNNING:
                self.close_board(board.id)  # perhaps another server process has ended it
                return
            if self._become(hosted, board) is hosted:
                self._look(hosted)
        except UnknownName:
            self.close_board(hosted.board.id)
        except AboardError as error:
            _log.warning("The board %s stays as it is: %s", hosted.board.name, error.message)
        except Exception:
            _log.exception("Looking at the board %s failed", hosted.board.name)

    def _become(self, hosted: HostedBoard, board: BoardRecord) -> HostedBoard:
        """The open board as `board` is: the same one, or another in its place where it is made of something else."""
        if _made_of(board) == _made_of(hosted.board):
            hosted.board = board
            return hosted
        changed = self._opened(board)
        with self._lock:
            is_open = self._open.get(board.id) is hosted
            if is_open:
                self._open[board.id] = changed
        (hosted if is_open else changed).close()
        return changed

    def _look(self, hosted: HostedBoard) -> None:
        is_first = not hosted.has_looked
        joined, left = hosted.look(self._place_of)
        board = hosted.board
        # Its log and description may be about runs that have left, so workspaces are added and never removed.
        shown, count = tuple(sorted({*board.shown, *hosted.shown})), len(hosted.selected)
        is_news = (shown, count) != (board.shown, board.run_count)
        if (joined or left) and is_news:
            self._catalog.boards.note_shown(board.id, shown, count)
            hosted.board = replace(board, shown=shown, run_count=count)
            self._on_change(hosted.board, "runs")
        # Another process that has the board open may have written it down already.
        if not is_first and (is_news or not self._catalog.is_shared):
            for numbers, what in ((joined, "joined"), (left, "left")):
                if numbers:
                    self._catalog.board_lines.add(board.id, f"{_several(numbers)} {what}")
        self._tell_problems(hosted)

    def _tell_problems(self, hosted: HostedBoard) -> None:
        problems = hosted.problems
        for problem in problems:
            if problem not in hosted.reported_problems:
                self._catalog.board_lines.add(hosted.board.id, problem, LineLevel.WARNING)
        if hosted.reported_problems and not problems:
            self._catalog.board_lines.add(hosted.board.id, "everything can be read again")
        hosted.reported_problems = problems


def check_seen(board: BoardRecord, shown: Iterable[str], access: Access) -> None:
    """Refuse a board as if it were not there, unless all workspaces that it shows may be looked at."""
    if not is_seen(board, access) or not all(access.sees(one) for one in shown):
        raise UnknownName(f"there is no board {board.id!r}", hint="`aboard board list` shows what there is")


def check_running(board: BoardRecord) -> None:
    """Refuse a board that cannot be looked at now."""
    if board.state is not UnitState.RUNNING:
        hint = f"start it again: aboard board start-again {board.id[:8]}" if board.state.is_ended else "wait a moment"
        over = f": {board.reason or 'it has ended'}" if board.state.is_ended else ""
        raise Conflict(f"the board {board.name} is {board.state}{over}", hint=hint)


def is_seen(board: BoardRecord, access: Access) -> bool:
    """Whether this person may look at all that the board names and has shown."""
    return access.sees(board.workspace) and all(access.sees(one) for one in workspaces_of(board))


def _made_of(board: BoardRecord) -> tuple[object, ...]:
    """What an open board was made of: where this is another, it has to be opened anew."""
    return board.workspace, board.sources, board.where, board.template, board.description, board.settings, board.scope


def touch_seconds(board: BoardRecord) -> float:
    """How much later than it happened the last use of a board may be written down."""
    if board.idle_timeout is None:
        return _TOUCH_SECONDS
    return min(_TOUCH_SECONDS, board.idle_timeout.total_seconds() / 4)


def _several(numbers: set[int]) -> str:
    some = ", ".join(run_name(number) for number in sorted(numbers)[:_NAMED_RUNS])
    more = " …" if len(numbers) > _NAMED_RUNS else ""
    return f"{len(numbers)} run{'s' * (len(numbers) != 1)} ({some}{more})"
