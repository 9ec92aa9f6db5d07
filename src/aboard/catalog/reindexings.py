# SPDX-License-Identifier: Apache-2.0
"""How far reindexings are, so that every server process can tell, and none begins what another does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from aboard.catalog.database import Database
from aboard.catalog.inserting import take_turn
from aboard.catalog.schema import reindexings
from aboard.model.times import now

SILENT = timedelta(minutes=2)
"""After that long without news the process that did it is taken for gone."""
_KEPT = timedelta(days=7)


class Reindexings:
    """The reindexings of a catalog. What is known of each is a document of the caller's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, task: str, store: str, facts: Mapping[str, object]) -> Mapping[str, Any] | None:
        """Note a new one; or the facts of the one of the same store that is under way."""
        at = now()

        def work(connection: Connection) -> Mapping[str, Any] | None:
            take_turn(connection)
            living = reindexings.c.store == store, reindexings.c.is_over.is_(False), reindexings.c.at > at - SILENT
            found = connection.execute(select(reindexings.c.facts).where(*living)).scalar()
            if found is not None:
                return found
            connection.execute(delete(reindexings).where(reindexings.c.at < at - _KEPT))
            row = {"id": task, "store": store, "at": at, "is_over": False, "facts": dict(facts)}
            connection.execute(insert(reindexings).values(**row))
            return None

        return self._database.write(work)

    def tell(self, task: str, facts: Mapping[str, object], *, is_over: bool) -> None:
        """Note how far one is."""
        values = {"at": now(), "is_over": is_over, "facts": dict(facts)}
        this = reindexings.c.id == task
        self._database.write(lambda connection: connection.execute(update(reindexings).where(this).values(**values)))

    def get(self, task: str) -> tuple[Mapping[str, Any], bool] | None:
        """The facts of one, and whether nobody is at it any more although it is not over; None for an unknown one."""
        query = select(reindexings.c.facts, reindexings.c.is_over, reindexings.c.at).where(reindexings.c.id == task)
        with self._database.reading() as connection:
            found = connection.execute(query).first()
        return None if found is None else (found.facts, not found.is_over and found.at < now() - SILENT)
