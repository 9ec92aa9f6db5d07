# SPDX-License-Identifier: Apache-2.0
"""Saved views in the catalog; their names are unique in a workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.database import Database
from aboard.catalog.lookup import VisibleWorkspaces, in_visible_workspaces, stored_fold, workspace_id, workspace_ids
from aboard.catalog.schema import saved_views, workspaces
from aboard.errors import Conflict, UnknownName
from aboard.model.groups import SavedView, check_view_address, check_view_name
from aboard.model.times import now

MOST_VIEWS = 1000  # of a workspace


class SavedViews:
    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def add(self, workspace: str, name: str, address: str, *, owner: str) -> SavedView:
        """Keep a view. One of that name in the workspace is a conflict."""
        row = {**_name(name), "address": check_view_address(address), "owner": owner}

        def work(connection: Connection) -> int:
            key = workspace_id(connection, workspace, self._seen)
            _check_room(connection, key, workspace)
            at = now()
            values: dict[str, object] = {**row, "workspace_id": key, "created": at, "changed": at}
            return connection.execute(insert(saved_views).values(**values).returning(saved_views.c.id)).scalar_one()

        try:
            return self.get(self._database.write(work))
        except IntegrityError:
            raise _taken(name) from None

    def get(self, number: int) -> SavedView:
        with self._database.reading() as connection:
            found = self._read(connection, saved_views.c.id == number)
        if not found:
            raise UnknownName(f"there is no saved view {number}", hint="it may have been deleted: look at the list")
        return found[0]

    def list(self, *, workspaces: Sequence[str] | None = None) -> Sequence[SavedView]:
        """The views of some workspaces, or of all, by name."""
        with self._database.reading() as connection:
            if workspaces is None:
                return self._read(connection)
            ids = workspace_ids(connection, workspaces, self._seen)
            return self._read(connection, saved_views.c.workspace_id.in_(ids))

    def change(self, number: int, *, name: str | None = None, address: str | None = None) -> SavedView:
        """Give a view another name, or have it show something else."""
        values: dict[str, object] = {} if name is None else {**_name(name)}
        if address is not None:
            values["address"] = check_view_address(address)

        def work(connection: Connection) -> None:
            which = saved_views.c.id == number
            connection.execute(update(saved_views).where(which).values(**values, changed=now()))

        try:
            self._database.write(work)
        except IntegrityError:
            raise _taken(name or "") from None
        return self.get(number)

    def delete(self, number: int) -> None:
        self._database.write(
            lambda connection: connection.execute(delete(saved_views).where(saved_views.c.id == number))
        )

    def _read(self, connection: Connection, *where: ColumnElement[bool]) -> list[SavedView]:
        query = select(saved_views, workspaces.c.name.label("workspace")).join_from(saved_views, workspaces)
        query = query.where(
            *where, workspaces.c.deleted.is_(None), *in_visible_workspaces(saved_views.c.workspace_id, self._seen)
        )
        rows = connection.execute(query.order_by(saved_views.c.name_key, saved_views.c.id)).mappings()
        fields = ("id", "workspace", "name", "address", "owner", "created", "changed")
        return [SavedView(**{name: row[name] for name in fields}) for row in rows]


def _name(name: str) -> Mapping[str, str]:
    return {"name": check_view_name(name), "name_key": stored_fold(name)}


def _check_room(connection: Connection, workspace_key: int, workspace: str) -> None:
    count = select(func.count()).select_from(saved_views).where(saved_views.c.workspace_id == workspace_key)
    if connection.execute(count).scalar_one() >= MOST_VIEWS:
        hint = "delete some that nobody needs"
        raise Conflict(f"the workspace {workspace} has {MOST_VIEWS} saved views already", hint=hint)


def _taken(name: str) -> Conflict:
    hint = "choose another name, or change what that view shows"
    return Conflict(f"there is a saved view {name!r} already in this workspace", hint=hint)
