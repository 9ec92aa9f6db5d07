# SPDX-License-Identifier: Apache-2.0
"""The units of boards that are processes: claimed by one host, and noted until nothing is left of them.

Every change names the unit that it is about, so that who comes late with news of an earlier start changes nothing. The
row of the board is locked before that of the unit, always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from aboard.catalog.board_lines import write_line
from aboard.catalog.board_rows import read_boards
from aboard.catalog.database import Database
from aboard.catalog.schema import board_units, boards
from aboard.model.board import Board, BoardKind
from aboard.model.board_line import LineLevel
from aboard.model.board_unit import BoardUnit
from aboard.model.times import now
from aboard.model.unit_states import UnitState


class BoardUnits:
    """The units of a catalog's boards."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cared_for(self) -> Sequence[Board]:
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

    def add_missing(self, board: Board) -> None:
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
