# SPDX-License-Identifier: Apache-2.0
"""Boards: kept, found by a part of their id, and changed by the rules of their states."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.database import Database
from aboard.catalog.schema import boards, workspaces
from aboard.catalog.text_conditions import text_fits
from aboard.catalog.workspace_names import workspace_id, workspace_ids
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.board import Board, BoardKind
from aboard.model.query.syntax import Pattern
from aboard.model.times import now
from aboard.model.unit_states import UnitState, check_unit_change

_PLAIN = ("id", "name", "owner", "description", "where", "template", "exit_status", "reason")
_TIMES = ("created", "started", "last_used", "ended")


class Boards:
    """The boards of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, board: Board) -> Board:
        """Keep a new board."""

        def work(connection: Connection) -> None:
            row = _row(board) | {"workspace_id": workspace_id(connection, board.workspace), "state": str(board.state)}
            connection.execute(insert(boards).values(**row))

        try:
            self._database.write(work)
        except IntegrityError:
            raise Conflict(f"there is a board {board.id} already") from None
        return self.get(board.id)

    def get(self, start: str) -> Board:
        """The board whose id begins so."""
        prefix = start.lower()
        if not prefix:
            raise InvalidValue("the id of a board is missing", hint="give its first characters at least")
        with self._database.reading() as connection:
            begins = text_fits(boards.c.id, Pattern.STARTS, prefix, is_sqlite=self._database.is_sqlite)
            found = _read(connection, [begins], limit=2)
        if len(found) > 1 and found[0].id != prefix:
            raise Conflict(f"several boards begin with {start!r}", hint="give more of the id")
        if not found:
            raise UnknownName(f"there is no board {start!r}")
        return found[0]

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        owner: str | None = None,
        states: Sequence[UnitState] | None = None,
        kind: BoardKind | None = None,
    ) -> Sequence[Board]:
        """Boards, oldest first."""
        where: list[ColumnElement[bool]] = []
        with self._database.reading() as connection:
            if workspaces is not None:
                where.append(boards.c.workspace_id.in_(workspace_ids(connection, workspaces)))
            if owner is not None:
                where.append(boards.c.owner == owner)
            if states is not None:
                where.append(boards.c.state.in_([str(state) for state in states]))
            if kind is not None:
                where.append(boards.c.kind == str(kind))
            return _read(connection, where)

    def same_selection(self, board: Board) -> Board | None:
        """A board of the same owner that shows just the same, if there is one; the newest of several."""
        same = [boards.c.selection == _selection(board), boards.c.owner == board.owner]
        with self._database.reading() as connection:
            same.append(boards.c.workspace_id == workspace_id(connection, board.workspace))
            found = _read(connection, same)
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

    def touch(self, board_id: str, at: datetime | None = None) -> None:
        """Note that a board is used; time does not go back."""
        at = at or now()
        later = boards.c.id == board_id, or_(boards.c.last_used.is_(None), boards.c.last_used < at)
        self._database.write(lambda connection: connection.execute(update(boards).where(*later).values(last_used=at)))

    def replace(self, board: Board) -> Board:
        """Write a board whole, except its state, which changes by rules, and its workspace."""
        row = {name: value for name, value in _row(board).items() if name != "id"}

        def work(connection: Connection) -> None:
            if not connection.execute(update(boards).where(boards.c.id == board.id).values(**row)).rowcount:
                raise UnknownName(f"there is no board {board.id!r}")

        self._database.write(work)
        return self.get(board.id)

    def delete(self, board_id: str) -> None:
        """Forget a board that has ended."""

        def work(connection: Connection) -> None:
            state = connection.execute(select(boards.c.state).where(boards.c.id == board_id).with_for_update()).scalar()
            if state is None:
                raise UnknownName(f"there is no board {board_id!r}")
            if not UnitState(state).is_ended:
                raise Conflict(f"the board {board_id} is {state}", hint="stop it first")
            connection.execute(delete(boards).where(boards.c.id == board_id))

        self._database.write(work)


def _selection(board: Board) -> str:
    """A digest of what a board shows; it is the same for the same."""
    shown = [board.kind, sorted(board.sources), board.where, board.template, dict(board.settings)]
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


def _row(board: Board) -> dict[str, Any]:
    return {
        **{name: getattr(board, name) for name in (*_PLAIN, *_TIMES)},
        "kind": str(board.kind),
        "sources": list(board.sources),
        "settings": dict(board.settings),
        "selection": _selection(board),
        "idle_timeout": board.idle_timeout.total_seconds() if board.idle_timeout else None,
        "max_runtime": board.max_runtime.total_seconds() if board.max_runtime else None,
    }


def _read(connection: Connection, where: Sequence[ColumnElement[bool]], limit: int | None = None) -> list[Board]:
    query = select(boards, workspaces.c.name.label("workspace")).join_from(boards, workspaces).where(*where)
    rows = connection.execute(query.order_by(boards.c.created, boards.c.id).limit(limit)).mappings()
    return [
        Board(
            workspace=row["workspace"],
            kind=BoardKind(row["kind"]),
            state=UnitState(row["state"]),
            sources=tuple(row["sources"]),
            settings=row["settings"],
            idle_timeout=_span(row["idle_timeout"]),
            max_runtime=_span(row["max_runtime"]),
            **{name: row[name] for name in (*_PLAIN, *_TIMES)},
        )
        for row in rows
    ]


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
