# SPDX-License-Identifier: Apache-2.0
"""The boards with processes of their own: started, watched, ended, and located for the proxy.

Of all server processes of a host one looks after a board: the one that holds the lock beside its folder. When that
process dies, the system drops the lock and another takes over. A unit that was claimed on one host is left alone by the
other hosts while the lease of that host is valid. Then another host takes the unit over, if it can reach it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import shutil
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, CatalogUnavailable, Conflict, ServerUnavailable, UnknownName
from aboard.executors.registry import executor_of
from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import LockHeld, ProcessLock
from aboard.model.boards import BoardRecord, BoardUnit
from aboard.model.names import new_uid
from aboard.model.people import Access
from aboard.model.states import UnitState
from aboard.model.times import now
from aboard.model.units import Endpoint, UnitHandle
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.folders import OpenFolders
from aboard.services.boards.hosting import check_running, check_seen, touch_seconds
from aboard.services.boards.mirror import LOGS, BoardMirror
from aboard.services.boards.process_board import ProcessBoard
from aboard.services.boards.tensorboard_unit import PORT, TensorBoardLocation, board_preview, executor_for, handle_of
from aboard.services.leases import HostLease
from aboard.services.periodic_task import PeriodicTask
from aboard.store.store import Store

_log = logging.getLogger("aboard.services")
_REST, _QUIET_REST = 0.5, 5.0
_THREADS = 8
_KNOWN_SECONDS, _KNOWN_WITHOUT_CATALOG_SECONDS = 1.0, 300.0
_JUDGE_SECONDS = 10.0  # between two looks at a unit of a host that is gone
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
class ProxyTarget:
    """Where the process of a board answers, as of a moment."""

    board: BoardRecord
    endpoint: Endpoint | None
    at: float


@dataclass(frozen=True, slots=True)
class _Route:
    """How a unit was reached, as of a moment."""

    handle: UnitHandle
    endpoint: Endpoint
    at: float


@dataclass(slots=True)
class _Kept:
    board: ProcessBoard
    lock: ProcessLock
    is_busy: bool = False


class ProcessBoards:
    """Looks after the boards of one catalog on this host."""

    def __init__(
        self,
        catalog: Catalog,
        folders: OpenFolders,
        stores: Callable[[], Mapping[str, Store]],
        options: ProcessOptions,
        on_change: Callable[[BoardRecord, str], None],
    ) -> None:
        self._catalog, self._folders, self._stores, self._options = catalog, folders, stores, options
        self._on_change = on_change
        # Servers of other catalogs may have the same home.
        digest = hashlib.sha256(str(catalog).encode()).hexdigest()[:12]
        self._place = None if options.home is None else options.home / "process-boards" / digest
        self.host = f"{socket.gethostname()}:{self._place}"
        own = hashlib.sha256(self.host.encode()).hexdigest()[:12]
        self._executors = replace(options.executors, owner=f"aboard-boards-{own}")
        self._host = HostLease(catalog, self.host)
        self._kept: dict[str, _Kept] = {}
        self._known: dict[str, ProxyTarget] = {}
        self._ways: dict[str, _Route] = {}
        self._judged: dict[str, float] = {}
        self._used: dict[str, float] = {}
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, "aboard-process-boards")
        self._task = PeriodicTask(
            "aboard-process-keeper", self._round, looks_after="boards that are processes", rest_after_failure=_REST
        )

    @property
    def can_start(self) -> bool:
        """Whether this server has boards that are processes."""
        return self._place is not None

    def start(self) -> None:
        """Begin to look after them."""
        if self._place is not None:
            make_private_folder(self._place)
            self._task.start()

    def preview(self, board: BoardRecord) -> list[dict[str, Any]]:
        """What the executor of a board that was never made would be given; no folder is made for it either."""
        assert self._place is not None
        executor = self._executors.of(board)
        folder = self._place / board.id
        logs = self._executors.mirror_place(executor, folder) / LOGS
        return board_preview(
            board, TensorBoardLocation(executor=executor, logs=logs, home=folder, rules=self._executors)
        )

    def wake(self) -> None:
        """Look soon: something is to be started or stopped."""
        self._task.wake()

    def stop(self, seconds: float) -> None:
        """Leave all as it is: units go on, and the next server takes them up."""
        self._task.stop()
        self._task.join(seconds)
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for one in kept:
            one.lock.release()

    def find(self, board_id: str, access: Access) -> ProxyTarget:
        """Where a board answers, for a request of this person; it may wait for the catalog. It counts as used."""
        known = self.find_known(board_id, access)
        if known is not None:
            return known
        try:
            board = self._catalog.boards.get(board_id)
            found = ProxyTarget(board, self._endpoint(board), time.monotonic())
            self._known[board_id] = found
        except CatalogUnavailable:
            found = self._known.get(board_id)
            if found is None or time.monotonic() - found.at > _KNOWN_WITHOUT_CATALOG_SECONDS:
                raise
        except UnknownName:
            self._known.pop(board_id, None)
            raise
        return self._checked(found, access)

    def find_known(self, board_id: str, access: Access) -> ProxyTarget | None:
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

    def _checked(self, target: ProxyTarget, access: Access) -> ProxyTarget:
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

    def _endpoint(self, board: BoardRecord) -> Endpoint | None:
        if self._place is None or not board.unit:
            return None
        way = self._ways.get(board.id)
        if way is not None and way.handle.unit == board.unit and time.monotonic() - way.at < _ENDPOINT_SECONDS:
            return way.endpoint
        unit = self._catalog.boards.units.find(board.unit)
        if unit is None or not (unit.host == self.host or _is_reached_here(unit)):
            return None
        found: Endpoint | None = None
        with contextlib.suppress(UnknownName):  # it has just ended
            handle = handle_of(unit)
            found = None if handle is None else executor_of(handle).endpoint(handle, PORT)
            if handle is not None and found is not None:
                self._ways[board.id] = _Route(handle, found, time.monotonic())
        return found

    def _round(self) -> float:
        self._host.stay()
        here, shared = self._left_here()  # before units are read, so that none which is just claimed is taken for left
        boards = {board.id: board for board in self._catalog.boards.units.cared_for()}
        units = self._units(boards)
        own = {unit.board_id for unit in units if unit.host == self.host}
        for board in boards.values():
            if board.state is UnitState.PENDING and not board.unit and board.id not in own:
                claimed = self._catalog.boards.units.claim(board.id, new_uid(), self.host)
                if claimed is not None:
                    own.add(board.id)
                    self._look_after(claimed, self._catalog.boards.get(board.id))
        for unit in units:
            if unit.host == self.host:
                self._look_after(unit, self._board_of(unit, boards))
        self._hand_over([unit for unit in units if unit.host != self.host])
        living = own | {unit.board_id for unit in units}
        self._clear((here - own) | (shared - living), living)
        self._close_ways(boards)
        self._note_uses(boards)
        moving = not own <= boards.keys() or any(board.state is not UnitState.RUNNING for board in boards.values())
        return _REST if moving else min(_QUIET_REST, _REST * 4 if boards else _QUIET_REST)

    def _board_of(self, unit: BoardUnit, boards: Mapping[str, BoardRecord]) -> BoardRecord | None:
        """The board that has this unit; None when no board has it any more."""
        known = boards.get(unit.board_id)
        if known is not None and known.unit == unit.unit:
            return known
        # Another server of this host may have claimed the unit after `boards` was read and before the units were.
        with contextlib.suppress(UnknownName):
            board = self._catalog.boards.get(unit.board_id)
            return board if board.unit == unit.unit else None
        return None

    def _units(self, boards: Mapping[str, BoardRecord]) -> Sequence[BoardUnit]:
        """All units, read after the boards: what a board has is among them."""
        units = self._catalog.boards.units.list()
        known = {unit.unit for unit in units}
        missing = [board for board in boards.values() if board.unit and board.unit not in known]
        for board in missing:
            self._catalog.boards.units.add_missing(board)
        return self._catalog.boards.units.list() if missing else units

    def _look_after(self, unit: BoardUnit, board: BoardRecord | None) -> None:
        kept = self._take(unit.board_id)
        if kept is not None and not kept.is_busy:
            kept.is_busy = True
            self._threads.submit(self._step, kept, unit, board)

    def _step(self, kept: _Kept, unit: BoardUnit, board: BoardRecord | None) -> None:
        name = unit.board_id if board is None else board.name
        try:
            if board is None:
                kept.board.leave(unit)
            elif kept.board.step(board, unit):
                self._tell(board.id)
        except AboardError as error:
            _log.warning("The board %s is looked after later: %s", name, error.message)
        except Exception:
            _log.exception("Looking after the board %s failed", name)
        finally:
            kept.is_busy = False

    def _tell(self, board_id: str) -> None:
        self._known.pop(board_id, None)
        with contextlib.suppress(UnknownName):
            self._on_change(self._catalog.boards.get(board_id), "state")
        self.wake()

    def _hand_over(self, units: Sequence[BoardUnit]) -> None:
        """Look at the units of hosts that are gone."""
        living = self._host.others_that_live() if units else None
        at = time.monotonic()
        self._judged = {one.unit: self._judged[one.unit] for one in units if one.unit in self._judged}
        for unit in units:
            if living is not None and unit.host not in living and at >= self._judged.get(unit.unit, 0.0):
                self._judged[unit.unit] = at + _JUDGE_SECONDS
                self._threads.submit(self._take_over, unit)

    def _take_over(self, unit: BoardUnit) -> None:
        """Look after a unit in place of a host that is gone; one that only that host can reach is left to it."""
        units = self._catalog.boards.units
        try:
            # Nothing was submitted of what has no executor yet, so it can begin here.
            if self._host.is_alone or not unit.executor or _is_reached_here(unit):
                if units.take(unit, self.host):
                    _log.info("A unit of %s, which is gone, is looked after here: %s", unit.machine, unit.unit)
                    self.wake()
                return
            reason = (
                f"the server on {unit.machine}, which alone can reach its process, is gone; start the board again, "
                "and what is left of the process ends when that server is back"
            )
            if units.part(unit, reason=reason):
                self._tell(unit.board_id)
        except AboardError as error:
            _log.warning("The unit %s of %s is looked at later: %s", unit.unit, unit.machine, error.message)
        except Exception:
            _log.exception("Looking at a unit of %s failed", unit.machine)

    def _take(self, board_id: str) -> _Kept | None:
        """The board, if this process is the one that looks after it."""
        assert self._place is not None
        with self._lock:
            found = self._kept.get(board_id)
            if found is not None or self._task.is_stopped:
                return found
            try:
                lock = ProcessLock(self._place / f"{board_id}.lock")
            except (LockHeld, OSError):
                return None
            board = ProcessBoard(self._place / board_id, self._catalog, self._mirror, self._executors)
            found = self._kept[board_id] = _Kept(board, lock)
            return found

    def _mirror(self, folder: Path, board: BoardRecord) -> BoardMirror:
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

    def _left_here(self) -> tuple[set[str], set[str]]:
        """Boards of which something is on this host, and those of which it has made copies for other machines."""
        assert self._place is not None
        shared = self._shared_place()
        copied = _folders(shared) if shared is not None and shared.is_dir() else set[str]()
        return _folders(self._place) | self._kept.keys(), copied

    def _shared_place(self) -> Path | None:
        """The folder of this host below the one that other machines see."""
        folder = self._options.executors.shared_folder
        return None if folder is None else folder / self._executors.owner

    def _clear(self, left: set[str], living: set[str]) -> None:
        """Remove what is here of boards that have no unit, or whose unit another host has taken over."""
        for board_id in left:
            kept = self._take(board_id)
            if kept is not None and not kept.is_busy:
                kept.is_busy = True
                self._threads.submit(self._remove, board_id, kept, is_living=board_id in living)

    def _remove(self, board_id: str, kept: _Kept, *, is_living: bool) -> None:
        try:
            shared = self._shared_place()
            if shared is not None and not is_living:
                shutil.rmtree(shared / board_id, ignore_errors=True)
            kept.board.remove()
            with self._lock:
                self._kept.pop(board_id, None)
            kept.lock.release()  # its empty file stays: whoever removes a lock lets two have it
        except Exception:
            _log.exception("Removing what is left of the board %s failed", board_id)
        finally:
            kept.is_busy = False

    def _close_ways(self, boards: Mapping[str, BoardRecord]) -> None:
        """Tunnels to units of other hosts end with them."""
        for board_id, way in list(self._ways.items()):
            board = boards.get(board_id)
            if board is None or board.unit != way.handle.unit:
                del self._ways[board_id]
                self._threads.submit(self._close_way, way.handle)

    def _close_way(self, handle: UnitHandle) -> None:
        with contextlib.suppress(AboardError):  # also of what is ended just now, and looked after elsewhere
            executor_of(handle).forget(handle)

    def _note_uses(self, boards: Mapping[str, BoardRecord]) -> None:
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


def _folders(place: Path) -> set[str]:
    return {path.name for path in place.iterdir() if path.is_dir()}


def _is_reached_here(unit: BoardUnit) -> bool:
    return bool(unit.executor) and executor_for(unit).is_reached_from_anywhere
