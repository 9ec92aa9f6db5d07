# SPDX-License-Identifier: Apache-2.0
"""Inserting what may be there already, and giving out numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, cast, func, select, text
from sqlalchemy.dialects import postgresql, sqlite

from aboard.catalog.schema import retired_numbers

Row = Mapping[str, Any]
_TURN = 0x61626F6172645F6E  # the number of an advisory lock
_HIGHEST_ASKED = 10**9  # a number beyond it is a mistake, and would leave few for others


def insert_if_absent(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows, leaving out those that some other row stands against."""
    if rows:
        make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        connection.execute(make(table).on_conflict_do_nothing(), list(rows))


def take_turn(connection: Connection) -> None:
    """Let no other transaction that takes a turn go on beside this one, which ends with it.

    Several processes find the same new things at the same time. A row that is not inserted after all costs a number in
    PostgreSQL, so each looks again when it is its turn. On SQLite a writer has the database for itself anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _TURN})


def lock_numbers(connection: Connection, table: Table) -> None:
    """Keep others from being given numbers until the transaction ends. Comes before any lock on single rows."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


def insert_with_number(connection: Connection, table: Table, row: Row, number: int) -> bool:
    """Insert a row under a number of its own, after `lock_numbers`; false when the number is or was another's."""
    is_taken = connection.execute(select(table.c.id).where(table.c.id == number)).first() is not None
    if is_taken or number > _HIGHEST_ASKED or _is_retired(connection, table, number):
        return False
    insert_if_absent(connection, table, [{"id": number, **row}])
    if connection.dialect.name == "postgresql":
        counter = func.pg_get_serial_sequence(table.name, "id")
        highest = select(func.max(table.c.id)).scalar_subquery()
        last = func.pg_sequence_last_value(cast(counter, postgresql.REGCLASS))
        connection.execute(select(func.setval(counter, func.greatest(highest, last))))
    return True


def retire(connection: Connection, table: Table, numbers: Sequence[int]) -> None:
    """Remember that these numbers were somebody's."""
    insert_if_absent(connection, retired_numbers, [{"kind": table.name, "number": number} for number in numbers])


def _is_retired(connection: Connection, table: Table, number: int) -> bool:
    asked = retired_numbers.c.kind == table.name, retired_numbers.c.number == number
    return connection.execute(select(retired_numbers.c.number).where(*asked)).first() is not None
