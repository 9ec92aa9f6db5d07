# SPDX-License-Identifier: Apache-2.0
"""The logs of boards: what happened when, as many lines of each board as one reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from aboard.catalog.database import Database
from aboard.catalog.schema import board_lines
from aboard.model.board_line import BoardLine, LineLevel
from aboard.model.times import now

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
