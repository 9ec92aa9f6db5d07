# SPDX-License-Identifier: Apache-2.0
"""Workspaces: made, described, renamed and counted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.board_rows import rename_workspace
from aboard.catalog.database import Database
from aboard.catalog.keys import stored_fold
from aboard.catalog.schema import experiments, runs, workspaces
from aboard.catalog.seen import Seen, seen_names
from aboard.catalog.workspace_names import no_workspace, workspace_id
from aboard.errors import Conflict
from aboard.model.names import check_workspace_name, folded
from aboard.model.times import now
from aboard.model.workspace import Workspace


class Workspaces:
    """The workspaces of a catalog."""

    def __init__(self, database: Database, seen: Seen = None) -> None:
        self._database, self._seen = database, seen

    def add(self, name: str, *, description: str = "") -> Workspace:
        """Make a workspace. One of that name, also in the bin, is a conflict."""
        row = {"name": check_workspace_name(name), "name_key": stored_fold(name), "description": description}

        def work(connection: Connection) -> None:
            connection.execute(insert(workspaces).values(**row, created=now()))

        try:
            self._database.write(work)
        except IntegrityError:
            raise _taken(name) from None
        return self.get(name)

    def get(self, name: str) -> Workspace:
        """The workspace of that name, also when it is in the bin; capitals make no difference."""
        with self._database.reading() as connection:
            found = _read(connection, workspaces.c.name_key == stored_fold(name), *seen_names(self._seen))
            if not found:
                others = select(workspaces.c.name_key).where(workspaces.c.deleted.is_(None), *seen_names(self._seen))
                raise no_workspace(name, list(connection.scalars(others)), self._seen)
            return found[0]

    def list(self, *, in_bin: bool = False) -> Sequence[Workspace]:
        """All workspaces by name, those in use or those in the bin."""
        with self._database.reading() as connection:
            deleted = workspaces.c.deleted
            return _read(connection, deleted.is_not(None) if in_bin else deleted.is_(None), *seen_names(self._seen))

    def rename(self, name: str, new_name: str) -> Workspace:
        """Give a workspace another name."""
        values = {"name": check_workspace_name(new_name), "name_key": stored_fold(new_name)}
        try:
            self._change(name, values)
        except IntegrityError:
            raise _taken(new_name) from None
        return self.get(new_name)

    def describe(self, name: str, description: str) -> Workspace:
        """Give a workspace another description."""
        self._change(name, {"description": description})
        return self.get(name)

    def _change(self, name: str, values: dict[str, str]) -> None:
        def work(connection: Connection) -> None:
            key = workspace_id(connection, name)
            connection.execute(update(workspaces).where(workspaces.c.id == key).values(**values))
            if "name" in values:
                rename_workspace(connection, folded(name), folded(values["name"]))

        self._database.write(work)


def _taken(name: str) -> Conflict:
    hint = "choose another name; it may also be in the bin, from where it can be restored"
    return Conflict(f"there is a workspace {name!r} already", hint=hint)


def _read(connection: Connection, *where: ColumnElement[bool]) -> list[Workspace]:
    live = runs.c.deleted.is_(None), runs.c.workspace_id == workspaces.c.id
    live_experiments = experiments.c.deleted.is_(None), experiments.c.workspace_id == workspaces.c.id
    columns = workspaces.c.name, workspaces.c.created, workspaces.c.description, workspaces.c.deleted
    query = select(
        *columns,
        select(func.count()).select_from(runs).where(*live).scalar_subquery().label("runs"),
        select(func.coalesce(func.sum(runs.c.bytes), 0)).where(*live).scalar_subquery().label("bytes"),
        select(func.count()).select_from(experiments).where(*live_experiments).scalar_subquery().label("experiments"),
    )
    rows = connection.execute(query.where(*where).order_by(workspaces.c.name_key)).mappings()
    plain = ("name", "created", "description", "deleted", "runs", "experiments")
    return [Workspace(bytes=int(row["bytes"]), **{name: row[name] for name in plain}) for row in rows]
