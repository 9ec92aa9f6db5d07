# SPDX-License-Identifier: Apache-2.0
"""Short messages between the server processes of one PostgreSQL database; a SQLite file has one process and needs none.

A message reaches who listens at the moment when it is sent, and nobody later.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from sqlalchemy import text

from aboard.catalog.database import Database

LARGEST = 7900  # bytes; PostgreSQL takes less than 8,000
_CHANNEL = "aboard_changes"
_WAIT_SECONDS = 1.0


class Notices:
    """The messages of a catalog."""

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
