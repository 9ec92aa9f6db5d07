# SPDX-License-Identifier: Apache-2.0
"""One board with a TensorBoard process of its own: its mirror, its unit, and their state.

The catalog holds the desired state and the unit; the executor knows the actual state. Each step reconciles them a
little further, and may be the last before a crash: the next step, of this or another server process, continues from
whatever it finds.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, CatalogUnavailable, Conflict, ExecutorUnavailable
from aboard.executors.registry import executor_of
from aboard.foundation.files import make_private_folder
from aboard.model.board_settings import parse_process_settings
from aboard.model.boards import BoardRecord, BoardUnit, LineLevel
from aboard.model.names import folded
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, UnitHandle, UnitStatus
from aboard.services.boards.executors import BoardExecutors
from aboard.services.boards.mirror import BoardMirror
from aboard.services.boards.tensorboard_unit import (
    PORT,
    UNSEEN,
    TensorBoardLocation,
    end_unit,
    executor_for,
    handle_of,
    prefix_of,
    tensorboard_unit,
)

_log = logging.getLogger("aboard.services")
_START_SECONDS = 180.0
_MIRROR_SECONDS, _SHARE = 2.0, 10  # copying takes at most this part of the time
_MOST_LINES, _MOST_OUTPUT = 100, 256 << 10
_KILL_GRACE = 0.0
_ANSWER_SECONDS, _PLUGIN_SECONDS = 2.0, 20.0  # plugins look for their data before they are listed
_ELSEWHERE_SECONDS = 5.0  # between two questions to a daemon, scheduler or login
_FIRST_PAUSE, _PAUSE_GROWS = 0.5, 1.2  # so that one that starts is seen after at most a fifth more of its time


class _TakenOver(Conflict):
    """Another host has the unit: this one was away for too long."""


class ProcessBoard:
    """A board whose folder this process has locked. Its methods are called by one thread at a time."""

    def __init__(
        self,
        folder: Path,
        catalog: Catalog,
        make_mirror: Callable[[Path, BoardRecord], BoardMirror],
        executors: BoardExecutors,
    ) -> None:
        self._folder, self._catalog, self._make_mirror, self._executors = folder, catalog, make_mirror, executors
        self._mirror: BoardMirror | None = None
        self._unit: BoardUnit | None = None
        self._next_refresh = self._next_look = self._next_asking = 0.0
        self._reported_problems: list[str] = []
        self._reported_wait = self._reported_trouble = ""
        self._pause = _FIRST_PAUSE
        self._starting_since = time.monotonic()

    def step(self, board: BoardRecord, unit: BoardUnit) -> bool:
        """Bring a board of this host one step further with its unit; whether its state has changed."""
        unit = self._newest(unit)
        try:
            if board.state is UnitState.STARTING:
                return self._start(board, unit)
            if board.state is UnitState.RUNNING:
                return self._look_after(board, unit)
            return self._end(board, unit)
        except _TakenOver:
            return False
        except (CatalogUnavailable, ExecutorUnavailable) as error:
            return self._unavailable(board, unit, error)
        except AboardError as error:
            return self._fail(board, unit, str(error))

    def _newest(self, unit: BoardUnit) -> BoardUnit:
        """What was written down here last: what was read of the catalog may be from a moment before."""
        if self._unit is None or (self._unit.unit, self._unit.host) != (unit.unit, unit.host):
            self._unit = unit
        return self._unit

    def _note(self, unit: BoardUnit) -> BoardUnit:
        if not self._catalog.boards.units.note(unit):
            raise _TakenOver(f"another server looks after the unit {unit.unit}")
        self._unit = unit
        return unit

    def _start(self, board: BoardRecord, unit: BoardUnit) -> bool:
        unit = self._described(board, unit)
        if not self._may_ask(unit):
            return False
        has_changed = self._brought_up(board, unit)
        self._reported_trouble = ""
        return has_changed

    def _may_ask(self, unit: BoardUnit) -> bool:
        """Whether its executor is to be asked now: one that is not of this machine less often, the longer it takes."""
        at = time.monotonic()
        if at < self._next_look:
            return False
        if unit.executor != "local":
            self._next_look = at + self._pause
            self._pause = min(self._pause * _PAUSE_GROWS, _ELSEWHERE_SECONDS)
        return True

    def _brought_up(self, board: BoardRecord, unit: BoardUnit) -> bool:
        handle = handle_of(unit)
        if handle is None:
            handle = self._submitted(board, unit)
        unit = self._take_output(board, unit, handle)
        status = executor_of(handle).status(handle)
        if _is_over(status):
            return self._has_ended(board, unit, handle, status)
        if status.state is UnitState.PENDING:
            self._wait(board, status)
            return False
        if self._reported_wait:
            self._reported_wait, self._pause, self._next_look = "", _FIRST_PAUSE, 0.0  # its turn has come
        endpoint = executor_of(handle).endpoint(handle, PORT)
        if endpoint is not None and _answers(endpoint, board.id):
            self._check_plugins(board, unit, endpoint)
            return self._catalog.boards.units.answers(board.id, board.unit)
        if time.monotonic() - self._starting_since > _START_SECONDS:
            return self._fail(board, unit, f"it did not answer within {_START_SECONDS:.0f} s")
        return False

    def _check_plugins(self, board: BoardRecord, unit: BoardUnit, endpoint: Endpoint) -> None:
        """Say what is missing where TensorBoard cannot show the traces of its runs."""
        if self._mirror is None or not self._mirror.has_profiles or _lists_profiles(endpoint, board.id):
            return
        where = "in its image" if parse_process_settings(board.settings).image else f"where {unit.executor} starts it"
        said = (
            "its runs have profiler traces, and this TensorBoard has no plugin for them; "
            f"pip install 'aboard[profile]', or xprof, {where}, and start the board again"
        )
        self._catalog.board_lines.add(board.id, said, LineLevel.WARNING)

    def _described(self, board: BoardRecord, unit: BoardUnit) -> BoardUnit:
        """The unit with all that is needed to find it, which is in the catalog before it is submitted."""
        if unit.executor:
            return unit
        executor = self._executors.of(board).written_out()
        mirror = str(self._executors.mirror_place(executor, self._folder))
        self._starting_since = self._next_look = time.monotonic()
        self._pause = _FIRST_PAUSE
        return self._note(replace(unit, executor=executor.name, options=executor.options, mirror=mirror))

    def _submitted(self, board: BoardRecord, unit: BoardUnit) -> UnitHandle:
        make_private_folder(self._folder)
        executor, logs = executor_for(unit), self._refresh(board, unit).logs
        place = TensorBoardLocation(executor=executor, logs=logs, home=self._folder, rules=self._executors)
        spec = tensorboard_unit(board, board.unit, place)
        self._note(unit)  # copying takes time
        handle = executor.submit(spec)
        if self._catalog.boards.units.find(unit.unit) is None:
            executor.stop(handle, grace=_KILL_GRACE)  # this process slept, and others have ended all that there was
            raise _TakenOver(f"nobody wants the unit {unit.unit} any more")
        return handle

    def _wait(self, board: BoardRecord, status: UnitStatus) -> None:
        """In a queue; the time to start begins behind it."""
        self._starting_since = time.monotonic()
        said = "waits for its turn" + (f": {status.message}" if status.message else "")
        if said != self._reported_wait:
            self._reported_wait = said
            self._catalog.board_lines.add(board.id, said)

    def _unavailable(self, board: BoardRecord, unit: BoardUnit, error: AboardError) -> bool:
        """One that runs goes on meanwhile; one that is to start is not waited for for ever."""
        self._complain(f"The board {board.name} stays as it is: {error}")
        is_late = time.monotonic() - self._starting_since > _START_SECONDS
        if isinstance(error, ExecutorUnavailable) and board.state is UnitState.STARTING and is_late:
            return self._fail(board, unit, str(error))
        return False

    def _complain(self, said: str) -> None:
        """Once, as long as it is the same."""
        if said != self._reported_trouble:
            self._reported_trouble = said
            _log.warning("%s", said)

    def _look_after(self, board: BoardRecord, unit: BoardUnit) -> bool:
        unit = self._described(board, unit)
        if self._may_ask(unit):
            handle = handle_of(unit)
            if handle is None:
                return self._fail(board, unit, "nothing is left of its process", UnitState.LOST)
            unit = self._take_output(board, unit, handle)
            status = executor_of(handle).status(handle)
            if _is_over(status):
                return self._has_ended(board, unit, handle, status)
            self._reported_trouble = ""
        if time.monotonic() >= self._next_refresh:
            if self._mirror is None and not Path(unit.mirror).is_dir():
                reason = (
                    f"the server that looks after it does not see {unit.mirror}; "
                    "boards.shared_folder must name a folder that all servers see"
                )
                return self._fail(board, unit, reason)
            self._refresh(board, unit)
        return False

    def _has_ended(self, board: BoardRecord, unit: BoardUnit, handle: UnitHandle, status: UnitStatus) -> bool:
        unit = self._take_output(board, unit, handle)
        if status.exit_code == UNSEEN:
            reason = (
                f"the machine of its process does not see {unit.mirror}; "
                "boards.shared_folder of the server must name a folder that it sees"
            )
            return self._fail(board, unit, reason)
        code = "" if status.exit_code is None else f" with exit code {status.exit_code}"
        state = UnitState.LOST if status.state is UnitState.LOST else UnitState.FAILED
        return self._fail(board, unit, status.message or f"its process ended{code}", state)

    def _fail(self, board: BoardRecord, unit: BoardUnit, reason: str, state: UnitState = UnitState.FAILED) -> bool:
        """Nothing may go on running of a board that failed."""
        if not self._is_ended(unit, _KILL_GRACE):
            # The catalog says what it is at once; the unit is noted until it is gone.
            self._catalog.boards.change_state(board.id, state, exit_status=str(state), reason=reason)
            self._catalog.board_lines.add(board.id, reason, LineLevel.ERROR)
            return True
        return self._gone(unit, state, exit_status=str(state), reason=reason)

    def _end(self, board: BoardRecord, unit: BoardUnit) -> bool:
        """Of a board that is to stop, has ended, or waits to be started anew."""
        if not self._is_ended(unit, _KILL_GRACE if board.exit_status == "killed" else None):
            return False
        return self._gone(unit, UnitState.STOPPED, exit_status="stopped", reason="stopped")

    def _gone(self, unit: BoardUnit, state: UnitState, *, exit_status: str, reason: str) -> bool:
        self.remove()
        if unit.mirror:
            shutil.rmtree(unit.mirror, ignore_errors=True)
        units = self._catalog.boards.units
        return units.gone(unit.board_id, unit.unit, state, exit_status=exit_status, reason=reason)

    def _is_ended(self, unit: BoardUnit, grace: float | None) -> bool:
        if time.monotonic() < self._next_asking:
            return False
        try:
            return end_unit(unit, grace=grace)
        except AboardError as error:  # one that refuses to be asked may hold a unit as well as one that is not there
            self._next_asking = time.monotonic() + _ELSEWHERE_SECONDS
            self._complain(f"Whether something is left of {self._folder.name} is asked later: {error}")
            return False

    def leave(self, unit: BoardUnit) -> bool:
        """End a unit that no board has any more; whether nothing is left of it."""
        unit = self._newest(unit)
        if not self._is_ended(unit, _KILL_GRACE):
            return False
        self._gone(unit, UnitState.STOPPED, exit_status="stopped", reason="stopped")
        return True

    def remove(self) -> None:
        """Remove what is here of the board; the lock's file is beside it, and stays."""
        self._mirror = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _refresh(self, board: BoardRecord, unit: BoardUnit) -> BoardMirror:
        began = time.monotonic()
        if self._mirror is None:
            self._mirror = self._make_mirror(Path(unit.mirror), board)
        self._mirror.refresh()
        self._note_shown(board, self._mirror)
        for problem in self._mirror.problems[:10]:
            if problem not in self._reported_problems:
                self._catalog.board_lines.add(board.id, problem, LineLevel.WARNING)
        self._reported_problems = self._mirror.problems
        took = time.monotonic() - began
        self._next_refresh = time.monotonic() + max(_MIRROR_SECONDS, took * _SHARE)
        return self._mirror

    def _note_shown(self, board: BoardRecord, mirror: BoardMirror) -> None:
        """What the process has once read it may go on showing: who may not see a workspace of then is kept out."""
        shown = tuple(sorted({*board.shown, *(folded(run.workspace) for run in mirror.selected)}))
        if (shown, len(mirror.selected)) != (board.shown, board.run_count):
            self._catalog.boards.note_shown(board.id, shown, len(mirror.selected))

    def _take_output(self, board: BoardRecord, unit: BoardUnit, handle: UnitHandle) -> BoardUnit:
        """What the process printed becomes lines of the board's log, each once."""
        data = b""
        with contextlib.suppress(AboardError):
            for piece in executor_of(handle).logs(handle, start=unit.said):
                data += piece
                if len(data) > _MOST_OUTPUT:
                    break
        whole = data.rfind(b"\n") + 1
        if not whole:
            return unit
        unit = self._note(replace(unit, said=unit.said + whole))
        lines = data[:whole].decode("utf-8", "replace").splitlines()
        for line in lines[-_MOST_LINES:]:
            if line.strip():
                self._catalog.board_lines.add(board.id, line)
        return unit


def _is_over(status: UnitStatus) -> bool:
    """A Deployment starts its pod again and again, also one that can never see its folder."""
    return status.state.is_ended or status.exit_code == UNSEEN


def _answers(endpoint: Endpoint, board_id: str) -> bool:
    return _get(endpoint, board_id, "environment", _ANSWER_SECONDS) is not None


def _lists_profiles(endpoint: Endpoint, board_id: str) -> bool:
    """Whether it has the plugin for profiles; one that does not say is believed to have it."""
    plugins = _get(endpoint, board_id, "plugins_listing", _PLUGIN_SECONDS)
    return not plugins or b'"profile"' in plugins


def _get(endpoint: Endpoint, board_id: str, what: str, seconds: float) -> bytes | None:
    """What a process answers; None: nothing yet, or that it cannot."""
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=seconds)
    try:
        connection.request("GET", f"{prefix_of(board_id)}/data/{what}")
        answer = connection.getresponse()
        return answer.read() if answer.status < 500 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
