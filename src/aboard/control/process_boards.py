# SPDX-License-Identifier: Apache-2.0
"""The boards that are processes: started, watched, ended, and found for who wants to look at them.

Of all server processes of a machine one looks after a board: the one that holds the lock beside its folder. When that
process dies, the system drops the lock and another takes over. A board that was claimed on one machine is left alone by
the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aboard.catalog.catalog import Catalog
from aboard.control.board_executors import BoardExecutors
from aboard.control.board_mirror import LOGS, BoardMirror
from aboard.control.board_preview import board_preview
from aboard.control.hosting import check_running, check_seen, touch_seconds
from aboard.control.open_folders import OpenFolders
from aboard.control.process_board import ProcessBoard
from aboard.control.repeated_rounds import RepeatedRounds
from aboard.control.tensorboard_unit import PORT, TensorBoardPlace
from aboard.control.unit_record import UnitRecord
from aboard.errors import AboardError, CatalogUnavailable, Conflict, ServerUnavailable, UnknownName
from aboard.executors.registry import executor_of
from aboard.model.access import Access
from aboard.model.board import Board
from aboard.model.times import now
from aboard.model.uid import new_uid
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import Endpoint
from aboard.process_lock import LockHeld, ProcessLock
from aboard.store.store import Store

_log = logging.getLogger("aboard.control")
_REST, _QUIET_REST = 0.5, 5.0
_THREADS = 8
_KNOWN_SECONDS, _KNOWN_WITHOUT_CATALOG_SECONDS = 1.0, 300.0
_ENDPOINT_SECONDS = 15.0  # a scheduler is asked by a process of its own, which takes longer than a request


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """Where boards that are processes keep their files, and how much."""

    home: Path | None = None
    """None: this server has no such boards."""
    most_bytes: int = 50 << 30
    """Event files of one board."""
    default_template: str = "{workspace}_{run}_{logdir}"
    executors: BoardExecutors = field(default_factory=BoardExecutors)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a board answers, as it was known at a moment."""

    board: Board
    endpoint: Endpoint | None
    at: float


@dataclass(slots=True)
class _Kept:
    board: ProcessBoard
    lock: ProcessLock
    is_busy: bool = False


class ProcessBoards:
    """Looks after the boards of one catalog on this machine."""

    def __init__(
        self,
        catalog: Catalog,
        folders: OpenFolders,
        stores: Callable[[], Mapping[str, Store]],
        options: ProcessOptions,
        told: Callable[[Board, str], None],
    ) -> None:
        self._catalog, self._folders, self._stores, self._options = catalog, folders, stores, options
        self._told = told
        # Servers of other catalogs may have the same home.
        digest = hashlib.sha256(str(catalog).encode()).hexdigest()[:12]
        self._place = None if options.home is None else options.home / "process-boards" / digest
        self.host = f"{socket.gethostname()}:{self._place}"
        own = hashlib.sha256(self.host.encode()).hexdigest()[:12]
        self._executors = replace(options.executors, owner=f"aboard-boards-{own}")
        self._kept: dict[str, _Kept] = {}
        self._known: dict[str, Target] = {}
        self._endpoints: dict[str, tuple[str, Endpoint, float]] = {}
        self._used: dict[str, float] = {}
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, "aboard-process-boards")
        self._rounds = RepeatedRounds(
            "aboard-process-keeper", self._round, looks_after="boards that are processes", rest_after_failure=_REST
        )

    @property
    def can_start(self) -> bool:
        """Whether this server has boards that are processes."""
        return self._place is not None

    def start(self) -> None:
        """Begin to look after them."""
        if self._place is not None:
            self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._rounds.start()

    def preview(self, board: Board) -> list[dict[str, Any]]:
        """What the executor of a board that was never made would be given; no folder is made for it either."""
        assert self._place is not None
        executor = self._executors.of(board)
        folder = self._place / board.id
        logs = self._executors.mirror_place(executor, folder) / LOGS
        return board_preview(board, TensorBoardPlace(executor=executor, logs=logs, home=folder, rules=self._executors))

    def wake(self) -> None:
        """Look soon: something is to be started or stopped."""
        self._rounds.wake()

    def stop(self, seconds: float) -> None:
        """Leave all as it is: units go on, and the next server takes them up."""
        self._rounds.stop()
        self._rounds.join(seconds)
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for one in kept:
            one.lock.release()

    def find(self, board_id: str, access: Access) -> Target:
        """Where a board answers, for a request of this person; it may wait for the catalog. It counts as used."""
        known = self.find_known(board_id, access)
        if known is not None:
            return known
        try:
            board = self._catalog.boards.get(board_id)
            found = Target(board, self._endpoint(board), time.monotonic())
            self._known[board_id] = found
        except CatalogUnavailable:
            found = self._known.get(board_id)
            if found is None or time.monotonic() - found.at > _KNOWN_WITHOUT_CATALOG_SECONDS:
                raise
        except UnknownName:
            self._known.pop(board_id, None)
            raise
        return self._checked(found, access)

    def find_known(self, board_id: str, access: Access) -> Target | None:
        """As `find`, of what was known a moment ago, without waiting for anything."""
        known = self._known.get(board_id)
        if known is None or known.endpoint is None or time.monotonic() - known.at > _KNOWN_SECONDS:
            return None
        return self._checked(known, access)

    def look_anew(self, board_id: str) -> None:
        """Ask the catalog before a board is found the next time."""
        known = self._known.get(board_id)
        if known is not None:
            self._known[board_id] = replace(known, at=known.at - _KNOWN_SECONDS)

    def used_at(self, board_id: str) -> float | None:
        """When somebody last asked for a board through this process, by the monotonic clock."""
        return self._used.get(board_id)

    def use(self, board_id: str) -> None:
        """Note that somebody looks at a board."""
        self._used[board_id] = time.monotonic()

    def _checked(self, target: Target, access: Access) -> Target:
        board = target.board
        check_seen(board, (), access)
        check_running(board)
        if target.endpoint is None and board.unit_host == self.host:
            raise ServerUnavailable(
                f"the process of the board {board.name} cannot be reached just now",
                hint="it may be started anew; its log says more",
            )
        if target.endpoint is None:
            machine = board.unit_host.partition(":")[0]
            raise Conflict(
                f"the board {board.name} runs on {machine}, which cannot be reached from here",
                hint="ask the server of that machine",
            )
        self.use(board.id)
        return target

    def _endpoint(self, board: Board) -> Endpoint | None:
        if board.unit_host != self.host or self._place is None or not board.unit:
            return None
        unit, endpoint, at = self._endpoints.get(board.id, ("", None, 0.0))
        if unit == board.unit and time.monotonic() - at < _ENDPOINT_SECONDS:
            return endpoint
        record = UnitRecord.read(self._place / board.id)
        handle = record.handle() if record is not None and record.unit == board.unit else None
        found: Endpoint | None = None
        with contextlib.suppress(UnknownName):  # it has just ended
            found = None if handle is None else executor_of(handle).endpoint(handle, PORT)
        if found is not None:
            self._endpoints[board.id] = board.unit, found, time.monotonic()
        return found

    def _round(self) -> float:
        boards = {board.id: board for board in self._catalog.boards.units.cared_for()}
        for board in boards.values():
            if board.state is UnitState.PENDING and not board.unit:
                if self._catalog.boards.units.claim(board.id, new_uid(), self.host):
                    self._look_after(self._catalog.boards.get(board.id))
            elif board.unit_host == self.host:
                self._look_after(board)
        self._end_leftovers(boards)
        self._note_uses(boards)
        moving = any(board.state is not UnitState.RUNNING for board in boards.values())
        return _REST if moving else min(_QUIET_REST, _REST * 4 if boards else _QUIET_REST)

    def _look_after(self, board: Board) -> None:
        kept = self._take(board.id)
        if kept is not None and not kept.is_busy:
            kept.is_busy = True
            self._threads.submit(self._step, kept, board)

    def _step(self, kept: _Kept, board: Board) -> None:
        try:
            if kept.board.step(board):
                self._known.pop(board.id, None)
                with contextlib.suppress(UnknownName):
                    self._told(self._catalog.boards.get(board.id), "state")
                self.wake()
        except AboardError as error:
            _log.warning("The board %s is looked after later: %s", board.name, error.message)
        except Exception:
            _log.exception("Looking after the board %s failed", board.name)
        finally:
            kept.is_busy = False

    def _take(self, board_id: str) -> _Kept | None:
        """The board, if this process is the one that looks after it."""
        assert self._place is not None
        with self._lock:
            found = self._kept.get(board_id)
            if found is not None or self._rounds.is_stopped:
                return found
            try:
                lock = ProcessLock(self._place / f"{board_id}.lock")
            except (LockHeld, OSError):
                return None
            board = ProcessBoard(self._place / board_id, self._catalog, self._mirror, self._executors)
            found = self._kept[board_id] = _Kept(board, lock)
            return found

    def _mirror(self, folder: Path, board: Board) -> BoardMirror:
        options = self._options
        return BoardMirror(
            folder,
            board,
            self._catalog,
            self._folders,
            self._stores,
            default_template=options.default_template,
            most_bytes=options.most_bytes,
        )

    def _end_leftovers(self, boards: Mapping[str, Board]) -> None:
        """Folders of boards that were deleted, or have nothing left to look after."""
        assert self._place is not None
        own = {board_id for board_id, board in boards.items() if board.unit_host == self.host}
        left = {path.name for path in self._place.iterdir() if path.is_dir()} | self._shared_leftovers()
        for board_id in (left | self._kept.keys()) - own:
            kept = self._take(board_id)
            if kept is not None and not kept.is_busy:
                kept.is_busy = True
                self._threads.submit(self._leave, board_id, kept)

    def _leave(self, board_id: str, kept: _Kept) -> None:
        try:
            if not kept.board.leave():
                return
            self._endpoints.pop(board_id, None)
            with self._lock:
                self._kept.pop(board_id, None)
            kept.lock.release()  # its empty file stays: whoever removes a lock lets two have it
        except AboardError as error:
            _log.warning("What is left of the board %s is ended later: %s", board_id, error.message)
        except Exception:
            _log.exception("Ending what is left of the board %s failed", board_id)
        finally:
            kept.is_busy = False

    def _shared_leftovers(self) -> set[str]:
        """Copies for other machines, also of boards of which this one knows nothing else any more."""
        assert self._place is not None
        shared = self._executors.shared_place(self._place)
        if shared is None or not shared.parent.is_dir():
            return set()
        return {path.name for path in shared.parent.iterdir() if path.is_dir()}

    def _note_uses(self, boards: Mapping[str, Board]) -> None:
        """Write down when boards were used: not at every request, but before it would make a difference."""
        for board_id, used in list(self._used.items()):
            board = boards.get(board_id)
            if board is None:
                self._used.pop(board_id, None)
                self._noted.pop(board_id, None)
            elif used > self._noted.get(board_id, 0.0) and time.monotonic() - self._noted.get(
                board_id, float("-inf")
            ) > touch_seconds(board):
                self._noted[board_id] = time.monotonic()
                self._catalog.boards.touch(board_id, now())
