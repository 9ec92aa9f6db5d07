# SPDX-License-Identifier: Apache-2.0
"""How much storage runs take, by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from aboard.catalog.database import Database
from aboard.catalog.schema import runs, workspaces
from aboard.catalog.seen import Seen, seen_names
from aboard.catalog.workspace_names import workspace_ids
from aboard.errors import InvalidValue

_GROUPS = {
    "workspace": workspaces.c.name,
    "experiment": runs.c.experiment,
    "user": runs.c.user,
    "store": runs.c.store,
    "status": runs.c.status,
}


@dataclass(frozen=True, slots=True)
class GroupUsage:
    """What the runs of one group take together."""

    group: str
    runs: int
    files: int
    bytes: int


class UsageOfRuns:
    """Adds up the runs of a catalog."""

    def __init__(self, database: Database, seen: Seen = None) -> None:
        self._database, self._seen = database, seen

    def by(self, group: str, *, names: Sequence[str] | None = None, in_bin: bool = False) -> list[GroupUsage]:
        """The groups of some workspaces, or of all, the largest first; what belongs to none has an empty name."""
        if group not in _GROUPS:
            raise InvalidValue(f"storage is not added up by {group!r}", hint=f"groups are: {', '.join(_GROUPS)}")
        column = _GROUPS[group]
        deleted = runs.c.deleted.is_not(None) if in_bin else runs.c.deleted.is_(None)
        sums = [func.coalesce(func.sum(runs.c[name]), 0) for name in ("files", "bytes")]
        query = select(column, func.count(), *sums).select_from(runs.join(workspaces))
        query = query.where(deleted, *seen_names(self._seen))
        with self._database.reading() as connection:
            if names is not None:
                query = query.where(runs.c.workspace_id.in_(workspace_ids(connection, names, self._seen)))
            rows: list[tuple[Any, ...]] = [tuple(row) for row in connection.execute(query.group_by(column))]
        found = [GroupUsage(name or "", count, int(files), int(size)) for name, count, files, size in rows]
        return sorted(found, key=lambda one: (-one.bytes, -one.runs, one.group))
