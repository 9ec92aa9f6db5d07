# SPDX-License-Identifier: Apache-2.0
"""Names of hyperparameters, metrics and tags that the runs of workspaces have: for completion, columns, good errors."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from aboard.catalog.database import Database
from aboard.catalog.keys import stored_key
from aboard.catalog.schema import fields, tags
from aboard.catalog.scope import Scope
from aboard.catalog.seen import Seen, inside_seen
from aboard.catalog.workspace_names import workspace_ids
from aboard.model.query.fields import unknown_name
from aboard.model.query.syntax import Hparam, Metric, Query, conditions

NEWEST = 10_000
"""So many runs are looked at, the newest, for what no table keeps apart from them: names of tags, and values."""


class Fields:
    """The names in a catalog."""

    def __init__(self, database: Database, seen: Seen = None) -> None:
        self._database, self._seen = database, seen

    def hparams(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all hyperparameters, sorted."""
        with self._database.reading() as connection:
            return self._names(connection, "hparam", workspaces)

    def metrics(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all metrics, sorted."""
        with self._database.reading() as connection:
            return self._names(connection, "metric", workspaces)

    def tags(self, workspaces: Sequence[str] | None = None) -> list[str]:
        """The names of all tags of the newest runs, sorted."""
        with self._database.reading() as connection:
            newest = Scope.of(connection, workspaces, [], seen=self._seen).newest(NEWEST)
            query = select(tags.c.name).distinct().join_from(tags, newest, newest.c.id == tags.c.run_id)
            return list(connection.scalars(query.order_by(tags.c.name)))

    def check(self, query: Query, text: str, workspaces: Sequence[str] | None = None) -> None:
        """Refuse a filter that names a hyperparameter or metric which no run has, telling the nearest that one has.

        For a person who asks now. A filter that waits for runs to come is not held to it. `text` is what was parsed.
        """
        asked = [condition.field for condition in conditions(query)]
        with self._database.reading() as connection:
            for kind, kinds in (("hparam", Hparam), ("metric", Metric)):
                used = [field for field in asked if isinstance(field, kinds)]
                known = self._names(connection, kind, workspaces) if used else []
                for field in used:
                    if isinstance(field, (Hparam, Metric)) and stored_key(field.name) not in known:
                        raise unknown_name(field, known, text)

    def _names(self, connection: Connection, kind: str, workspaces: Sequence[str] | None) -> list[str]:
        query = select(fields.c.name).where(fields.c.kind == kind).distinct().order_by(fields.c.name)
        if workspaces is not None:
            query = query.where(fields.c.workspace_id.in_(workspace_ids(connection, workspaces, self._seen)))
        return list(connection.scalars(query.where(*inside_seen(fields.c.workspace_id, self._seen))))
