# SPDX-License-Identifier: Apache-2.0
"""Workspaces, experiments and fields by name, made when they are not there yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, tuple_

from aboard.catalog.inserting import insert_if_absent, insert_with_number, lock_numbers, take_turn
from aboard.catalog.keys import stored_fold, stored_key
from aboard.catalog.parts import parts_of
from aboard.catalog.schema import experiments, fields, workspaces
from aboard.model.run import Run


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of everything that some runs name."""

    workspaces: Mapping[str, int]  # by folded name
    experiments: Mapping[tuple[int, str], tuple[int, str]]  # key and name, by workspace and folded name
    fields: Mapping[tuple[int, str, str], int]  # by workspace, kind and name

    def workspace(self, run: Run) -> int:
        return self.workspaces[stored_fold(run.workspace)]

    def experiment(self, run: Run) -> tuple[int | None, str | None]:
        if run.experiment is None:
            return None, None
        return self.experiments[self.workspace(run), stored_fold(run.experiment)]


def names_of(connection: Connection, runs: Iterable[Run], now: datetime) -> Names:
    """Find, or make, all that `runs` name. In a transaction of its own, so that writers do not wait for each other."""
    runs = list(runs)
    workspace_ids = _workspaces(connection, {stored_fold(run.workspace): run.workspace for run in runs}, now)
    of_run = {run.uid: workspace_ids[stored_fold(run.workspace)] for run in runs}
    asked: dict[tuple[int, str], Run] = {}
    for run in runs:
        if run.experiment is not None:
            asked.setdefault((of_run[run.uid], stored_fold(run.experiment)), run)
    keys = {(of_run[run.uid], "hparam", stored_key(name)) for run in runs for name in run.hparams}
    keys |= {(of_run[run.uid], "metric", stored_key(name)) for run in runs for name in run.metrics}
    return Names(workspace_ids, _experiments(connection, asked, now), _fields(connection, keys))


def _workspaces(connection: Connection, names: Mapping[str, str], now: datetime) -> dict[str, int]:
    query = select(workspaces.c.name_key, workspaces.c.id).where(workspaces.c.name_key.in_(names))
    found = dict(iter(connection.execute(query)))
    missing = sorted(names.keys() - found.keys())
    if missing:
        rows = [{"name": stored_key(names[key]), "name_key": key, "description": "", "created": now} for key in missing]
        insert_if_absent(connection, workspaces, rows)
        found = dict(iter(connection.execute(query)))
    return found


def _experiments(
    connection: Connection, asked: Mapping[tuple[int, str], Run], now: datetime
) -> dict[tuple[int, str], tuple[int, str]]:
    found = _found_experiments(connection, asked)
    if any(place not in found for place in asked):
        take_turn(connection)
        found = _found_experiments(connection, asked)
    missing = [place for place in asked if place not in found]  # numbered in the order of their first runs
    if any(asked[place].experiment_number for place in missing):
        lock_numbers(connection, experiments)
    for workspace, key in missing:
        run = asked[workspace, key]
        row: dict[str, object] = {
            "workspace_id": workspace,
            "name": stored_key(run.experiment or ""),
            "name_key": key,
            "created": now,
        }
        row |= {"description": "", "tags": {}}
        number = run.experiment_number
        if number is None or not insert_with_number(connection, experiments, row, number):
            insert_if_absent(connection, experiments, [row])
    return _found_experiments(connection, asked) if missing else found


def _found_experiments(
    connection: Connection, asked: Iterable[tuple[int, str]]
) -> dict[tuple[int, str], tuple[int, str]]:
    columns = experiments.c.workspace_id, experiments.c.name_key, experiments.c.id, experiments.c.name
    found: dict[tuple[int, str], tuple[int, str]] = {}
    for some in parts_of(sorted(asked)):
        query = select(*columns).where(tuple_(columns[0], columns[1]).in_(some))
        found.update({(workspace, key): (number, name) for workspace, key, number, name in connection.execute(query)})
    return found


def _fields(connection: Connection, keys: set[tuple[int, str, str]]) -> dict[tuple[int, str, str], int]:
    found = _found_fields(connection, keys)
    missing = sorted(keys - found.keys())
    if missing:
        rows = [{"workspace_id": workspace, "kind": kind, "name": name} for workspace, kind, name in missing]
        insert_if_absent(connection, fields, rows)
        found.update(_found_fields(connection, missing))
    return found


def _found_fields(connection: Connection, keys: Iterable[tuple[int, str, str]]) -> dict[tuple[int, str, str], int]:
    columns = fields.c.workspace_id, fields.c.kind, fields.c.name
    found: dict[tuple[int, str, str], int] = {}
    for some in parts_of(sorted(keys)):
        query = select(*columns, fields.c.id).where(tuple_(*columns).in_(some))
        found.update({(workspace, kind, name): number for workspace, kind, name, number in connection.execute(query)})
    return found
