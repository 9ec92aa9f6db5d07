# SPDX-License-Identifier: Apache-2.0
"""One board that is a process, looked after by this server process: its mirror, its unit, and what becomes of both.

The catalog says what is wanted, the folder of the board which unit there may be, and the executor what it does. Each
step here brings these one step closer to each other, and may be the last before a crash: the next step, of this or
another server process of the machine, goes on from whatever it finds.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.control.board_executors import BoardExecutors
from aboard.control.board_mirror import BoardMirror
from aboard.control.tensorboard_unit import PORT, UNSEEN, TensorBoardPlace, prefix_of, tensorboard_unit
from aboard.control.unit_record import UnitRecord, end_unit
from aboard.errors import AboardError, CatalogUnavailable, ExecutorUnavailable
from aboard.executors.registry import executor_of
from aboard.model.board import Board
from aboard.model.board_line import LineLevel
from aboard.model.names import folded
from aboard.model.unit_handle import UnitHandle
from aboard.model.unit_states import UnitState
from aboard.model.unit_status import Endpoint, UnitStatus

_log = logging.getLogger("aboard.control")
_START_SECONDS = 180.0
_MIRROR_SECONDS, _SHARE = 2.0, 10  # copying takes at most this part of the time
_MOST_LINES, _MOST_OUTPUT = 100, 256 << 10
_KILL_GRACE = 0.0
_ANSWER_SECONDS = 2.0
_ELSEWHERE_SECONDS = 5.0  # between two questions to a daemon, scheduler or login


class ProcessBoard:
    """A board whose folder this process has locked. Its methods are called by one thread at a time."""

    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        make_mirror: Callable[[Path, Board], BoardMirror],
        executors: BoardExecutors,
    ) -> None:
        self._folder, self._catalog, self._make_mirror, self._executors = folder, catalog, make_mirror, executors
        self._mirror: BoardMirror | None = None
        self._next_refresh = self._next_look = self._next_asking = 0.0
        self._told_problems: list[str] = []
        self._told_wait = ""
        self._starting_since = time.monotonic()

    def step(self, board: Board) -> bool:
        """Bring a board of this machine, which has a unit, one step further; whether its state has changed."""
        try:
            if board.state is UnitState.STARTING:
                return self._start(board)
            if board.state is UnitState.RUNNING:
                return self._look_after(board)
            return self._end(board)
        except (CatalogUnavailable, ExecutorUnavailable) as error:
            return self._unavailable(board, error)
        except AboardError as error:
            return self._fail(board, str(error))

    def _start(self, board: Board) -> bool:
        record = self._record(board)
        if record is None:
            return False
        handle = record.handle()
        if handle is None:
            handle = self._submitted(board, record)
        record = self._take_output(board, record, handle)
        status = executor_of(handle).status(handle)
        if status.state.is_ended:
            return self._has_ended(board, record, handle, status)
        if status.state is UnitState.PENDING:
            self._wait(board, status)
            return False
        endpoint = executor_of(handle).endpoint(handle, PORT)
        if endpoint is not None and _answers(endpoint, board.id):
            return self._catalog.boards.units.answers(board.id, board.unit)
        if time.monotonic() - self._starting_since > _START_SECONDS:
            return self._fail(board, f"it did not answer within {_START_SECONDS:.0f} s")
        return False

    def _record(self, board: Board) -> UnitRecord | None:
        """What is known of the unit; None as long as something is left of an earlier one."""
        record = UnitRecord.read(self._folder)
        if record is not None and record.unit == board.unit:
            return record
        if record is not None and not end_unit(record, grace=_KILL_GRACE):
            return None
        executor = self._executors.of(board)
        place = self._executors.mirror_place(executor, self._folder)
        mirror = "" if place == self._folder else str(place)
        self._starting_since = time.monotonic()
        made = UnitRecord(unit=board.unit, executor=executor.name, options=executor.options, mirror=mirror)
        return made.write(self._folder)

    def _submitted(self, board: Board, record: UnitRecord) -> UnitHandle:
        executor, logs = record.made_executor(), self._refresh(board, record).logs
        place = TensorBoardPlace(executor=executor, logs=logs, home=self._folder, rules=self._executors)
        return executor.submit(tensorboard_unit(board, board.unit, place))

    def _wait(self, board: Board, status: UnitStatus) -> None:
        """In a queue; the time to start begins behind it."""
        self._starting_since = time.monotonic()
        said = "waits for its turn" + (f": {status.message}" if status.message else "")
        if said != self._told_wait:
            self._told_wait = said
            self._catalog.board_lines.add(board.id, said)

    def _unavailable(self, board: Board, error: AboardError) -> bool:
        """One that runs goes on meanwhile; one that is to start is not waited for for ever."""
        _log.warning("The board %s stays as it is: %s", board.name, error)
        is_late = time.monotonic() - self._starting_since > _START_SECONDS
        if isinstance(error, ExecutorUnavailable) and board.state is UnitState.STARTING and is_late:
            return self._fail(board, str(error))
        return False

    def _look_after(self, board: Board) -> bool:
        record = UnitRecord.read(self._folder)
        if record is None or record.unit != board.unit:
            return self._fail(board, "nothing is left of its process", UnitState.LOST)
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + (0.0 if record.executor == "local" else _ELSEWHERE_SECONDS)
            handle = record.handle()
            if handle is None:
                return self._fail(board, "nothing is left of its process", UnitState.LOST)
            record = self._take_output(board, record, handle)
            status = executor_of(handle).status(handle)
            if status.state.is_ended:
                return self._has_ended(board, record, handle, status)
        if time.monotonic() >= self._next_refresh:
            self._refresh(board, record)
        return False

    def _has_ended(self, board: Board, record: UnitRecord, handle: UnitHandle, status: UnitStatus) -> bool:
        self._take_output(board, record, handle)
        if status.exit_code == UNSEEN and record.mirror:
            reason = (
                f"the machine of its process does not see {record.mirror}; "
                "boards.shared_folder of the server must name a folder that it sees"
            )
            return self._fail(board, reason)
        code = "" if status.exit_code is None else f" with exit code {status.exit_code}"
        state = UnitState.LOST if status.state is UnitState.LOST else UnitState.FAILED
        return self._fail(board, status.message or f"its process ended{code}", state)

    def _fail(self, board: Board, reason: str, state: UnitState = UnitState.FAILED) -> bool:
        """Nothing may go on running of a board that failed."""
        if not self._is_ended(_KILL_GRACE):
            # The catalog says what it is at once; the unit is noted until it is gone.
            self._catalog.boards.change_state(board.id, state, exit_status=str(state), reason=reason)
            self._catalog.board_lines.add(board.id, reason, LineLevel.ERROR)
            return True
        units = self._catalog.boards.units
        return units.gone(board.id, board.unit, state, exit_status=str(state), reason=reason)

    def _end(self, board: Board) -> bool:
        """Of a board that is to stop, has ended, or waits to be started anew."""
        if not self._is_ended(_KILL_GRACE if board.exit_status == "killed" else None):
            return False
        self.remove()
        units = self._catalog.boards.units
        return units.gone(board.id, board.unit, UnitState.STOPPED, exit_status="stopped", reason="stopped")

    def _is_ended(self, grace: float | None) -> bool:
        if time.monotonic() < self._next_asking:
            return False
        record = UnitRecord.read(self._folder)
        try:
            return record is None or end_unit(record, grace=grace)
        except AboardError as error:  # one that refuses to be asked may hold a unit as well as one that is not there
            self._next_asking = time.monotonic() + _ELSEWHERE_SECONDS
            _log.warning("Whether something is left of %s is asked later: %s", self._folder.name, error)
            return False

    def leave(self) -> bool:
        """End what is left of a board that is no more; whether nothing is."""
        if not self._is_ended(_KILL_GRACE):
            return False
        self.remove()
        return True

    def remove(self) -> None:
        """Remove the mirror and what is known of the unit; the lock's file is beside it, and stays."""
        self._mirror = None
        elsewhere = self._executors.shared_place(self._folder)
        if elsewhere is not None:
            shutil.rmtree(elsewhere, ignore_errors=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _refresh(self, board: Board, record: UnitRecord) -> BoardMirror:
        began = time.monotonic()
        if self._mirror is None:
            self._mirror = self._make_mirror(Path(record.mirror) if record.mirror else self._folder, board)
        self._mirror.refresh()
        self._note_shown(board, self._mirror)
        for problem in self._mirror.problems[:10]:
            if problem not in self._told_problems:
                self._catalog.board_lines.add(board.id, problem, LineLevel.WARNING)
        self._told_problems = self._mirror.problems
        took = time.monotonic() - began
        self._next_refresh = time.monotonic() + max(_MIRROR_SECONDS, took * _SHARE)
        return self._mirror

    def _note_shown(self, board: Board, mirror: BoardMirror) -> None:
        """What the process has once read it may go on showing: who may not see a workspace of then is kept out."""
        shown = tuple(sorted({*board.shown, *(folded(run.workspace) for run in mirror.selected)}))
        if (shown, len(mirror.selected)) != (board.shown, board.run_count):
            self._catalog.boards.note_shown(board.id, shown, len(mirror.selected))

    def _take_output(self, board: Board, record: UnitRecord, handle: UnitHandle) -> UnitRecord:
        """What the process printed becomes lines of the board's log, each once."""
        data = b""
        with contextlib.suppress(AboardError):
            for piece in executor_of(handle).logs(handle, start=record.said):
                data += piece
                if len(data) > _MOST_OUTPUT:
                    break
        whole = data.rfind(b"\n") + 1
        if not whole:
            return record
        lines = data[:whole].decode("utf-8", "replace").splitlines()
        for line in lines[-_MOST_LINES:]:
            if line.strip():
                self._catalog.board_lines.add(board.id, line)
        return record.saying(record.said + whole).write(self._folder)


def _answers(endpoint: Endpoint, board_id: str) -> bool:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", f"{prefix_of(board_id)}/data/environment")
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
