# SPDX-License-Identifier: Apache-2.0
"""How server processes over one catalog agree: the lock of a SQLite catalog, leases, and notices.

A SQLite catalog has one server process, so leases and notices exist in PostgreSQL only. For leases only the clock of
the database counts. A notice reaches the processes that listen when it is sent, and none later.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from aboard.catalog.database import Database
from aboard.errors import CatalogUnavailable, Conflict
from aboard.foundation.locks import LockHeld, ProcessLock


def lock_catalog(catalog: Path) -> ProcessLock:
    """The lock on `<catalog>.lock`; an error names the server that has it."""
    path = catalog.with_name(catalog.name + ".lock")
    try:
        return ProcessLock(path)
    except LockHeld as held:
        raise Conflict(
            f"the catalog {catalog} is in use by another server, process {held.holder or 'unknown'}",
            hint="stop it, or use PostgreSQL when several servers share a catalog",
        ) from None
    except OSError as error:
        raise CatalogUnavailable(f"{path} cannot be opened: {error.strerror}") from error


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


_CHANNEL = "aboard_changes"
_WAIT_SECONDS = 1.0


class Notices:
    largest = 7900
    """Bytes of a message; PostgreSQL takes less than 8,000."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wake_channel = f"{_CHANNEL}_{secrets.token_hex(6)}"

    def send(self, messages: Sequence[str]) -> None:
        """Tell all processes that listen, this one too."""
        self._notify(_CHANNEL, messages)

    def wake(self) -> None:
        """Make `listen` of this process call `is_over` now."""
        self._notify(self._wake_channel, [""])

    def _notify(self, channel: str, messages: Sequence[str]) -> None:
        query = text("SELECT pg_notify(:channel, :message)")
        rows = [{"channel": channel, "message": message} for message in messages]
        self._database.write(lambda connection: [connection.execute(query, row) for row in rows])

    def listen(self, begun: Callable[[], None], hear: Callable[[str], None], is_over: Callable[[], bool]) -> None:
        """Hear messages until `is_over`, which is called every second; `begun` is called when none is missed any more.

        Raises CatalogUnavailable when the connection is lost.
        """
        with self._database.connection_of_its_own() as connection:
            connection.execute(f"LISTEN {_CHANNEL}")
            connection.execute(f"LISTEN {self._wake_channel}")
            begun()
            while not is_over():
                for message in connection.notifies(timeout=_WAIT_SECONDS):
                    if message.channel == _CHANNEL:
                        hear(message.payload)
                    if is_over():
                        return
