# SPDX-License-Identifier: Apache-2.0
"""Boards: kept, found by a part of their id, and changed by the rules of their states."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.board_admission import BoardAdmission
from aboard.catalog.board_lines import write_line
from aboard.catalog.board_rows import read_boards, row_of, selection_of
from aboard.catalog.board_units import BoardUnits
from aboard.catalog.database import Database
from aboard.catalog.schema import boards
from aboard.catalog.seen import Seen
from aboard.catalog.text_conditions import text_fits
from aboard.catalog.workspace_names import workspace_id, workspace_ids
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.board import Board, BoardKind
from aboard.model.query.syntax import Pattern
from aboard.model.times import now
from aboard.model.unit_states import UnitState, check_unit_change

_ENDING = frozenset({UnitState.STOPPING, *(state for state in UnitState if state.is_ended)})


class Boards:
    """The boards of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.admission = BoardAdmission(database)
        self.units = BoardUnits(database)

    def add(self, board: Board) -> Board:
        """Keep a new board, whatever its owner has already."""

        def work(connection: Connection) -> None:
            row = row_of(board) | {"workspace_id": workspace_id(connection, board.workspace), "state": str(board.state)}
            connection.execute(insert(boards).values(**row))

        try:
            self._database.write(work)
        except IntegrityError:
            raise Conflict(f"there is a board {board.id} already") from None
        return self.get(board.id)

    def get(self, start: str) -> Board:
        """The board whose id begins so, or that has this name."""
        return only_board(start, self.matching(start))

    def matching(self, text: str) -> Sequence[Board]:
        """The boards whose id begins so; if there is none, those of this name. The whole id finds one."""
        if not text:
            raise InvalidValue("the id of a board is missing", hint="give its first characters at least")
        prefix = text.lower()
        with self._database.reading() as connection:
            begins = text_fits(boards.c.id, Pattern.STARTS, prefix, is_sqlite=self._database.is_sqlite)
            found = read_boards(connection, [boards.c.id == prefix])
            return found or read_boards(connection, [begins]) or read_boards(connection, [boards.c.name == prefix])

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        owner: str | None = None,
        states: Sequence[UnitState] | None = None,
        kind: BoardKind | None = None,
        seen: Seen = None,
    ) -> Sequence[Board]:
        """Boards, oldest first. Of `workspaces` those outside `seen` are unknown, as if they did not exist."""
        where: list[ColumnElement[bool]] = []
        with self._database.reading() as connection:
            if workspaces is not None:
                where.append(boards.c.workspace_id.in_(workspace_ids(connection, workspaces, seen)))
            if owner is not None:
                where.append(boards.c.owner == owner)
            if states is not None:
                where.append(boards.c.state.in_([str(state) for state in states]))
            if kind is not None:
                where.append(boards.c.kind == str(kind))
            return read_boards(connection, where)

    def names(self) -> set[str]:
        """What boards are called."""
        with self._database.reading() as connection:
            return set(connection.scalars(select(boards.c.name)))

    def has_living(self) -> bool:
        """Whether any board is not stopped."""
        ended = [str(state) for state in UnitState if state.is_ended]
        with self._database.reading() as connection:
            return bool(connection.execute(select(exists().where(boards.c.state.not_in(ended)))).scalar())

    def with_a_limit(self) -> Sequence[Board]:
        """The running boards that end by themselves some day."""
        ends = or_(boards.c.idle_timeout.is_not(None), boards.c.max_runtime.is_not(None))
        with self._database.reading() as connection:
            return read_boards(connection, [boards.c.state == str(UnitState.RUNNING), ends])

    def same_selection(self, board: Board) -> Board | None:
        """A board of the same owner that shows just the same, if there is one; the newest of several."""
        same = [boards.c.selection == selection_of(board), boards.c.owner == board.owner]
        with self._database.reading() as connection:
            same.append(boards.c.workspace_id == workspace_id(connection, board.workspace))
            found = read_boards(connection, same)
        return found[-1] if found else None

    def change_state(
        self, board_id: str, state: UnitState, *, at: datetime | None = None, exit_status: str = "", reason: str = ""
    ) -> Board:
        """Change a board's state, if it may become that; start and end get their times."""
        at = at or now()

        def work(connection: Connection) -> None:
            query = select(boards.c.state, boards.c.name).where(boards.c.id == board_id).with_for_update()
            found = connection.execute(query).first()
            if found is None:
                raise UnknownName(f"there is no board {board_id!r}")
            check_unit_change(found.name, UnitState(found.state), state)
            values: dict[str, object] = {"state": str(state)}
            if state.is_ended:
                values |= {"ended": at, "exit_status": exit_status, "reason": reason}
            elif state in (UnitState.PENDING, UnitState.STARTING):
                values |= {"started": None, "ended": None, "exit_status": "", "reason": ""}
            elif state is UnitState.RUNNING and found.state != state:
                values |= {"started": at, "ended": None, "last_used": at}
            connection.execute(update(boards).where(boards.c.id == board_id).values(**values))

        self._database.write(work)
        return self.get(board_id)

    def end(
        self,
        board_id: str,
        *,
        exit_status: str,
        reason: str,
        not_used_since: datetime | None = None,
        at_once: bool = False,
    ) -> tuple[Board, bool]:
        """Stop a board, and whether this did it: one that has ended stays as it is.

        One that is a process stops when that has ended; with `at_once` the machine of the process is not waited for.

        With `not_used_since` nothing is done if somebody, perhaps through another server process, used it later.
        """
        at = now()

        def work(connection: Connection) -> bool:
            columns = boards.c.state, boards.c.last_used, boards.c.unit
            found = connection.execute(select(*columns).where(boards.c.id == board_id).with_for_update()).first()
            if found is None:
                raise UnknownName(f"there is no board {board_id!r}")
            used_later = not_used_since is not None and found.last_used and found.last_used > not_used_since
            before = UnitState(found.state)
            if before.is_ended or (before is UnitState.STOPPING and not at_once) or used_later:
                return False
            values: dict[str, object] = {"exit_status": exit_status, "reason": reason}
            # What is a process has stopped when that is gone: `BoardUnits.gone` says so.
            is_over = at_once or not found.unit
            state = UnitState.STOPPED if is_over else UnitState.STOPPING
            values |= {"state": str(state), "ended": at if is_over else None}
            connection.execute(update(boards).where(boards.c.id == board_id).values(**values))
            write_line(connection, board_id, reason, at=at)
            return True

        has_ended = self._database.write(work)
        return self.get(board_id), has_ended

    def touch(self, board_id: str, at: datetime | None = None) -> None:
        """Note that a board is used; time does not go back."""
        at = at or now()
        later = boards.c.id == board_id, or_(boards.c.last_used.is_(None), boards.c.last_used < at)
        self._database.write(lambda connection: connection.execute(update(boards).where(*later).values(last_used=at)))

    def note_shown(self, board_id: str, workspaces: Sequence[str], run_count: int) -> None:
        """Note what a board shows now."""
        values = {"shown": sorted(workspaces), "run_count": run_count}
        this = boards.c.id == board_id
        self._database.write(lambda connection: connection.execute(update(boards).where(this).values(**values)))

    def replace(self, board: Board) -> Board:
        """Write a board whole, except its state, which changes by rules, and its workspace."""
        row = {name: value for name, value in row_of(board).items() if name != "id"}

        def work(connection: Connection) -> None:
            if not connection.execute(update(boards).where(boards.c.id == board.id).values(**row)).rowcount:
                raise UnknownName(f"there is no board {board.id!r}")

        self._database.write(work)
        return self.get(board.id)

    def delete(self, board_id: str) -> None:
        """Forget a board that has ended, or is about to: who keeps the unit of one that is gone ends it."""

        def work(connection: Connection) -> None:
            state = connection.execute(select(boards.c.state).where(boards.c.id == board_id).with_for_update()).scalar()
            if state is None:
                raise UnknownName(f"there is no board {board_id!r}")
            if UnitState(state) not in _ENDING:
                raise Conflict(f"the board {board_id} is {state}", hint="stop it first")
            connection.execute(delete(boards).where(boards.c.id == board_id))

        self._database.write(work)


def only_board(text: str, found: Sequence[Board]) -> Board:
    """The one board that was found; an error if there is none, or if several were meant."""
    if len(found) > 1:
        some = ", ".join(f"{one.id[:13]} ({one.name})" for one in found[:5])
        what = "are called" if all(one.name == text.lower() for one in found) else "begin with"
        raise Conflict(f"several boards {what} {text!r}", hint=f"give more of the id: {some}")
    if not found:
        raise UnknownName(f"there is no board {text!r}", hint="`aboard board list` shows what there is")
    return found[0]
