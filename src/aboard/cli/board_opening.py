# SPDX-License-Identifier: Apache-2.0
"""A board that has just been started or is opened again: waited for until there is something to see, then shown."""

from __future__ import annotations

import contextlib
import sys
import time

import typer

from aboard.api.boards import BoardInfo, BoardReading
from aboard.cli.browsing import open_page
from aboard.cli.progress_line import progress_line
from aboard.cli.saying import say
from aboard.client.client import Client
from aboard.errors import Conflict
from aboard.model.unit_states import UnitState

_FIRST_SECONDS = 60.0  # for anything at all
_FAILING_SECONDS = 5.0  # for anything at all where something cannot be read
_REST_SECONDS = 10.0  # for the other runs, when there is something to see
_LOOK_SECONDS = 0.2
_SILENT_SECONDS = 2.0
_PROBLEMS = 5


def show_board(client: Client, board: BoardInfo, *, open_browser: bool) -> None:
    """Print where a board is; with `open_browser` open it, if it shows anything soon."""
    board = _until_started(client, board)
    check_lives(board)
    is_running = board.state is UnitState.RUNNING
    typer.echo(f"TensorBoard is {'running' if is_running else 'starting, and will be'} at: ", nl=False)
    typer.echo(client.boards.address(board))
    if not is_running:
        say(f"It is {board.state} still; `aboard board logs -f {board.name}` tells how far it is.", sys.stderr)
        return
    if not open_browser:
        return
    reading = _until_seen(client, board)
    for problem in reading.problems[:_PROBLEMS]:
        say(f"note: {problem}", sys.stderr)
    if reading.logdirs:
        open_page(client.boards.address(board))  # another one: that of a private server opens it once
    else:
        say(
            f"There is nothing to see yet, so no browser is opened; `aboard board open {board.name}` opens it later.",
            sys.stderr,
        )


def check_lives(board: BoardInfo) -> None:
    """Refuse a board that has ended."""
    if board.state.is_ended:
        why = f": {board.reason}" if board.reason else ""
        has_failed = board.state in (UnitState.FAILED, UnitState.LOST)
        look = f"see `aboard board logs {board.id[:8]}`, then " if has_failed else ""
        raise Conflict(
            f"the board {board.name} has {'failed' if has_failed else 'ended'}{why}",
            hint=f"{look}start it again: aboard board start-again {board.id[:8]}",
        )


def _until_started(client: Client, board: BoardInfo) -> BoardInfo:
    """The board when its process answers or has ended, or when waiting longer would only annoy."""
    if board.state is UnitState.RUNNING or board.state.is_ended:
        return board
    where = board.settings.get("executor") or "local"
    began = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        say(f"Starting a TensorBoard process ({where}); Ctrl-C ends the waiting, and not the board.", sys.stderr)
        with progress_line(lambda: f"{board.state}, {_seconds_since(began)} s"):
            while not (board.state is UnitState.RUNNING or board.state.is_ended):
                if time.monotonic() - began > _FIRST_SECONDS:
                    break
                time.sleep(_LOOK_SECONDS)
                board = client.boards.get(board.id)
    return board


def _seconds_since(began: float) -> int:
    return int(time.monotonic() - began)


def _until_seen(client: Client, board: BoardInfo) -> BoardReading:
    """What has been read when all has, or when waiting longer would only annoy."""
    began = time.monotonic()
    reading = BoardReading(runs=board.run_count or 0, runs_read=0)
    first_seen: float | None = None
    has_said = False
    with contextlib.suppress(KeyboardInterrupt), progress_line(lambda: _progress(reading)):
        while True:
            reading = client.boards.reading(board.id)
            waited = time.monotonic() - began
            if reading.logdirs and first_seen is None:
                first_seen = waited
            if first_seen is not None and (_is_read(reading) or waited - first_seen > _REST_SECONDS):
                break
            if waited > _FAILING_SECONDS and reading.problems and first_seen is None:
                break
            if waited > _FIRST_SECONDS or (_is_read(reading) and not reading.logdirs and not _may_come(client, board)):
                break
            if waited > _SILENT_SECONDS and not has_said and first_seen is None:
                has_said = True
                say("Waiting for the first points; Ctrl-C ends the waiting, and not the board.", sys.stderr)
            time.sleep(_LOOK_SECONDS)
    return reading


def _is_read(reading: BoardReading) -> bool:
    return reading.runs_read >= reading.runs


def _may_come(client: Client, board: BoardInfo) -> bool:
    """Whether something may still join: other runs, or points of those that are there."""
    return board.live or any(not run.status.is_ended for run in client.boards.runs(board.id))


def _progress(reading: BoardReading) -> str:
    if not reading.runs:
        return "waiting for the first run"
    return f"{reading.runs_read} of {reading.runs} runs read"
