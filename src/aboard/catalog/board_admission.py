# SPDX-License-Identifier: Apache-2.0
"""Which boards come to life: the same selection opens the same board, and nobody has more than is allowed.

Both are decided in the transaction that makes or starts the board, and no two such transactions go on at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, text, update

from aboard.catalog.board_lines import write_line
from aboard.catalog.board_rows import read_boards, row_of, selection_of
from aboard.catalog.database import Database
from aboard.catalog.schema import boards
from aboard.catalog.workspace_names import workspace_id
from aboard.errors import BoardLimitExceeded, UnknownName
from aboard.model.board import Board, BoardKind
from aboard.model.board_limits import BoardLimits
from aboard.model.times import now
from aboard.model.unit_states import UnitState, check_unit_change

_ONE_AT_A_TIME = 0x61626F6172645F62  # the number of an advisory lock in PostgreSQL
_NAMED = 5  # of the boards that could be stopped


@dataclass(frozen=True, slots=True)
class Admitted:
    """A board that lives, and whether it was there before."""

    board: Board
    reopened: bool


class BoardAdmission:
    """Lets boards of a catalog come to life."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, board: Board, limits: BoardLimits, *, actor: str) -> Admitted:
        """Keep a new board, or start the one again that its owner has of the same; the new one's lifetime holds."""
        at = now()

        def work(connection: Connection) -> tuple[str, bool]:
            _take_turn(connection)
            key = workspace_id(connection, board.workspace)
            same = boards.c.selection == selection_of(board), boards.c.owner == board.owner
            found = read_boards(connection, [*same, boards.c.workspace_id == key])
            if found:
                values = _lifetime(board)
                if values:
                    connection.execute(update(boards).where(boards.c.id == found[-1].id).values(**values))
                self._start(connection, found[-1], limits, actor, at)
                return found[-1].id, True
            _check_limits(connection, board, limits)
            state = _first_state(board.kind)
            row = row_of(board) | {"workspace_id": key, "state": str(state)}
            row |= {"started": at, "last_used": at} if state is UnitState.RUNNING else {}
            connection.execute(insert(boards).values(**row))
            write_line(connection, board.id, f"created by {actor or 'somebody'}: {_in_words(board)}", at=at)
            return board.id, False

        board_id, reopened = self._database.write(work)
        return Admitted(self._get(board_id), reopened)

    def start(self, board_id: str, limits: BoardLimits, *, actor: str) -> Board:
        """Start a board that has ended; one that lives stays as it is."""
        at = now()

        def work(connection: Connection) -> None:
            _take_turn(connection)
            found = read_boards(connection, [boards.c.id == board_id])
            if not found:
                raise UnknownName(f"there is no board {board_id!r}")
            self._start(connection, found[0], limits, actor, at)

        self._database.write(work)
        return self._get(board_id)

    def _start(self, connection: Connection, board: Board, limits: BoardLimits, actor: str, at: datetime) -> None:
        if not board.state.is_ended:
            return
        check_unit_change(board.name, board.state, UnitState.STARTING)
        _check_limits(connection, board, limits)
        state = _first_state(board.kind)
        is_running = state is UnitState.RUNNING
        values: dict[str, Any] = {"state": str(state), "ended": None, "exit_status": "", "reason": ""}
        values |= {"started": at, "last_used": at} if is_running else {"started": None}
        connection.execute(update(boards).where(boards.c.id == board.id).values(**values))
        write_line(connection, board.id, f"started again by {actor or 'somebody'}", at=at)

    def _get(self, board_id: str) -> Board:
        with self._database.reading() as connection:
            found = read_boards(connection, [boards.c.id == board_id])
        if not found:
            raise UnknownName(f"there is no board {board_id!r}")
        return found[0]


def _take_turn(connection: Connection) -> None:
    # On SQLite a writer has the database for itself anyway.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _ONE_AT_A_TIME})


def _first_state(kind: BoardKind) -> UnitState:
    """A board in the server needs nothing to begin; one that is a process waits for a place."""
    return UnitState.RUNNING if kind is BoardKind.SERVER else UnitState.PENDING


def _lifetime(board: Board) -> dict[str, Any]:
    row = row_of(board)
    return {name: row[name] for name in ("description", "idle_timeout", "max_runtime") if row[name]}


def _check_limits(connection: Connection, board: Board, limits: BoardLimits) -> None:
    columns = boards.c.id, boards.c.name, boards.c.kind
    ended = [str(state) for state in UnitState if state.is_ended]
    query = select(*columns).where(boards.c.owner == board.owner, boards.c.state.not_in(ended))
    # Those that nobody has used for longest come first: they can be spared most easily.
    living = connection.execute(query.order_by(boards.c.last_used, boards.c.created)).all()
    same_kind = [one for one in living if one.kind == board.kind]
    if len(same_kind) >= limits.of(board.kind):
        raise _too_many(board.owner, same_kind, limits.of(board.kind))
    everybody = select(func.count()).select_from(boards).where(boards.c.state.not_in(ended))
    if limits.total is not None and (count := connection.execute(everybody).scalar_one()) >= limits.total:
        problem = f"people have {count} boards that are not stopped, and {limits.total} are allowed in all"
        raise BoardLimitExceeded(problem, hint=_spared(living) or "ask others to stop theirs")


def _too_many(owner: str, living: Sequence[Any], most: int) -> BoardLimitExceeded:
    problem = f"{owner or 'this person'} has {len(living)} boards that are not stopped, and {most} are allowed"
    return BoardLimitExceeded(problem, hint=_spared(living))


def _spared(living: Sequence[Any]) -> str:
    some = ", ".join(f"{one.name} ({one.id[:8]})" for one in living[:_NAMED])
    return f"stop one that is no longer needed: {some}{' …' * (len(living) > _NAMED)}" if living else ""


def _in_words(board: Board) -> str:
    shown = ", ".join(board.sources[:10]) + (" …" if len(board.sources) > 10 else "")
    return " where ".join(part for part in (shown, board.where) if part) or "all runs"
