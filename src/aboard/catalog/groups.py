# SPDX-License-Identifier: Apache-2.0
"""Workspaces with their saved views, experiments, and the storage that their runs take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.board_records import rename_workspace
from aboard.catalog.database import Database
from aboard.catalog.lookup import (
    VisibleWorkspaces,
    in_visible_workspaces,
    stored_fold,
    unknown_name_error,
    unknown_workspace_error,
    visible_workspaces,
    workspace_id,
    workspace_ids,
)
from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.catalog.schema import experiments, runs, saved_views, workspaces
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.groups import (
    ExperimentRecord,
    GroupUsage,
    SavedView,
    Workspace,
    check_view_address,
    check_view_name,
)
from aboard.model.names import check_name, check_workspace_name, experiment_name, folded
from aboard.model.states import RunState
from aboard.model.times import now


class Workspaces:
    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def add(self, name: str, *, description: str = "") -> Workspace:
        """Make a workspace. One of that name, also in the bin, is a conflict."""
        row = {"name": check_workspace_name(name), "name_key": stored_fold(name), "description": description}

        def work(connection: Connection) -> None:
            connection.execute(insert(workspaces).values(**row, created=now()))

        try:
            self._database.write(work)
        except IntegrityError:
            raise _workspace_taken(name) from None
        return self.get(name)

    def get(self, name: str) -> Workspace:
        """The workspace of that name, also when it is in the bin; capitals make no difference."""
        with self._database.reading() as connection:
            found = _read_workspaces(
                connection, workspaces.c.name_key == stored_fold(name), *visible_workspaces(self._seen)
            )
            if not found:
                others = select(workspaces.c.name_key).where(
                    workspaces.c.deleted.is_(None), *visible_workspaces(self._seen)
                )
                raise unknown_workspace_error(name, list(connection.scalars(others)), self._seen)
            return found[0]

    def list(self, *, in_bin: bool = False) -> Sequence[Workspace]:
        """All workspaces by name, those in use or those in the bin."""
        with self._database.reading() as connection:
            deleted = workspaces.c.deleted
            return _read_workspaces(
                connection, deleted.is_not(None) if in_bin else deleted.is_(None), *visible_workspaces(self._seen)
            )

    def rename(self, name: str, new_name: str) -> Workspace:
        values = {"name": check_workspace_name(new_name), "name_key": stored_fold(new_name)}
        try:
            self._change(name, values)
        except IntegrityError:
            raise _workspace_taken(new_name) from None
        return self.get(new_name)

    def describe(self, name: str, description: str) -> Workspace:
        self._change(name, {"description": description})
        return self.get(name)

    def _change(self, name: str, values: dict[str, str]) -> None:
        def work(connection: Connection) -> None:
            key = workspace_id(connection, name)
            connection.execute(update(workspaces).where(workspaces.c.id == key).values(**values))
            if "name" in values:
                rename_workspace(connection, folded(name), folded(values["name"]))

        self._database.write(work)


def _workspace_taken(name: str) -> Conflict:
    hint = "choose another name; it may also be in the bin, from where it can be restored"
    return Conflict(f"there is a workspace {name!r} already", hint=hint)


def _read_workspaces(connection: Connection, *where: ColumnElement[bool]) -> list[Workspace]:
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


_ORDER = "experiments"


class Experiments:
    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def add(self, workspace: str, name: str, *, description: str = "") -> ExperimentRecord:
        """Make an experiment. One of that name in the workspace, also in the bin, is a conflict."""
        row = {"name": check_name(name, "an experiment"), "name_key": stored_fold(name), "description": description}

        def work(connection: Connection) -> int:
            key = workspace_id(connection, workspace)
            values: dict[str, object] = {**row, "workspace_id": key, "tags": {}, "created": now()}
            return connection.execute(insert(experiments).values(**values).returning(experiments.c.id)).scalar_one()

        try:
            return self.get(self._database.write(work))
        except IntegrityError:
            raise _experiment_taken(name) from None

    def get(self, number: int) -> ExperimentRecord:
        """The experiment with this number, also when it is in the bin."""
        with self._database.reading() as connection:
            found = _read_experiments(connection, [experiments.c.id == number, *self._visible()], 1)
        if not found:
            raise UnknownName(f"there is no experiment {experiment_name(number)}")
        return found[0]

    def named(self, workspace: str, name: str) -> ExperimentRecord:
        """The experiment of that name in a workspace; capitals make no difference."""
        found = self.all_named(name, workspace=workspace)
        if not found:
            raise self.unknown(name, workspace=workspace)
        return found[0]

    def all_named(self, name: str, *, workspace: str = "", in_bin: bool = False) -> Sequence[ExperimentRecord]:
        """The experiments of that name in one workspace, or in all."""
        with self._database.reading() as connection:
            inside = self._inside(connection, workspace, in_bin=in_bin)
            return _read_experiments(connection, [*inside, experiments.c.name_key == stored_fold(name)], 100)

    def unknown(self, name: str, *, workspace: str = "") -> UnknownName:
        """The error for a name that no experiment has, with the nearest ones."""
        with self._database.reading() as connection:
            inside = self._inside(connection, workspace)
            query = select(experiments.c.name_key).where(*inside).order_by(experiments.c.id.desc()).limit(1000)
            return unknown_name_error("experiment", name, list(connection.scalars(query)))

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
    ) -> ResultPage[ExperimentRecord]:
        """One page of the experiments of some workspaces, or of all, newest first."""
        check_limit(limit)
        deleted = experiments.c.deleted
        where = [deleted.is_not(None) if in_bin else deleted.is_(None), *self._visible()]
        if after is not None:
            where.append(experiments.c.id < Cursor.read(after, _ORDER).number)
        with self._database.reading() as connection:
            if workspaces is not None:
                where.append(experiments.c.workspace_id.in_(workspace_ids(connection, workspaces, self._seen)))
            found = _read_experiments(connection, where, limit + 1)
        more = len(found) > limit
        return ResultPage(found[:limit], Cursor(0, None, found[limit - 1].number).text(_ORDER) if more else None)

    def rename(self, number: int, name: str) -> ExperimentRecord:
        """Give an experiment another name, and its runs the same one."""
        values = {"name": check_name(name, "an experiment"), "name_key": stored_fold(name)}

        def work(connection: Connection) -> None:
            _change_experiment(connection, number, values)
            of_experiment = runs.c.experiment_id == number
            connection.execute(update(runs).where(of_experiment).values(experiment=name, digest=None))

        try:
            self._database.write(work)
        except IntegrityError:
            raise _experiment_taken(name) from None
        return self.get(number)

    def describe(
        self, number: int, *, description: str | None = None, tags: Mapping[str, str] | None = None
    ) -> ExperimentRecord:
        values = {"description": description, "tags": None if tags is None else dict(tags)}
        given = {name: value for name, value in values.items() if value is not None}
        if given:
            self._database.write(lambda connection: _change_experiment(connection, number, given))
        return self.get(number)

    def _inside(self, connection: Connection, workspace: str, *, in_bin: bool = False) -> list[ColumnElement[bool]]:
        deleted = experiments.c.deleted
        where = deleted.is_not(None) if in_bin else deleted.is_(None)
        if workspace:
            return [experiments.c.workspace_id == workspace_id(connection, workspace, self._seen), where]
        return [where, *self._visible()]

    def _visible(self) -> list[ColumnElement[bool]]:
        return in_visible_workspaces(experiments.c.workspace_id, self._seen)


def _change_experiment(connection: Connection, number: int, values: Mapping[str, object]) -> None:
    changed = connection.execute(update(experiments).where(experiments.c.id == number).values(**values))
    if not changed.rowcount:
        raise UnknownName(f"there is no experiment {experiment_name(number)}")


def _experiment_taken(name: str) -> Conflict:
    hint = "choose another name; it may also be in the bin, from where it can be restored"
    return Conflict(f"there is an experiment {name!r} already in this workspace", hint=hint)


def _read_experiments(
    connection: Connection, where: Sequence[ColumnElement[bool]], limit: int
) -> list[ExperimentRecord]:
    plain = ("name", "created", "description", "tags", "deleted")
    query = select(experiments, workspaces.c.name.label("workspace")).join_from(experiments, workspaces)
    rows = connection.execute(query.where(*where).order_by(experiments.c.id.desc()).limit(limit)).mappings().all()
    counted = select(runs.c.experiment_id, runs.c.status, func.count()).where(
        runs.c.experiment_id.in_([row["id"] for row in rows]), runs.c.deleted.is_(None)
    )
    counts: dict[int, dict[RunState, int]] = {}
    for number, status, count in connection.execute(counted.group_by(runs.c.experiment_id, runs.c.status)):
        counts.setdefault(number, {})[RunState(status)] = count
    return [
        ExperimentRecord(
            number=row["id"],
            workspace=row["workspace"],
            runs=counts.get(row["id"], {}),
            **{name: row[name] for name in plain},
        )
        for row in rows
    ]


_GROUPS = {
    "workspace": workspaces.c.name,
    "experiment": runs.c.experiment,
    "user": runs.c.user,
    "store": runs.c.store,
    "status": runs.c.status,
}


class StorageUsage:
    """Sums up runs and bytes of a catalog by group."""

    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def by(self, group: str, *, names: Sequence[str] | None = None, in_bin: bool = False) -> list[GroupUsage]:
        """The groups of some workspaces, or of all, the largest first; what belongs to none has an empty name."""
        if group not in _GROUPS:
            raise InvalidValue(f"storage is not added up by {group!r}", hint=f"groups are: {', '.join(_GROUPS)}")
        column = _GROUPS[group]
        deleted = runs.c.deleted.is_not(None) if in_bin else runs.c.deleted.is_(None)
        sums = [func.coalesce(func.sum(runs.c[name]), 0) for name in ("files", "bytes")]
        query = select(column, func.count(), *sums).select_from(runs.join(workspaces))
        query = query.where(deleted, *visible_workspaces(self._seen))
        with self._database.reading() as connection:
            if names is not None:
                query = query.where(runs.c.workspace_id.in_(workspace_ids(connection, names, self._seen)))
            rows: list[tuple[Any, ...]] = [tuple(row) for row in connection.execute(query.group_by(column))]
        found = [GroupUsage(name or "", count, int(files), int(size)) for name, count, files, size in rows]
        return sorted(found, key=lambda one: (-one.bytes, -one.runs, one.group))


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
