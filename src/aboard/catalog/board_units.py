# SPDX-License-Identifier: Apache-2.0
"""The units of boards that are processes: claimed by one machine, and noted until nothing is left of them.

Every change names the unit that it is about, so that who comes late with news of an earlier start changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, or_, select, update

from aboard.catalog.board_lines import write_line
from aboard.catalog.board_rows import read_boards
from aboard.catalog.database import Database
from aboard.catalog.schema import boards
from aboard.model.board import Board, BoardKind
from aboard.model.board_line import LineLevel
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

    def claim(self, board_id: str, unit: str, host: str) -> bool:
        """Begin to start a board that waits; False when another was quicker, or somebody stopped it."""
        values = {"state": str(UnitState.STARTING), "unit": unit, "unit_host": host}
        return self._change(board_id, UnitState.PENDING, None, values, f"is being started on {host.partition(':')[0]}")

    def answers(self, board_id: str, unit: str) -> bool:
        """Note that a board can be looked at; False when it is no longer starting."""
        at = now()
        values = {"state": str(UnitState.RUNNING), "started": at, "last_used": at}
        return self._change(board_id, UnitState.STARTING, unit, values, "is running")

    def gone(self, board_id: str, unit: str, state: UnitState, *, exit_status: str, reason: str) -> bool:
        """Note that nothing is left of a unit; a board that was stopped keeps the reason that was given for it."""
        at = now()

        def work(connection: Connection) -> bool:
            found = _locked(connection, board_id)
            if found is None or found.unit != unit:
                return False
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

        return self._database.write(work)

    def _change(self, board_id: str, before: UnitState, unit: str | None, values: dict[str, Any], line: str) -> bool:
        def work(connection: Connection) -> bool:
            found = _locked(connection, board_id)
            if found is None or found.state != str(before) or found.unit != unit:
                return False
            connection.execute(update(boards).where(boards.c.id == board_id).values(**values))
            write_line(connection, board_id, line, at=now())
            return True

        return self._database.write(work)


def _locked(connection: Connection, board_id: str) -> Any:
    query = select(boards.c.state, boards.c.unit).where(boards.c.id == board_id).with_for_update()
    return connection.execute(query).first()
