# SPDX-License-Identifier: Apache-2.0
"""The trash: deleted runs, experiments and workspaces stay in it until they are restored or purged.

The runs of a workspace or experiment are deleted and restored with it; those that were in the trash before stay there.
Purging is final, but numbers are remembered and never reused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, delete, select, update

from aboard.catalog.database import Database, parts_of
from aboard.catalog.lookup import stored_fold, unknown_name_error, workspace_id
from aboard.catalog.runs.writing import MISSING, retire
from aboard.catalog.schema import experiments, runs, workspaces
from aboard.errors import Conflict, UnknownName
from aboard.model.names import experiment_name, run_name
from aboard.model.times import now

_AT_ONCE = 500
_WITH_EXPERIMENT = "experiment"
_WITH_WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class PurgedRun:
    """A run that the catalog has forgotten; its files are where they were."""

    number: int
    uid: str
    store: str


class Trash:
    """Moves to the trash, restores and purges."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def delete_runs(self, numbers: Sequence[int]) -> None:
        """Put runs into the bin, all or, when one does not exist, none. Those in it already stay as they are."""

        def work(connection: Connection) -> None:
            _all_there(connection, runs, numbers, run_name)
            for some in parts_of(numbers):
                _delete(connection, runs, runs.c.id.in_(some), None)

        self._database.write(work)

    def delete_missing(self, numbers: Sequence[int]) -> Sequence[int]:
        """Put runs into the trash whose files are gone; they come out when these are back. Returns those it took."""

        def work(connection: Connection) -> list[int]:
            taken: list[int] = []
            for some in parts_of(numbers):
                live = runs.c.id.in_(some), runs.c.deleted.is_(None)
                taken += connection.scalars(select(runs.c.id).where(*live).order_by(runs.c.id))
                _delete(connection, runs, runs.c.id.in_(some), MISSING)
            return taken

        return self._database.write(work)

    def restore_runs(self, numbers: Sequence[int]) -> None:
        """Take runs out of the bin. Their experiment and workspace must be out of it."""

        def work(connection: Connection) -> None:
            _all_there(connection, runs, numbers, run_name)
            for some in parts_of(numbers):
                _restore_some(connection, some)

        self._database.write(work)

    def delete_experiment(self, number: int) -> None:
        """Put an experiment and its runs into the bin."""

        def work(connection: Connection) -> None:
            _all_there(connection, experiments, [number], experiment_name)
            _delete(connection, experiments, experiments.c.id == number, None)
            _delete(connection, runs, runs.c.experiment_id == number, _WITH_EXPERIMENT)

        self._database.write(work)

    def restore_experiment(self, number: int) -> None:
        """Take an experiment out of the bin, and the runs that went with it."""

        def work(connection: Connection) -> None:
            _all_there(connection, experiments, [number], experiment_name)
            _restore(connection, experiments, experiments.c.id == number)
            _restore(connection, runs, runs.c.experiment_id == number, _WITH_EXPERIMENT)

        self._database.write(work)

    def delete_workspace(self, name: str) -> None:
        """Put a workspace into the bin, with its experiments and runs."""

        def work(connection: Connection) -> None:
            key = workspace_id(connection, name)
            connection.execute(update(workspaces).where(workspaces.c.id == key).values(deleted=now()))
            _delete(connection, experiments, experiments.c.workspace_id == key, _WITH_WORKSPACE)
            _delete(connection, runs, runs.c.workspace_id == key, _WITH_WORKSPACE)

        self._database.write(work)

    def restore_workspace(self, name: str) -> None:
        """Take a workspace out of the bin, and what went with it."""

        def work(connection: Connection) -> None:
            key = _binned_workspace(connection, name)
            connection.execute(update(workspaces).where(workspaces.c.id == key).values(deleted=None))
            _restore(connection, experiments, experiments.c.workspace_id == key, _WITH_WORKSPACE)
            _restore(connection, runs, runs.c.workspace_id == key, _WITH_WORKSPACE)

        self._database.write(work)

    def purge_runs(
        self, numbers: Sequence[int] | None = None, *, deleted_before: datetime | None = None
    ) -> list[PurgedRun]:
        """Forget runs that are in the bin: those named, those deleted before a time, or all. Returns what is gone."""
        where: list[ColumnElement[bool]] = [runs.c.deleted.is_not(None)]
        if deleted_before is not None:
            where.append(runs.c.deleted < deleted_before)
        if numbers is None:
            return self._purge_where(*where)
        return [gone for some in parts_of(numbers) for gone in self._purge_where(*where, runs.c.id.in_(some))]

    def _purge_where(self, *where: ColumnElement[bool]) -> list[PurgedRun]:
        """In parts, so that other writers are not kept waiting."""
        purged: list[PurgedRun] = []
        while part := self._database.write(lambda connection: _purge_some(connection, where)):
            purged += part
        return purged


def _delete(connection: Connection, table: Table, where: ColumnElement[bool], why: str | None) -> None:
    live = where, table.c.deleted.is_(None)
    connection.execute(update(table).where(*live).values(deleted=now(), deleted_why=why))


def _restore(connection: Connection, table: Table, where: ColumnElement[bool], why: str | None = None) -> None:
    those = (where,) if why is None else (where, table.c.deleted_why == why)
    connection.execute(update(table).where(*those).values(deleted=None, deleted_why=None))


def _all_there(connection: Connection, table: Table, numbers: Sequence[int], shown: Callable[[int], str]) -> None:
    for some in parts_of(numbers):
        there = set(connection.scalars(select(table.c.id).where(table.c.id.in_(some))))
        for number in some:
            if number not in there:
                raise UnknownName(f"there is no {table.name.removesuffix('s')} {shown(number)}")


def _restore_some(connection: Connection, numbers: Sequence[int]) -> None:
    held = select(runs.c.id, workspaces.c.name).join_from(runs, workspaces).where(runs.c.id.in_(numbers))
    inside = connection.execute(held.where(workspaces.c.deleted.is_not(None))).first()
    if inside:
        hint = f"restore the workspace {inside.name!r} first"
        raise Conflict(f"{run_name(inside.id)} belongs to a workspace that is in the bin", hint=hint)
    _restore(connection, runs, runs.c.id.in_(numbers))
    kept = select(runs.c.experiment_id).where(runs.c.id.in_(numbers))
    _restore(connection, experiments, experiments.c.id.in_(kept))


def _binned_workspace(connection: Connection, name: str) -> int:
    query = select(workspaces.c.name_key, workspaces.c.id).where(workspaces.c.deleted.is_not(None))
    binned = dict(iter(connection.execute(query)))
    if stored_fold(name) not in binned:
        raise unknown_name_error("workspace in the bin", name, list(binned))
    return binned[stored_fold(name)]


def _purge_some(connection: Connection, where: Sequence[ColumnElement[bool]]) -> list[PurgedRun]:
    query = select(runs.c.id, runs.c.uid, runs.c.store).where(*where).order_by(runs.c.id).limit(_AT_ONCE)
    found = [PurgedRun(number, uid, store or "") for number, uid, store in connection.execute(query)]
    numbers = [run.number for run in found]
    retire(connection, runs, numbers)
    connection.execute(delete(runs).where(runs.c.id.in_(numbers)))
    return found
