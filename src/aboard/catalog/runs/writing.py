# SPDX-License-Identifier: Apache-2.0
"""Writes runs into the catalog: however often and by however many writers, a run has one row and one number.

The document in the store is the truth, so a run is written whole; only rows that differ are touched. A document with a
lower revision than the one in the catalog changes nothing. Missing workspaces, experiments and fields are created.
Numbers of purged runs are never given again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Table,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from aboard.catalog.database import Database, parts_of
from aboard.catalog.lookup import stored_fold, stored_key
from aboard.catalog.runs.kept_edits import read_edits
from aboard.catalog.runs.records import (
    NameIds,
    Row,
    attempt_rows,
    hparam_rows,
    metric_rows,
    note_rows,
    run_digest,
    run_row,
    tag_rows,
)
from aboard.catalog.schema import (
    attempts,
    experiments,
    fields,
    hparams,
    metrics,
    notes,
    retired_numbers,
    runs,
    tags,
    workspaces,
)
from aboard.model.names import check_uid
from aboard.model.run_edits import NO_EDIT
from aboard.model.runs import RunRecord
from aboard.model.times import now as present

NumberedRow = Mapping[str, Any]
_TURN = 0x61626F6172645F6E  # the number of an advisory lock
_HIGHEST_ASKED = 10**9  # a number beyond it is a mistake, and would leave few for others


def insert_if_absent(connection: Connection, table: Table, rows: Sequence[NumberedRow]) -> None:
    """Insert rows, leaving out those that some other row stands against."""
    if rows:
        make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        connection.execute(make(table).on_conflict_do_nothing(), list(rows))


def take_turn(connection: Connection) -> None:
    """Let no other transaction that takes a turn go on beside this one, which ends with it.

    Several processes find the same new things at the same time. A row that is not inserted after all costs a number in
    PostgreSQL, so each looks again when it is its turn. On SQLite a writer has the database for itself anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _TURN})


def lock_numbers(connection: Connection, table: Table) -> None:
    """Keep others from being given numbers until the transaction ends. Comes before any lock on single rows."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


def insert_with_number(connection: Connection, table: Table, row: NumberedRow, number: int) -> bool:
    """Insert a row under a number of its own, after `lock_numbers`; false when the number is or was another's."""
    is_taken = connection.execute(select(table.c.id).where(table.c.id == number)).first() is not None
    if is_taken or number > _HIGHEST_ASKED or _is_retired(connection, table, number):
        return False
    insert_if_absent(connection, table, [{"id": number, **row}])
    if connection.dialect.name == "postgresql":
        counter = func.pg_get_serial_sequence(table.name, "id")
        highest = select(func.max(table.c.id)).scalar_subquery()
        last = func.pg_sequence_last_value(cast(counter, postgresql.REGCLASS))
        connection.execute(select(func.setval(counter, func.greatest(highest, last))))
    return True


def retire(connection: Connection, table: Table, numbers: Sequence[int]) -> None:
    """Remember that these numbers were somebody's."""
    insert_if_absent(connection, retired_numbers, [{"kind": table.name, "number": number} for number in numbers])


def _is_retired(connection: Connection, table: Table, number: int) -> bool:
    asked = retired_numbers.c.kind == table.name, retired_numbers.c.number == number
    return connection.execute(select(retired_numbers.c.number).where(*asked)).first() is not None


def names_of(connection: Connection, runs: Iterable[RunRecord], now: datetime) -> NameIds:
    """Find, or make, all that `runs` name. In a transaction of its own, so that writers do not wait for each other."""
    runs = list(runs)
    workspace_ids = _workspaces(connection, {stored_fold(run.workspace): run.workspace for run in runs}, now)
    of_run = {run.uid: workspace_ids[stored_fold(run.workspace)] for run in runs}
    asked: dict[tuple[int, str], RunRecord] = {}
    for run in runs:
        if run.experiment is not None:
            asked.setdefault((of_run[run.uid], stored_fold(run.experiment)), run)
    keys = {(of_run[run.uid], "hparam", stored_key(name)) for run in runs for name in run.hparams}
    keys |= {(of_run[run.uid], "metric", stored_key(name)) for run in runs for name in run.metrics}
    return NameIds(workspace_ids, _experiments(connection, asked, now), _fields(connection, keys))


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
    connection: Connection, asked: Mapping[tuple[int, str], RunRecord], now: datetime
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


_AT_ONCE = 200
MISSING = "missing"  # why a run is in the bin that its store no longer has


def put_runs(database: Database, given: Sequence[RunRecord]) -> list[RunRecord]:
    """Write runs, each whole; returns them with their numbers and names, in the order in which they were given."""
    latest: dict[str, RunRecord] = {}
    for run in given:
        check_uid(run.uid)
        latest[run.uid] = run if run.uid not in latest else _newer(latest[run.uid], run)
    done: dict[str, RunRecord] = {}
    ordered = [latest[uid] for uid in sorted(latest)]  # all writers lock in one order, so that none waits in a circle
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        names = database.write(lambda connection, some=some: names_of(connection, some, present()))
        written = database.write(lambda connection, some=some, names=names: _Writer(connection, names).write(some))
        done.update({run.uid: run for run in written})
    return [done[run.uid] for run in given]


def _newer(first: RunRecord, second: RunRecord) -> RunRecord:
    return first if _is_older(second.revision, first.revision) else second


def _is_older(revision: int | None, than: int | None) -> bool:
    return revision is not None and than is not None and revision < than


_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class _Writer:
    """One transaction of writing."""

    def __init__(self, connection: Connection, names: NameIds) -> None:
        self._connection = connection
        self._names = names
        self._new: set[str] = set()
        self._digests: dict[str, str] = {}

    def write(self, given: Sequence[RunRecord]) -> list[RunRecord]:
        self._digests = {run.uid: run_digest(run) for run in given}
        found: dict[str, Row] = {}
        while missing := [run for run in given if run.uid not in found]:  # a second time if one was purged meanwhile
            self._insert_new(missing)
            found = self._locked(given)
        given = self._with_edits(given, found)
        fresh = [run for run in given if self._is_news(run, found[run.uid])]
        self._update(
            [(found[run.uid]["id"], run) for run in fresh if found[run.uid]["digest"] != self._digests[run.uid]]
        )
        # What was just inserted has the right digest and no rows elsewhere yet.
        self._update_parts([(found[run.uid]["id"], run) for run in fresh])
        self._bring_back([row["id"] for row in found.values()])
        return self._with_numbers(given)

    def _insert_new(self, given: Sequence[RunRecord]) -> None:
        new = self._unknown(given)
        if new:
            take_turn(self._connection)
            # Uids of read-only runs are digests, and say nothing about the order of the runs.
            new = sorted(self._unknown(new), key=lambda run: run.created if run.is_read_only else _LONG_AGO)
        numbered = [run for run in new if run.number is not None]
        if numbered:
            lock_numbers(self._connection, runs)
        rows = {run.uid: self._new_row(run) for run in new}
        for run in numbered:
            if insert_with_number(self._connection, runs, rows[run.uid], run.number or 0):
                del rows[run.uid]
        insert_if_absent(self._connection, runs, list(rows.values()))
        if new:
            self._new |= {run.uid for run in new}
            self._name_after_number(new)
            self._bring_back_what_holds(new)

    def _unknown(self, given: Sequence[RunRecord]) -> list[RunRecord]:
        known = set(self._connection.scalars(select(runs.c.uid).where(runs.c.uid.in_([run.uid for run in given]))))
        return [run for run in given if run.uid not in known]

    def _new_row(self, run: RunRecord) -> Row:
        row = run_row(run, self._names)
        return row | {"name": stored_key(run.name), "name_key": stored_fold(run.name), "deleted": run.deleted}

    def _locked(self, given: Sequence[RunRecord]) -> dict[str, Row]:
        columns = runs.c.uid, runs.c.id, runs.c.revision, runs.c.digest
        query = select(*columns).where(runs.c.uid.in_([run.uid for run in given])).order_by(runs.c.uid)
        return {row["uid"]: dict(row) for row in self._connection.execute(query.with_for_update()).mappings()}

    def _with_edits(self, given: Sequence[RunRecord], found: Mapping[str, Row]) -> Sequence[RunRecord]:
        """What people see of runs whose files are read-only.

        The rows of these runs are locked, so that no edit comes between.
        """
        edits = read_edits(self._connection, [found[run.uid]["id"] for run in given if run.is_read_only])
        if not edits:
            return given
        seen = [edits.get(found[run.uid]["id"], NO_EDIT).apply(run) for run in given]
        self._digests = {run.uid: run_digest(run) for run in seen}
        return seen

    def _is_news(self, run: RunRecord, found: Row) -> bool:
        """Whether a document says something that the catalog does not know yet, or know better."""
        if _is_older(run.revision, found["revision"]):
            return False
        return run.uid in self._new or found["digest"] != self._digests[run.uid]

    def _name_after_number(self, new: Sequence[RunRecord]) -> None:
        name = literal("run", Text).concat(cast(runs.c.id, Text))
        unnamed = runs.c.uid.in_([run.uid for run in new]), runs.c.name == ""
        self._connection.execute(update(runs).where(*unnamed).values(name=name, name_key=name))

    def _bring_back_what_holds(self, new: Sequence[RunRecord]) -> None:
        """A new run in a workspace or experiment that is in the bin takes it out again."""
        kept = {workspaces: {self._names.workspace(run) for run in new}}
        kept[experiments] = {key for key, _ in map(self._names.experiment, new) if key is not None}
        for table, keys in kept.items():
            binned = table.c.id.in_(sorted(keys)), table.c.deleted.is_not(None)
            self._connection.execute(update(table).where(*binned).values(deleted=None))

    def _update(self, numbered: Sequence[tuple[int, RunRecord]]) -> None:
        for number, run in numbered:
            row = run_row(run, self._names)
            if run.name:
                row |= {"name": stored_key(run.name), "name_key": stored_fold(run.name)}
            if run.deleted:
                row["deleted"] = run.deleted
            self._connection.execute(update(runs).where(runs.c.id == number).values(**row))

    def _update_parts(self, numbered: Sequence[tuple[int, RunRecord]]) -> None:
        numbers = [number for number, _ in numbered]
        for table, key, rows_of in _parts(self._names):
            rows = [row for number, run in numbered for row in rows_of(number, run)]
            make_equal(self._connection, table, key, numbers, rows)

    def _bring_back(self, numbers: Sequence[int]) -> None:
        """What was missing from its store is there again."""
        back = runs.c.id.in_(numbers), runs.c.deleted_why == MISSING
        self._connection.execute(update(runs).where(*back).values(deleted=None, deleted_why=None))

    def _with_numbers(self, given: Sequence[RunRecord]) -> list[RunRecord]:
        columns = runs.c.uid, runs.c.id, runs.c.name, runs.c.experiment_id
        query = select(*columns).where(runs.c.uid.in_([run.uid for run in given]))
        found = {uid: (number, name, experiment) for uid, number, name, experiment in self._connection.execute(query)}
        return [
            dataclasses.replace(run, number=number, name=name, experiment_number=experiment)
            for run in given
            for number, name, experiment in [found[run.uid]]
        ]


def make_equal(connection: Connection, table: Table, key: str, numbers: Sequence[int], wanted: Sequence[Row]) -> None:
    """Make the rows of these runs equal to `wanted`; what is equal already is not touched."""
    if not numbers:
        return
    query = select(table).where(table.c.run_id.in_(numbers))
    there = {(row["run_id"], row[key]): dict(row) for row in connection.execute(query).mappings()}
    asked = {(row["run_id"], row[key]): row for row in wanted}
    this_row = table.c.run_id == bindparam("of_run"), table.c[key] == bindparam("of_key")
    gone = [{"of_run": run, "of_key": name} for run, name in there.keys() - asked.keys()]
    if gone:
        connection.execute(delete(table).where(*this_row), gone)
    new = [asked[place] for place in asked.keys() - there.keys()]
    if new:
        connection.execute(insert(table), new)
    others = [
        {"of_run": run, "of_key": name} | {column: row[column] for column in row if column not in ("run_id", key)}
        for (run, name), row in asked.items()
        if there.get((run, name), row) != row
    ]
    if others:
        connection.execute(update(table).where(*this_row), others)


def _parts(names: NameIds) -> list[tuple[Table, str, Callable[[int, RunRecord], list[Row]]]]:
    """The tables beside `runs`, what tells a run's rows apart, and its rows there."""
    return [
        (hparams, "field_id", lambda number, run: hparam_rows(number, run, names)),
        (metrics, "field_id", lambda number, run: metric_rows(number, run, names)),
        (tags, "name", tag_rows),
        (notes, "position", note_rows),
        (attempts, "number", attempt_rows),
    ]
