# SPDX-License-Identifier: Apache-2.0
"""Experiments: made, described, renamed, listed with the states of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from aboard.catalog.cursors import Cursor
from aboard.catalog.database import Database
from aboard.catalog.keys import stored_fold
from aboard.catalog.page import Page, check_limit
from aboard.catalog.schema import experiments, runs, workspaces
from aboard.catalog.seen import Seen, inside_seen
from aboard.catalog.workspace_names import not_found, workspace_id, workspace_ids
from aboard.errors import Conflict, UnknownName
from aboard.model.experiment import Experiment
from aboard.model.names import check_name, experiment_name
from aboard.model.run_states import RunState
from aboard.model.times import now

_ORDER = "experiments"


class Experiments:
    """The experiments of a catalog."""

    def __init__(self, database: Database, seen: Seen = None) -> None:
        self._database, self._seen = database, seen

    def add(self, workspace: str, name: str, *, description: str = "") -> Experiment:
        """Make an experiment. One of that name in the workspace, also in the bin, is a conflict."""
        row = {"name": check_name(name, "an experiment"), "name_key": stored_fold(name), "description": description}

        def work(connection: Connection) -> int:
            key = workspace_id(connection, workspace)
            values: dict[str, object] = {**row, "workspace_id": key, "tags": {}, "created": now()}
            return connection.execute(insert(experiments).values(**values).returning(experiments.c.id)).scalar_one()

        try:
            return self.get(self._database.write(work))
        except IntegrityError:
            raise _taken(name) from None

    def get(self, number: int) -> Experiment:
        """The experiment with this number, also when it is in the bin."""
        with self._database.reading() as connection:
            found = _read(connection, [experiments.c.id == number, *self._visible()], 1)
        if not found:
            raise UnknownName(f"there is no experiment {experiment_name(number)}")
        return found[0]

    def named(self, workspace: str, name: str) -> Experiment:
        """The experiment of that name in a workspace; capitals make no difference."""
        found = self.all_named(name, workspace=workspace)
        if not found:
            raise self.unknown(name, workspace=workspace)
        return found[0]

    def all_named(self, name: str, *, workspace: str = "", in_bin: bool = False) -> Sequence[Experiment]:
        """The experiments of that name in one workspace, or in all."""
        with self._database.reading() as connection:
            inside = self._inside(connection, workspace, in_bin=in_bin)
            return _read(connection, [*inside, experiments.c.name_key == stored_fold(name)], 100)

    def unknown(self, name: str, *, workspace: str = "") -> UnknownName:
        """The error for a name that no experiment has, with the nearest ones."""
        with self._database.reading() as connection:
            inside = self._inside(connection, workspace)
            query = select(experiments.c.name_key).where(*inside).order_by(experiments.c.id.desc()).limit(1000)
            return not_found("experiment", name, list(connection.scalars(query)))

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
    ) -> Page[Experiment]:
        """One page of the experiments of some workspaces, or of all, newest first."""
        check_limit(limit)
        deleted = experiments.c.deleted
        where = [deleted.is_not(None) if in_bin else deleted.is_(None), *self._visible()]
        if after is not None:
            where.append(experiments.c.id < Cursor.read(after, _ORDER).number)
        with self._database.reading() as connection:
            if workspaces is not None:
                where.append(experiments.c.workspace_id.in_(workspace_ids(connection, workspaces, self._seen)))
            found = _read(connection, where, limit + 1)
        more = len(found) > limit
        return Page(found[:limit], Cursor(0, None, found[limit - 1].number).text(_ORDER) if more else None)

    def rename(self, number: int, name: str) -> Experiment:
        """Give an experiment another name, and its runs the same one."""
        values = {"name": check_name(name, "an experiment"), "name_key": stored_fold(name)}

        def work(connection: Connection) -> None:
            _change(connection, number, values)
            of_experiment = runs.c.experiment_id == number
            connection.execute(update(runs).where(of_experiment).values(experiment=name, digest=None))

        try:
            self._database.write(work)
        except IntegrityError:
            raise _taken(name) from None
        return self.get(number)

    def describe(
        self, number: int, *, description: str | None = None, tags: Mapping[str, str] | None = None
    ) -> Experiment:
        """Give an experiment another description, or other tags."""
        values = {"description": description, "tags": None if tags is None else dict(tags)}
        given = {name: value for name, value in values.items() if value is not None}
        if given:
            self._database.write(lambda connection: _change(connection, number, given))
        return self.get(number)

    def _inside(self, connection: Connection, workspace: str, *, in_bin: bool = False) -> list[ColumnElement[bool]]:
        deleted = experiments.c.deleted
        where = deleted.is_not(None) if in_bin else deleted.is_(None)
        if workspace:
            return [experiments.c.workspace_id == workspace_id(connection, workspace, self._seen), where]
        return [where, *self._visible()]

    def _visible(self) -> list[ColumnElement[bool]]:
        return inside_seen(experiments.c.workspace_id, self._seen)


def _change(connection: Connection, number: int, values: Mapping[str, object]) -> None:
    changed = connection.execute(update(experiments).where(experiments.c.id == number).values(**values))
    if not changed.rowcount:
        raise UnknownName(f"there is no experiment {experiment_name(number)}")


def _taken(name: str) -> Conflict:
    hint = "choose another name; it may also be in the bin, from where it can be restored"
    return Conflict(f"there is an experiment {name!r} already in this workspace", hint=hint)


def _read(connection: Connection, where: Sequence[ColumnElement[bool]], limit: int) -> list[Experiment]:
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
        Experiment(
            number=row["id"],
            workspace=row["workspace"],
            runs=counts.get(row["id"], {}),
            **{name: row[name] for name in plain},
        )
        for row in rows
    ]
