# SPDX-License-Identifier: Apache-2.0
"""The runs of a folder source as a catalog: the same queries, by number, name, pattern and filter.

There is one workspace, which is the source, and there are no experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from aboard.catalog.paging import ResultPage
from aboard.errors import InvalidValue, UnknownName
from aboard.model.groups import ExperimentRecord, GroupUsage, Workspace
from aboard.model.names import experiment_name, folded, run_name
from aboard.model.query.evaluate import compile_query
from aboard.model.query.fields import CountedValue
from aboard.model.query.tree import Field, LikePattern, Query
from aboard.model.runs import RunRecord
from aboard.model.selections import NamePattern, NumberKind, NumberRange, SelectedRun, like_text
from aboard.model.times import now
from aboard.services.folders.folder_run import FolderRun
from aboard.services.folders.run_table import RunTable
from aboard.services.folders.saved_views import FolderSavedViews
from aboard.services.folders.source import FolderSource

_USAGE_GROUPS = ("workspace", "experiment", "user", "store", "status")


class FolderCatalog:
    """The parts of a catalog over one folder source. It is cheap to make, and holds no state of its own."""

    def __init__(self, source: FolderSource, saved_views: FolderSavedViews) -> None:
        self.source = source
        self.runs = FolderRuns(source)
        self.selected = FolderSelectedRuns(source)
        self.fields = FolderFields(source)
        self.field_values = FolderFieldValues(source)
        self.usage = FolderUsage(source)
        self.workspaces = FolderWorkspaces(source)
        self.experiments = NoExperiments()
        self.saved_views = saved_views


class FolderRuns(RunTable):
    """Lists of runs, and single ones."""

    def __init__(self, source: FolderSource) -> None:
        super().__init__(source.runs)
        self._source = source

    def get(self, number: int) -> RunRecord:
        return self.find(number).record()

    def by_uid(self, uid: str) -> RunRecord:
        if (run := self._source.identified(uid)) is None:
            raise UnknownName(f"There is no run with the uid {uid}.")
        return run.record()

    def find(self, number: int) -> FolderRun:
        """The run with this number, also one in the trash."""
        if (run := self._source.numbered(number)) is None:
            raise UnknownName(f"There is no run {run_name(number)}.")
        return run


class FolderSelectedRuns:
    """Runs of selections, by number, range, name and pattern; of these, those that match `where`."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source

    def all(self, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        return [self._selected(run) for run in self._matching(where, in_bin)]

    def numbered(
        self, numbers: Iterable[int], where: Query | None = None, *, in_bin: bool = False
    ) -> dict[int, SelectedRun]:
        found = filter(None, map(self._source.numbered, set(numbers)))
        return {run.number: self._selected(run) for run in self._matching(where, in_bin, list(found))}

    def between(self, entry: NumberRange, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        if entry.kind is not NumberKind.RUN or not self._is_here(entry.workspace):
            return []
        found = self._matching(where, in_bin)
        return [self._selected(run) for run in found if entry.first <= run.number <= entry.last]

    def like(self, entry: NamePattern, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        if entry.has_workspaces:
            if not LikePattern(like_text(folded(entry.workspace))).matches(folded(self._source.workspace)):
                return []
        elif not self._is_here(entry.workspace):
            return []
        pattern = LikePattern(folded(entry.as_like()))
        return [
            self._selected(run)
            for run in self._matching(where, in_bin)
            if pattern.matches(folded(run.name)) or pattern.matches(run_name(run.number))
        ]

    def named(self, names: Sequence[str], workspace: str = "", *, in_bin: bool = False) -> list[SelectedRun]:
        """The runs with one of these names or uids. A path below the source names a run, too."""
        known = [self._source.identified(name) for name in names]
        if all(known):
            return [self._selected(run) for run in self._matching(None, in_bin, [run for run in known if run])]
        uids, keys = set(names), {folded(name) for name in names}
        # A name may hold a slash here, and its beginning is taken for a workspace by those who parse it.
        if workspace and not self._is_here(workspace):
            keys = {f"{folded(workspace)}/{key}" for key in keys}
        return [
            self._selected(run)
            for run in self._matching(None, in_bin)
            if run.uid in uids or folded(run.name) in keys or folded(run.plain_name) in keys
        ]

    def of_store(self, store: str, where: Query | None = None, *, in_bin: bool = False) -> list[SelectedRun]:
        return [self._selected(run) for run in self._matching(where, in_bin) if run.store == store]

    def described(self, numbers: Iterable[int], hparams: Sequence[str], metrics: Sequence[str]) -> Iterator[RunRecord]:
        wanted = set(numbers)
        return (run.record(hparams, metrics) for run in self._source.runs() if run.number in wanted)

    def has_store(self, store: str) -> bool:
        return any(run.store == store for run in self._source.runs()) if store else False

    def missing_experiments(self, numbers: Iterable[int]) -> set[int]:
        return set(numbers)

    def _matching(self, where: Query | None, in_bin: bool, among: Sequence[FolderRun] | None = None) -> list[FolderRun]:
        among = self._source.runs() if among is None else among
        runs = [run for run in among if (run.deleted is not None) == in_bin]
        if where is None:
            return runs
        matches = compile_query(where, now())
        return [run for run in runs if matches(run)]

    def _is_here(self, workspace: str) -> bool:
        return not workspace or folded(workspace) == folded(self._source.workspace)

    def _selected(self, run: FolderRun) -> SelectedRun:
        return SelectedRun(
            number=run.number,
            uid=run.uid,
            name=run.name,
            workspace=run.workspace,
            status=run.status,
            store=self._source.location,
        )


class FolderFields:
    """Names of hyperparameters, metrics and tags."""

    def __init__(self, source: FolderSource) -> None:
        self._source, self._table = source, RunTable(source.runs)

    def hparams(self, workspaces: Sequence[str] | None = None) -> Sequence[str]:
        return self._table.field_names(lambda run: run.hparams)

    def metrics(self, workspaces: Sequence[str] | None = None) -> Sequence[str]:
        return self._table.field_names(lambda run: run.metrics)

    def tags(self, workspaces: Sequence[str] | None = None) -> Sequence[str]:
        return self._table.field_names(lambda run: run.tags)

    def check(self, query: Query, text: str, workspaces: Sequence[str] | None = None) -> None:
        """Refuse a filter that names a hyperparameter or metric which no run has, once all runs were read."""
        if self._source.collection.progress.cycles:
            self._table.check(query, text)


class FolderFieldValues:
    """The values of a field and how many runs have them."""

    def __init__(self, source: FolderSource) -> None:
        self._table = RunTable(source.runs)

    def of(
        self, field: Field, *, workspaces: Sequence[str] | None = None, prefix: str = "", limit: int = 20
    ) -> list[CountedValue]:
        return [
            CountedValue(value, count) for value, count in self._table.count_values(field, prefix=prefix, limit=limit)
        ]


class FolderUsage:
    """Storage that runs take, by group."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source

    def by(self, group: str, *, names: Sequence[str] | None = None, in_bin: bool = False) -> list[GroupUsage]:
        if group not in _USAGE_GROUPS:
            raise InvalidValue(f"Storage is not added up by {group!r}.", hint=f"Groups are {', '.join(_USAGE_GROUPS)}.")
        sums: dict[str, GroupUsage] = {}
        for run in self._source.runs():
            if (run.deleted is not None) == in_bin:
                name = str(getattr(run, group) or "")
                known = sums.get(name) or GroupUsage(name, 0, 0, 0)
                sums[name] = GroupUsage(name, known.runs + 1, known.files + run.files, known.bytes + run.bytes)
        return sorted(sums.values(), key=lambda one: (-one.bytes, -one.runs, one.group))


class FolderWorkspaces:
    """The one workspace, which is the source."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source

    def get(self, name: str) -> Workspace:
        if folded(name) != folded(self._source.workspace):
            raise UnknownName(f"There is no workspace {name!r}.", hint=f"The only one is {self._source.workspace}.")
        return self._workspace()

    def list(self, *, in_bin: bool = False) -> Sequence[Workspace]:
        return [] if in_bin else [self._workspace()]

    def _workspace(self) -> Workspace:
        runs = [run for run in self._source.runs() if run.deleted is None]
        created = min((run.created for run in runs), default=now())
        return Workspace(
            name=self._source.workspace,
            created=created,
            description=self._source.title,
            runs=len(runs),
            bytes=sum(run.bytes for run in runs),
        )


class NoExperiments:
    """Folders have no experiments."""

    def get(self, number: int) -> ExperimentRecord:
        raise self.unknown(experiment_name(number))

    def unknown(self, name: str, *, workspace: str = "") -> UnknownName:
        return UnknownName(f"There is no experiment {name!r}.", hint="Runs of folders belong to no experiment.")

    def all_named(self, name: str, *, workspace: str = "", in_bin: bool = False) -> Sequence[ExperimentRecord]:
        return []

    def list(
        self,
        *,
        workspaces: Sequence[str] | None = None,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
    ) -> ResultPage[ExperimentRecord]:
        return ResultPage([], None)
