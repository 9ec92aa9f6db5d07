# SPDX-License-Identifier: Apache-2.0
"""The audit log: who changed what. Entries are only added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, insert, select

from aboard.catalog.database import Database
from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.catalog.schema import audit
from aboard.model.times import now

_ORDER = "audit"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: who (`actor`) did what (`action`) to what (`target`, as in `run343`), and what else is to know."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: Mapping[str, object]


class Audit:
    """The record of a catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, actor: str, action: str, target: str, details: Mapping[str, object] | None = None) -> None:
        """Note a change."""
        row = {"at": now(), "actor": actor, "action": action, "target": target, "details": dict(details or {})}
        self._database.write(lambda connection: connection.execute(insert(audit).values(**row)))

    def list(
        self, *, actor: str | None = None, target: str | None = None, limit: int = 100, after: str | None = None
    ) -> ResultPage[AuditEntry]:
        """One page of the record, newest first."""
        check_limit(limit)
        where: list[ColumnElement[bool]] = []
        if actor is not None:
            where.append(audit.c.actor == actor)
        if target is not None:
            where.append(audit.c.target == target)
        if after is not None:
            where.append(audit.c.id < Cursor.read(after, _ORDER).number)
        query = select(audit).where(*where).order_by(audit.c.id.desc()).limit(limit + 1)
        with self._database.reading() as connection:
            found = [AuditEntry(**row) for row in connection.execute(query).mappings()]
        more = len(found) > limit
        return ResultPage(found[:limit], Cursor(0, None, found[limit - 1].id).text(_ORDER) if more else None)
