# SPDX-License-Identifier: Apache-2.0
"""What one server process of a PostgreSQL catalog does for all of them, for as long as it says that it is there.

Only the clock of the database counts. A SQLite file has one process, which needs no lease.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, text

from aboard.catalog.database import Database

_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
_TAKE = text(
    f"""INSERT INTO leases AS held (name, holder, until, facts) VALUES (:name, :holder, {_NOW} + :lasting, :facts)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until, facts = excluded.facts
    WHERE held.holder = excluded.holder OR held.until < {_NOW}"""  # noqa: S608 - no value of anybody is in it
)
_READ = text("SELECT facts FROM leases WHERE name = :name")
_HELD = text(f"SELECT name FROM leases WHERE until >= {_NOW}")  # noqa: S608
_CLEAR = text(f"DELETE FROM leases WHERE holder = name AND until < {_NOW} - :lasting")  # noqa: S608
_LEAVE = text("DELETE FROM leases WHERE holder = :holder")


class Leases:
    """The leases of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, holder: str, seconds: float, facts: Mapping[str, Any]) -> bool:
        """Take or prolong a lease; whether nobody else has it. `facts` are for the others."""
        row = {"name": name, "holder": holder, "lasting": int(seconds * 1e6), "facts": json.dumps(facts, default=str)}
        return self._database.write(lambda connection: connection.execute(_TAKE, row).rowcount == 1)

    def facts(self, name: str) -> Mapping[str, Any]:
        """What the last holder said."""
        with self._database.reading() as connection:
            found = connection.execute(_READ, {"name": name}).scalar()
        return {} if found is None else json.loads(found)

    def held(self) -> set[str]:
        """The leases that somebody has now."""
        with self._database.reading() as connection:
            return set(connection.execute(_HELD).scalars())

    def clear(self, seconds: float) -> None:
        """Remove leases that stood for their holder alone, and ran out so long ago."""
        row = {"lasting": int(seconds * 1e6)}
        self._database.write(lambda connection: connection.execute(_CLEAR, row))

    def leave(self, holder: str) -> None:
        """Give all leases of a process back."""

        def work(connection: Connection) -> None:
            connection.execute(_LEAVE, {"holder": holder})

        self._database.write(work)
