# SPDX-License-Identifier: Apache-2.0
"""Rows of boards: the record of a board, its log lines, and the unit of a board that is a process.

A unit is claimed by one host and kept until nothing is left of it. Every change names its unit, so that late news of an
earlier start changes nothing. The row of the board is always locked before that of the unit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.database import Database
from aboard.catalog.schema import board_lines, board_units, boards, workspaces
from aboard.model.boards import BoardKind, BoardLine, BoardRecord, BoardUnit, LineLevel
from aboard.model.states import UnitState
from aboard.model.times import now

_PLAIN = ("id", "name", "owner", "description", "where", "template", "exit_status", "reason", "run_count")
_TIMES = ("created", "started", "last_used", "ended")


def selection_of(board: BoardRecord) -> str:
    """A digest of what a board shows; it is the same for the same."""
    shown = [board.kind, sorted(board.sources), board.where, board.template, dict(board.settings)]
    if board.scope is not None:
        shown.append(sorted(board.scope))
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


def row_of(board: BoardRecord) -> dict[str, Any]:
    """All columns but state and workspace."""
    return {
        **{name: getattr(board, name) for name in (*_PLAIN, *_TIMES)},
        "kind": str(board.kind),
        "sources": list(board.sources),
        "settings": dict(board.settings),
        "selection": selection_of(board),
        "idle_timeout": board.idle_timeout.total_seconds() if board.idle_timeout is not None else None,
        "max_runtime": board.max_runtime.total_seconds() if board.max_runtime is not None else None,
        "scope": None if board.scope is None else sorted(board.scope),
        "shown": list(board.shown),
        "secret": board.secret,
    }


def read_boards(
    connection: Connection, where: Sequence[ColumnElement[bool]], limit: int | None = None
) -> list[BoardRecord]:
    """The boards for which something holds, oldest first."""
    query = select(boards, workspaces.c.name.label("workspace")).join_from(boards, workspaces).where(*where)
    rows = connection.execute(query.order_by(boards.c.created, boards.c.id).limit(limit)).mappings()
    return [
        BoardRecord(
            workspace=row["workspace"],
            kind=BoardKind(row["kind"]),
            state=UnitState(row["state"]),
            sources=tuple(row["sources"]),
            settings=row["settings"],
            idle_timeout=_span(row["idle_timeout"]),
            max_runtime=_span(row["max_runtime"]),
            scope=None if row["scope"] is None else tuple(row["scope"]),
            shown=tuple(row["shown"] or ()),
            secret=row["secret"] or "",
            unit=row["unit"] or "",
            unit_host=row["unit_host"] or "",
            **{name: row[name] for name in (*_PLAIN, *_TIMES)},
        )
        for row in rows
    ]


def rename_workspace(connection: Connection, old: str, new: str) -> None:
    """Have boards know a workspace by its new name; both are folded."""
    for board in read_boards(connection, []):
        renamed = replace(
            board,
            sources=tuple(
                f"{new}/{one[len(old) + 1 :]}" if one.startswith(f"{old}/") else one for one in board.sources
            ),
            scope=None if board.scope is None else _renamed(board.scope, old, new),
            shown=_renamed(board.shown, old, new),
        )
        if renamed != board:
            row = row_of(renamed)
            values = {name: row[name] for name in ("sources", "scope", "shown", "selection")}
            connection.execute(update(boards).where(boards.c.id == board.id).values(**values))


def _renamed(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(sorted(new if name == old else name for name in names))


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


KEPT_LINES = 1000
LONGEST_LINE = 2000


class BoardLines:
    """The lines of all boards of a catalog; of each the newest are kept."""

    def __init__(self, database: Database, *, kept: int = KEPT_LINES) -> None:
        self._database, self._kept = database, kept

    def add(self, board_id: str, text: str, level: LineLevel = LineLevel.INFO, *, at: datetime | None = None) -> None:
        """Write a line; nothing, when the board is gone by now."""
        try:
            self._database.write(lambda connection: write_line(connection, board_id, text, level, at, self._kept))
        except IntegrityError:
            return

    def list(
        self,
        board_id: str,
        *,
        head: int | None = None,
        tail: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        behind: int = 0,
        level: LineLevel = LineLevel.TRACE,
    ) -> Sequence[BoardLine]:
        """Lines, oldest first: the first or last so many of those between two moments, behind the line of an id."""
        where: list[ColumnElement[bool]] = [board_lines.c.board_id == board_id, board_lines.c.id > behind]
        where.append(board_lines.c.level.in_([str(one) for one in level.and_above]))
        if after is not None:
            where.append(board_lines.c.at > after)
        if before is not None:
            where.append(board_lines.c.at < before)
        number = board_lines.c.id
        query = select(number, board_lines.c.at, board_lines.c.level, board_lines.c.text).where(*where)
        query = query.order_by(number if tail is None else number.desc()).limit(head if tail is None else tail)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        lines = [BoardLine(row.id, row.at, LineLevel(row.level), row.text) for row in rows]
        return sorted(lines, key=lambda line: line.id)


def write_line(
    connection: Connection,
    board_id: str,
    text: str,
    level: LineLevel = LineLevel.INFO,
    at: datetime | None = None,
    kept: int = KEPT_LINES,
) -> None:
    """Write a line in a transaction that changes the board itself, and drop the oldest of too many."""
    row = {"board_id": board_id, "at": at or now(), "level": str(level), "text": text[:LONGEST_LINE]}
    connection.execute(insert(board_lines).values(**row))
    own = select(board_lines.c.id).where(board_lines.c.board_id == board_id).order_by(board_lines.c.id.desc())
    oldest_kept = connection.execute(own.offset(kept).limit(1)).scalar()
    if oldest_kept is not None:
        old = board_lines.c.board_id == board_id, board_lines.c.id <= oldest_kept
        connection.execute(delete(board_lines).where(*old))


class BoardUnits:
    """The units of a catalog's boards."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cared_for(self) -> Sequence[BoardRecord]:
        """Boards that are processes, and have or want a unit."""
        is_process = boards.c.kind == str(BoardKind.PROCESS)
        ended = [str(state) for state in UnitState if state.is_ended]
        with self._database.reading() as connection:
            return read_boards(connection, [is_process, or_(boards.c.state.not_in(ended), boards.c.unit.is_not(None))])

    def list(self) -> Sequence[BoardUnit]:
        """All units of which something may be left."""
        with self._database.reading() as connection:
            return [BoardUnit(**row) for row in connection.execute(select(board_units)).mappings()]

    def find(self, unit: str) -> BoardUnit | None:
        """What is known of a unit; None: nothing is left of it."""
        with self._database.reading() as connection:
            row = connection.execute(select(board_units).where(board_units.c.unit == unit)).mappings().first()
        return None if row is None else BoardUnit(**row)

    def claim(self, board_id: str, unit: str, host: str) -> BoardUnit | None:
        """Begin to start a board that waits; None when another was quicker, or somebody stopped it."""
        claimed = BoardUnit(unit=unit, board_id=board_id, host=host)

        def work(connection: Connection) -> bool:
            found = _locked(connection, board_id)
            if found is None or found.state != str(UnitState.PENDING) or found.unit is not None:
                return False
            values = {"state": str(UnitState.STARTING), "unit": unit, "unit_host": host}
            connection.execute(update(boards).where(boards.c.id == board_id).values(**values))
            connection.execute(insert(board_units).values(**_row(claimed)))
            write_line(connection, board_id, f"is being started on {claimed.machine}", at=now())
            return True

        return claimed if self._database.write(work) else None

    def add_missing(self, board: BoardRecord) -> None:
        """Have a row for a unit that a server of an earlier version claimed."""
        missing = BoardUnit(unit=board.unit, board_id=board.id, host=board.unit_host)

        def work(connection: Connection) -> None:
            found = _locked(connection, board.id)
            known = connection.execute(select(board_units.c.unit).where(board_units.c.unit == board.unit)).first()
            if found is not None and found.unit == board.unit and known is None:
                connection.execute(insert(board_units).values(**_row(missing)))

        self._database.write(work)

    def note(self, unit: BoardUnit) -> bool:
        """Keep what a unit is, before it is submitted, and later how much it said; False: it is another host's now."""
        own = board_units.c.unit == unit.unit, board_units.c.host == unit.host
        change = update(board_units).where(*own).values(**_row(unit))
        return self._database.write(lambda connection: connection.execute(change).rowcount == 1)

    def answers(self, board_id: str, unit: str) -> bool:
        """Note that a board can be looked at; False when it is no longer starting."""
        at = now()

        def work(connection: Connection) -> bool:
            found = _locked(connection, board_id)
            if found is None or found.state != str(UnitState.STARTING) or found.unit != unit:
                return False
            values = {"state": str(UnitState.RUNNING), "started": at, "last_used": at}
            connection.execute(update(boards).where(boards.c.id == board_id).values(**values))
            write_line(connection, board_id, "is running", at=at)
            return True

        return self._database.write(work)

    def take(self, unit: BoardUnit, host: str) -> bool:
        """Look after a unit in place of a host that is gone; of several who try, one does."""

        def work(connection: Connection) -> bool:
            found = _locked(connection, unit.board_id)
            if not _is_of(connection, unit):
                return False
            connection.execute(update(board_units).where(board_units.c.unit == unit.unit).values(host=host))
            if found is not None and found.unit == unit.unit:
                connection.execute(update(boards).where(boards.c.id == unit.board_id).values(unit_host=host))
                machine = host.partition(":")[0]
                write_line(connection, unit.board_id, f"is looked after by the server on {machine} now", at=now())
            return True

        return self._database.write(work)

    def part(self, unit: BoardUnit, *, reason: str) -> bool:
        """Have a board go on without a unit that only a host which is gone can reach; that host ends it some day."""

        def work(connection: Connection) -> bool:
            found = _locked(connection, unit.board_id)
            if found is None or found.unit != unit.unit or not _is_of(connection, unit):
                return False
            return _without_unit(connection, unit.board_id, found, UnitState.LOST, "lost", reason)

        return self._database.write(work)

    def gone(self, board_id: str, unit: str, state: UnitState, *, exit_status: str, reason: str) -> bool:
        """Note that nothing is left of a unit; a board that was stopped keeps the reason that was given for it."""

        def work(connection: Connection) -> bool:
            found = _locked(connection, board_id)
            connection.execute(delete(board_units).where(board_units.c.unit == unit))
            if found is None or found.unit != unit:
                return False
            return _without_unit(connection, board_id, found, state, exit_status, reason)

        return self._database.write(work)


def _without_unit(
    connection: Connection, board_id: str, found: Any, state: UnitState, exit_status: str, reason: str
) -> bool:
    """Whether the state of the board is another one now."""
    at = now()
    values: dict[str, Any] = {"unit": None, "unit_host": None}
    before = UnitState(found.state)
    if before is UnitState.STOPPING:
        values |= {"state": str(UnitState.STOPPED), "ended": at}
    elif before is not UnitState.PENDING and not before.is_ended:  # one that waits has been started anew
        values |= {"state": str(state), "ended": at, "exit_status": exit_status, "reason": reason}
        level = LineLevel.INFO if state is UnitState.STOPPED else LineLevel.ERROR
        write_line(connection, board_id, reason or f"is {state}", level=level, at=at)
    connection.execute(update(boards).where(boards.c.id == board_id).values(**values))
    return not before.is_ended


def _row(unit: BoardUnit) -> dict[str, Any]:
    names = ("unit", "board_id", "host", "executor", "mirror", "said")
    return {**{name: getattr(unit, name) for name in names}, "options": dict(unit.options)}


def _locked(connection: Connection, board_id: str) -> Any:
    query = select(boards.c.state, boards.c.unit).where(boards.c.id == board_id).with_for_update()
    return connection.execute(query).first()


def _is_of(connection: Connection, unit: BoardUnit) -> bool:
    """Whether the host that is known still has the unit, which nobody else gets before this transaction ends."""
    query = select(board_units.c.host).where(board_units.c.unit == unit.unit).with_for_update()
    return connection.execute(query).scalar() == unit.host
