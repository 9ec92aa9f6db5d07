# SPDX-License-Identifier: Apache-2.0
"""Boards in the catalog: look-up by a part of the id, state changes, and admission within the limits.

The same selection opens the same board, and nobody has more boards than allowed. Both are decided in the transaction
that creates or starts the board, and no two such transactions run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.board_records import BoardUnits, read_boards, row_of, selection_of, write_line
from aboard.catalog.database import Database
from aboard.catalog.lookup import VisibleWorkspaces, text_fits, workspace_id, workspace_ids
from aboard.catalog.schema import boards
from aboard.errors import BoardLimitExceeded, Conflict, InvalidValue, UnknownName
from aboard.model.boards import BoardKind, BoardLimits, BoardRecord
from aboard.model.query.tree import Pattern
from aboard.model.states import UnitState, check_unit_change
from aboard.model.times import now

_ONE_AT_A_TIME = 0x61626F6172645F62  # the number of an advisory lock in PostgreSQL
_NAMED = 5  # of the boards that could be stopped


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """The board that was created, started or already running, and whether it existed before."""

    board: BoardRecord
    reopened: bool


class BoardAdmission:
    """Lets boards of a catalog come to life."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, board: BoardRecord, limits: BoardLimits, *, actor: str) -> AdmissionResult:
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
        return AdmissionResult(self._get(board_id), reopened)

    def start(self, board_id: str, limits: BoardLimits, *, actor: str) -> BoardRecord:
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

    def _start(self, connection: Connection, board: BoardRecord, limits: BoardLimits, actor: str, at: datetime) -> None:
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

    def _get(self, board_id: str) -> BoardRecord:
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


def _lifetime(board: BoardRecord) -> dict[str, Any]:
    row = row_of(board)
    return {name: row[name] for name in ("description", "idle_timeout", "max_runtime") if row[name]}


def _check_limits(connection: Connection, board: BoardRecord, limits: BoardLimits) -> None:
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


def _in_words(board: BoardRecord) -> str:
    shown = ", ".join(board.sources[:10]) + (" …" if len(board.sources) > 10 else "")
    return " where ".join(part for part in (shown, board.where) if part) or "all runs"


_ENDING = frozenset({UnitState.STOPPING, *(state for state in UnitState if state.is_ended)})


class Boards:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.admission = BoardAdmission(database)
        self.units = BoardUnits(database)

    def add(self, board: BoardRecord) -> BoardRecord:
        """Keep a new board, whatever its owner has already."""

        def work(connection: Connection) -> None:
            row = row_of(board) | {"workspace_id": workspace_id(connection, board.workspace), "state": str(board.state)}
            connection.execute(insert(boards).values(**row))

        try:
            self._database.write(work)
        except IntegrityError:
            raise Conflict(f"there is a board {board.id} already") from None
        return self.get(board.id)

    def get(self, start: str) -> BoardRecord:
        """The board whose id begins so, or that has this name."""
        return only_board(start, self.matching(start))

    def matching(self, text: str) -> Sequence[BoardRecord]:
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
        seen: VisibleWorkspaces = None,
    ) -> Sequence[BoardRecord]:
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
        with self._database.reading() as connection:
            return set(connection.scalars(select(boards.c.name)))

    def has_living(self) -> bool:
        """Whether any board is not stopped."""
        ended = [str(state) for state in UnitState if state.is_ended]
        with self._database.reading() as connection:
            return bool(connection.execute(select(exists().where(boards.c.state.not_in(ended)))).scalar())

    def with_a_limit(self) -> Sequence[BoardRecord]:
        """The running boards that end by themselves some day."""
        ends = or_(boards.c.idle_timeout.is_not(None), boards.c.max_runtime.is_not(None))
        with self._database.reading() as connection:
            return read_boards(connection, [boards.c.state == str(UnitState.RUNNING), ends])

    def change_state(
        self, board_id: str, state: UnitState, *, at: datetime | None = None, exit_status: str = "", reason: str = ""
    ) -> BoardRecord:
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
    ) -> tuple[BoardRecord, bool]:
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

    def replace(self, board: BoardRecord) -> BoardRecord:
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


def only_board(text: str, found: Sequence[BoardRecord]) -> BoardRecord:
    """The one board that was found; an error if there is none, or if several were meant."""
    if len(found) > 1:
        some = ", ".join(f"{one.id[:13]} ({one.name})" for one in found[:5])
        what = "are called" if all(one.name == text.lower() for one in found) else "begin with"
        raise Conflict(f"several boards {what} {text!r}", hint=f"give more of the id: {some}")
    if not found:
        raise UnknownName(f"there is no board {text!r}", hint="`aboard board list` shows what there is")
    return found[0]
