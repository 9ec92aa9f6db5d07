# SPDX-License-Identifier: Apache-2.0
"""Runs in the catalog: look-up, lists, counts and updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select, update

from aboard.catalog.database import Database
from aboard.catalog.lookup import VisibleWorkspaces, in_visible_workspaces, stored_fold, stored_key, workspace_id
from aboard.catalog.paging import Cursor, ResultPage, check_limit
from aboard.catalog.runs.editing import edit_run
from aboard.catalog.runs.filters import FEW, QueryCompiler, RunScope
from aboard.catalog.runs.listing import RunPages, run_order
from aboard.catalog.runs.records import read_runs
from aboard.catalog.runs.writing import put_runs
from aboard.catalog.schema import runs
from aboard.errors import UnknownName
from aboard.model.names import run_name
from aboard.model.query.fields import NEWEST_FIRST, Sort
from aboard.model.query.tree import Query, conditions
from aboard.model.runs import RunRecord
from aboard.model.states import RunState, check_run_change
from aboard.model.times import now as present

_ALL = 10_000_000  # more runs than a list can show


class KnownRun(NamedTuple):
    """As much of a run as tells whether to look at it again."""

    number: int
    status: RunState
    heartbeat: datetime | None


class Runs:
    def __init__(self, database: Database, seen: VisibleWorkspaces = None, *, few: int = FEW) -> None:
        self._database, self._seen = database, seen
        self._few = few

    def put(self, run: RunRecord) -> RunRecord:
        """Write a run, whole; it comes back with its number and name. See `run_writer`."""
        return self.put_many([run])[0]

    def put_many(self, given: Sequence[RunRecord]) -> list[RunRecord]:
        """As `put`, for many at once."""
        return put_runs(self._database, given)

    def edit(self, number: int, change: Callable[[RunRecord], RunRecord]) -> RunRecord:
        """Change what people see of a run whose files are read-only. The edit outlives whatever its files say next."""
        return edit_run(self._database, number, change)

    def get(self, number: int) -> RunRecord:
        """The run with this number, with everything; also when it is in the bin."""
        with self._database.reading() as connection:
            query = select(runs.c.id).where(runs.c.id == number, *self._visible())
            found = read_runs(connection, list(connection.scalars(query)), with_details=True)
        if not found:
            raise UnknownName(f"there is no run {run_name(number)}")
        return found[0]

    def by_uid(self, uid: str) -> RunRecord:
        """The run with this uid, with everything; also when it is in the bin."""
        with self._database.reading() as connection:
            query = select(runs.c.id).where(runs.c.uid == uid, *self._visible())
            found = read_runs(connection, list(connection.scalars(query)), with_details=True)
        if not found:
            raise UnknownName(f"there is no run with the uid {uid}")
        return found[0]

    def of_store(self, store: str) -> dict[str, KnownRun]:
        """All runs that a store is known to have, by uid, in the bin or not."""
        columns = runs.c.uid, runs.c.id, runs.c.status, runs.c.heartbeat
        with self._database.reading() as connection:
            found = connection.execute(select(*columns).where(runs.c.store == stored_key(store)))
            return {uid: KnownRun(number, RunState(status), heard) for uid, number, status, heard in found}

    def named(self, workspace: str, name: str) -> Sequence[RunRecord]:
        """The runs in a workspace that have this name; capitals make no difference. Stores may bring several."""
        with self._database.reading() as connection:
            inside = runs.c.workspace_id == workspace_id(connection, workspace, self._seen)
            where = inside, runs.c.name_key == stored_fold(name)
            query = select(runs.c.id).where(*where, runs.c.deleted.is_(None)).order_by(runs.c.id)
            return read_runs(connection, list(connection.scalars(query)))

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        sort: Sort = NEWEST_FIRST,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
        hparams: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        now: datetime | None = None,
    ) -> ResultPage[RunRecord]:
        """One page of the runs of some workspaces, or of all; `after` is what `next` of the page before said.

        Only the named hyperparameters and metrics are read, all when there are no names. Details are left out.
        """
        check_limit(limit)
        order_name = f"{'-' * sort.descending}{sort.field}"
        start = None if after is None else Cursor.read(after, order_name)
        with self._database.reading() as connection:
            pages = self._pages(connection, workspaces, where, sort, in_bin, now)
            marks = pages.page(limit + 1, start)
            found = read_runs(
                connection, [mark.number for mark in marks[:limit]], hparam_names=hparams, metric_names=metrics
            )
        return ResultPage(found, marks[limit - 1].text(order_name) if len(marks) > limit else None)

    def marks(
        self,
        every: int,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        sort: Sort = NEWEST_FIRST,
        in_bin: bool = False,
        now: datetime | None = None,
    ) -> tuple[int, Sequence[str]]:
        """How many runs a list has, and after what each of its pages of `every` runs but the first begins.

        With it any page of a long list can be asked for without those before it.
        """
        check_limit(every)
        order_name = f"{'-' * sort.descending}{sort.field}"
        with self._database.reading() as connection:
            found = self._pages(connection, workspaces, where, sort, in_bin, now).page(_ALL, None)
        ends = range(every - 1, len(found) - 1, every)
        return len(found), [found[at].text(order_name) for at in ends]

    def count(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        where: Query | None = None,
        in_bin: bool = False,
        now: datetime | None = None,
    ) -> int:
        with self._database.reading() as connection:
            return self._pages(connection, workspaces, where, NEWEST_FIRST, in_bin, now).count()

    def _pages(
        self,
        connection: Connection,
        workspaces: Sequence[str] | None,
        where: Query | None,
        sort: Sort,
        in_bin: bool,
        now: datetime | None,
    ) -> RunPages:
        asked = [sort.field, *(condition.field for condition in (conditions(where) if where else []))]
        scope = RunScope.of(connection, workspaces, asked, in_bin=in_bin, seen=self._seen)
        compiler = QueryCompiler(scope, now or present(), self._database.is_sqlite)
        return RunPages(connection, compiler, where, run_order(sort, compiler, where), self._few)

    def _visible(self) -> list[ColumnElement[bool]]:
        return in_visible_workspaces(runs.c.workspace_id, self._seen)

    def change_status(
        self,
        number: int,
        status: RunState,
        *,
        at: datetime | None = None,
        reason: str = "",
        exit_code: int | None = None,
    ) -> RunRecord:
        """Change a run's status, if it may become that; an end gets its time."""
        at = at or present()

        def work(connection: Connection) -> RunRecord:
            query = select(runs.c.status).where(runs.c.id == number).with_for_update()
            old = connection.execute(query).scalar()
            if old is None:
                raise UnknownName(f"there is no run {run_name(number)}")
            check_run_change(run_name(number), RunState(old), status)
            values: dict[str, object] = {"status": str(status), "reason": reason or None, "exit_code": exit_code}
            values |= {"digest": None, "ended": None}
            if status.is_ended:
                values["ended"] = at
            elif status is RunState.RUNNING:
                values["heartbeat"] = at
            connection.execute(update(runs).where(runs.c.id == number).values(**values))
            return _with_duration(connection, number)

        return self._database.write(work)

    def heartbeat(self, uid: str, at: datetime | None = None) -> RunState:
        """Note a sign of life, which brings a lost run back. Returns the status, which tells the sender of an end."""
        at = at or present()

        def work(connection: Connection) -> RunState:
            query = select(runs.c.id, runs.c.status, runs.c.heartbeat).where(runs.c.uid == uid)
            found = connection.execute(query.with_for_update()).first()
            if found is None:
                raise UnknownName(f"there is no run with the uid {uid}")
            number, status, last = found
            if status == RunState.LOST:
                status = RunState.RUNNING
            if not RunState(status).is_ended and (last is None or last < at):
                values = {"status": str(status), "heartbeat": at, "ended": None, "digest": None}
                connection.execute(update(runs).where(runs.c.id == number).values(**values))
                _with_duration(connection, number)
            return RunState(status)

        return self._database.write(work)


def _with_duration(connection: Connection, number: int) -> RunRecord:
    """The run, whose duration now fits its times."""
    (run,) = read_runs(connection, [number])
    connection.execute(update(runs).where(runs.c.id == number).values(duration=run.duration))
    return run
