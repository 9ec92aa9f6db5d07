# SPDX-License-Identifier: Apache-2.0
"""Runs of selections, by number, range, name, pattern, experiment and store, evaluated by the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, String, cast, exists, literal, or_, select

from aboard.catalog.database import Database, parts_of
from aboard.catalog.lookup import VisibleWorkspaces, in_visible_workspaces, stored_fold, stored_key, text_fits
from aboard.catalog.runs.filters import QueryCompiler, RunScope, few_candidates
from aboard.catalog.runs.records import read_runs
from aboard.catalog.schema import experiments, runs, workspaces
from aboard.errors import InvalidValue
from aboard.model.query.tree import Pattern, Query, conditions
from aboard.model.runs import RunRecord
from aboard.model.selections import MOST_RUNS, NamePattern, NumberKind, NumberRange, SelectedRun, like_text
from aboard.model.states import RunState
from aboard.model.times import now

_FEW = 1000


class SelectedRuns:
    """Finds the runs of one kind of entry, by number; of these, those for which `where` holds."""

    def __init__(self, database: Database, seen: VisibleWorkspaces = None) -> None:
        self._database, self._seen = database, seen

    def all(self, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        return self._find([], where, in_bin=in_bin)

    def numbered(
        self, numbers: Iterable[int], where: Query | None = None, *, in_bin: bool = False
    ) -> dict[int, SelectedRun]:
        found: dict[int, SelectedRun] = {}
        for some in parts_of(sorted(set(numbers))):
            found |= {run.number: run for run in self._find([runs.c.id.in_(some)], where, in_bin=in_bin)}
        return found

    def between(self, entry: NumberRange, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        """The runs with numbers of a range, or of the experiments with these."""
        column = runs.c.id if entry.kind is NumberKind.RUN else runs.c.experiment_id
        holds = column == entry.first if entry.is_one else column.between(entry.first, entry.last)
        return self._find([holds], where, workspace=entry.workspace, in_bin=in_bin)

    def like(self, entry: NamePattern, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        """The runs whose name, or `run` and number, fits a pattern."""
        number = literal("run") + cast(runs.c.id, String)
        texts: list[ColumnElement[str]] = [runs.c.name_key, number]
        pattern, is_sqlite = entry.as_like(), self._database.is_sqlite
        fits = [text_fits(text, Pattern.LIKE, pattern, is_sqlite=is_sqlite) for text in texts]
        holds = [] if entry.pattern == "*" else [or_(*fits)]
        if not entry.has_workspaces:
            return self._find(holds, where, workspace=entry.workspace, in_bin=in_bin)
        inside = text_fits(workspaces.c.name_key, Pattern.LIKE, like_text(entry.workspace), is_sqlite=is_sqlite)
        return self._find([*holds, inside], where, in_bin=in_bin)

    def named(self, names: Sequence[str], workspace: str = "", *, in_bin: bool = False) -> list[SelectedRun]:
        """The runs that have one of these names or uids; capitals make no difference in names."""
        keys = [stored_fold(name) for name in names]
        # Each workspace has its own part of the index of names.
        named = runs.c.workspace_id.in_(select(workspaces.c.id)), runs.c.name_key.in_(keys)
        found = self._find(list(named), None, workspace=workspace, in_bin=in_bin)
        by_uid = self._find([runs.c.uid.in_(list(names))], None, workspace=workspace, in_bin=in_bin)
        return list({run.number: run for run in [*by_uid, *found]}.values())

    def of_store(self, store: str, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        return self._find([runs.c.store == stored_key(store)], where, in_bin=in_bin)

    def described(self, numbers: Iterable[int], hparams: Sequence[str], metrics: Sequence[str]) -> Iterator[RunRecord]:
        """What is known of the runs with these numbers; of hyperparameters and metrics only the named ones."""
        for some in parts_of(sorted(set(numbers))):
            with self._database.reading() as connection:
                yield from read_runs(connection, some, hparam_names=hparams, metric_names=metrics)

    def has_store(self, store: str) -> bool:
        """Whether a run, in the bin or not, is in this store."""
        with self._database.reading() as connection:
            inside = runs.c.store == stored_key(store), *in_visible_workspaces(runs.c.workspace_id, self._seen)
            return bool(connection.execute(select(exists().where(*inside))).scalar())

    def missing_experiments(self, numbers: Iterable[int]) -> set[int]:
        """Those of these numbers that no experiment outside the bin has."""
        missing = set(numbers)
        with self._database.reading() as connection:
            for some in parts_of(sorted(missing)):
                query = select(experiments.c.id).where(experiments.c.id.in_(some), experiments.c.deleted.is_(None))
                query = query.where(*in_visible_workspaces(experiments.c.workspace_id, self._seen))
                missing -= set(connection.scalars(query))
        return missing

    def _find(
        self, holds: Sequence[ColumnElement[bool]], where: Query | None, *, workspace: str = "", in_bin: bool = False
    ) -> list[SelectedRun]:
        with self._database.reading() as connection:
            asked = [condition.field for condition in conditions(where)] if where is not None else []
            names = [workspace] if workspace else None
            scope = RunScope.of(connection, names, asked, in_bin=in_bin, seen=self._seen)
            filtered = self._filtered(connection, scope, where)
            columns = runs.c.id, runs.c.uid, runs.c.name, workspaces.c.name, runs.c.status, runs.c.experiment_id
            query = select(*columns, runs.c.store, runs.c.source_path).join_from(runs, workspaces)
            query = query.where(*holds, *scope.holds(), *filtered).order_by(runs.c.id).limit(MOST_RUNS + 1)
            rows = connection.execute(query).all()
        if len(rows) > MOST_RUNS:
            raise InvalidValue(f"more than {MOST_RUNS:,} runs are selected", hint="narrow it with a filter or a range")
        return [_selected(*row) for row in rows]

    def _filtered(self, connection: Connection, scope: RunScope, where: Query | None) -> list[ColumnElement[bool]]:
        if where is None:
            return []
        compiler = QueryCompiler(scope, now(), self._database.is_sqlite)
        narrow = few_candidates(connection, compiler, where, _FEW)
        return [*([] if narrow is None else [runs.c.id.in_(narrow)]), compiler.where(where, runs.c.id)]


def _selected(
    number: int,
    uid: str,
    name: str,
    workspace: str,
    status: str,
    experiment: int | None,
    store: str | None,
    source_path: str | None,
) -> SelectedRun:
    return SelectedRun(
        number=number,
        uid=uid,
        name=name,
        workspace=workspace,
        status=RunState(status),
        experiment_number=experiment,
        store=store or "",
        source_path=source_path,
    )
