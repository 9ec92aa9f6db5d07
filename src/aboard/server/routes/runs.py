# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/runs` and related routes: lists, edits, fields, usage, retention, comparison, and selections."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Annotated

from starlette.routing import Route

from aboard.api.runs import (
    Comparison,
    FieldNames,
    FieldValue,
    FieldValues,
    HeartbeatResponse,
    NewRun,
    RetentionRequest,
    RetentionResult,
    RunBatch,
    RunChange,
    RunCount,
    RunMarks,
    RunsChanged,
    SelectionRequest,
    SelectionResult,
    Usage,
    UsageRow,
)
from aboard.api.wire import Page
from aboard.errors import InvalidValue
from aboard.model.query.fields import NEWEST_FIRST, parse_field, parse_sort
from aboard.model.query.tree import HparamField, IsNone, MetricField, value_text
from aboard.model.runs import MetricSummary, RunRecord
from aboard.model.selections import parse_selection
from aboard.server.routes.binding import Query
from aboard.server.routes.operations import CurrentAccess, Operations, request_body
from aboard.server.routes.parameters import (
    After,
    Identifier,
    InBin,
    Limit,
    RunFilterParams,
    RunName,
    Workspaces,
    without_empty,
)
from aboard.services.runs.comparison import compare
from aboard.services.runs.editing import EditResult

if TYPE_CHECKING:
    from aboard.services.services import Services

_Columns = Annotated[
    list[str],
    Query(default_factory=list, description="Fields that will be looked at, as `hparams.lr`; all without it."),
]
_Compared = Annotated[
    list[str], Query(alias="run", default_factory=list, description="Two runs, as `?run=run1&run=run2`.")
]


class RunRoutes:
    """Answers questions about runs. `is_fresh`: stores are looked at before lists are given, for one person only."""

    def __init__(self, control: Services, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> Sequence[Route]:
        operations = Operations("runs")
        operations.add("GET", "runs", self.list)
        operations.add("POST", "runs", self.register)
        operations.add("PATCH", "runs", self.change)
        operations.add("GET", "run-count", self.count)
        operations.add("GET", "run-marks", self.marks)
        operations.add("GET", "comparison", self.compare)
        operations.add("POST", "runs/delete", self.delete)
        operations.add("POST", "runs/restore", self.restore)
        operations.add("POST", "runs/{uid}/heartbeat", self.heartbeat)
        operations.add("GET", "runs/{run}/metrics", self.metrics)
        operations.add("GET", "runs/{run}", self.get)
        operations.add("GET", "fields", self.fields)
        operations.add("GET", "field-values", self.field_values)
        operations.add("GET", "usage", self.usage)
        operations.add("POST", "retention", self.retain)
        return operations.routes

    def list(
        self,
        asked: RunFilterParams,
        columns: _Columns,
        access: CurrentAccess,
        sort: Annotated[str | None, Query(description="As `-metrics.loss.min`; newest first without it.")] = None,
        limit: Limit = 50,
        after: After = None,
    ) -> Page[RunRecord]:
        """A page of runs."""
        self._refresh()
        hparams, metrics = _fields(without_empty(columns))
        page = self._control.seen_by(access).catalog.runs.list(
            workspaces=asked.workspaces,
            where=asked.filter(self._control, access),
            sort=parse_sort(sort) if sort else NEWEST_FIRST,
            limit=limit,
            after=after or None,
            in_bin=asked.in_bin,
            hparams=hparams,
            metrics=metrics,
        )
        return Page(tuple(page.items), page.next)

    def count(self, asked: RunFilterParams, access: CurrentAccess) -> RunCount:
        """How many runs `GET runs` would show on all its pages."""
        self._refresh()
        count = self._control.seen_by(access).catalog.runs.count(
            workspaces=asked.workspaces, where=asked.filter(self._control, access), in_bin=asked.in_bin
        )
        return RunCount(count=count)

    def marks(
        self,
        asked: RunFilterParams,
        access: CurrentAccess,
        sort: Annotated[str | None, Query(description="As for `GET runs`.")] = None,
        every: Limit = 100,
    ) -> RunMarks:
        """Where the pages of `GET runs` begin, so that any of them can be asked for."""
        self._refresh()
        count, marks = self._control.seen_by(access).catalog.runs.marks(
            every,
            workspaces=asked.workspaces,
            where=asked.filter(self._control, access),
            sort=parse_sort(sort) if sort else NEWEST_FIRST,
            in_bin=asked.in_bin,
        )
        return RunMarks(count=count, every=every, marks=tuple(marks))

    def get(self, run: RunName, access: CurrentAccess) -> RunRecord:
        """A run with everything that is known of it, also when it is in the bin."""
        self._refresh()
        return self._control.seen_by(access).references.run(run)

    def metrics(self, run: RunName, access: CurrentAccess) -> dict[str, MetricSummary]:
        """Last, smallest and largest value of each metric of a run."""
        return dict(self.get(run, access).metrics)

    def compare(
        self,
        named: _Compared,
        access: CurrentAccess,
    ) -> Comparison:
        """Two runs, and all that is not the same in them."""
        self._refresh()
        if len(named) != 2:
            raise InvalidValue(f"{len(named)} runs are named", hint="two are compared: ?run=run1&run=run2")
        return compare(*map(self._control.seen_by(access).references.run, named))

    def change(self, change: Annotated[RunChange, request_body(RunChange)], access: CurrentAccess) -> RunsChanged:
        """Change some runs: name, workspace, experiment, tags, a note."""
        self._refresh()
        return _runs_changed(self._control.seen_by(access).runs.change(change))

    def delete(self, named: Annotated[RunBatch, request_body(RunBatch)], access: CurrentAccess) -> RunsChanged:
        """Put runs into the bin; with `files` delete all that is theirs in the store, for good."""
        self._refresh()
        seen = self._control.seen_by(access)
        return _runs_changed(seen.runs.delete(seen.references.runs(named.runs), files=named.files))

    def restore(self, named: Annotated[RunBatch, request_body(RunBatch)], access: CurrentAccess) -> RunsChanged:
        """Take runs out of the bin."""
        self._refresh()
        seen = self._control.seen_by(access)
        return _runs_changed(seen.runs.restore(seen.references.runs(named.runs)))

    def register(self, new: Annotated[NewRun, request_body(NewRun)], access: CurrentAccess) -> RunRecord:
        """Give a run that is about to begin its number, and a name where it has none."""
        return self._control.seen_by(access).register(new)

    def heartbeat(self, uid: Identifier, access: CurrentAccess) -> HeartbeatResponse:
        """A sign of life of a run."""
        return HeartbeatResponse(status=self._control.seen_by(access).heartbeat(uid))

    def fields(self, workspaces: Workspaces, access: CurrentAccess) -> FieldNames:
        """Names of all hyperparameters and metrics that runs have, and of the tags of the newest 10,000 runs."""
        self._refresh()
        within, fields = workspaces or None, self._control.seen_by(access).catalog.fields
        return FieldNames(
            hparams=tuple(fields.hparams(within)),
            metrics=tuple(fields.metrics(within)),
            tags=tuple(fields.tags(within)),
        )

    def field_values(
        self,
        workspaces: Workspaces,
        access: CurrentAccess,
        field: Annotated[str, Query(description="As `hparams.lr`, `tags.team`, `experiment` or `user`.")],
        prefix: Annotated[str, Query(description="How values begin; capitals make no difference.")] = "",
        limit: Limit = 20,
    ) -> FieldValues:
        """Values that the newest 10,000 runs have in a field, the most frequent first; none of runs in the bin."""
        # Stores are not looked at: it is asked with every letter that somebody types.
        asked, within, catalog = parse_field(field), workspaces or None, self._control.seen_by(access).catalog
        catalog.fields.check(IsNone(asked), field, within)
        found = catalog.field_values.of(asked, workspaces=within, prefix=prefix, limit=limit)
        return FieldValues(items=tuple(FieldValue(text=value_text(one.value), runs=one.runs) for one in found))

    def usage(
        self,
        workspaces: Workspaces,
        access: CurrentAccess,
        by: Annotated[str, Query(description="workspace, experiment, user, store or status.")] = "workspace",
        in_bin: InBin = False,
    ) -> Usage:
        """Storage that runs take, the largest group first."""
        self._refresh()
        found = self._control.seen_by(access).catalog.usage.by(by, names=workspaces or None, in_bin=in_bin)
        rows = tuple(UsageRow(group=one.group, runs=one.runs, files=one.files, bytes=one.bytes) for one in found)
        return Usage(
            by=by,
            items=rows,
            runs=sum(row.runs for row in rows),
            files=sum(row.files for row in rows),
            bytes=sum(row.bytes for row in rows),
        )

    def retain(
        self, asked: Annotated[RetentionRequest, request_body(RetentionRequest)], access: CurrentAccess
    ) -> RetentionResult:
        """Delete what a rule names, or with `dry_run` tell what that would be. Runs that are not over stay."""
        self._refresh()
        return self._control.seen_by(access).retain(asked)

    def _refresh(self) -> None:
        if self._is_fresh:
            self._control.look_now()


def _fields(columns: Sequence[str]) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    """The hyperparameters and metrics that will be looked at; None stands for all."""
    if not columns:
        return None, None
    fields = [parse_field(text) for text in columns]
    hparams = [field.name for field in fields if isinstance(field, HparamField)]
    return hparams, [field.name for field in fields if isinstance(field, MetricField)]


def _runs_changed(edited: EditResult) -> RunsChanged:
    return RunsChanged(items=tuple(edited.runs), problems=tuple(edited.problems))


_DAY_MINUTES = 24 * 60


class SelectionRoutes:
    """Answers what selections mean. `is_fresh`: stores are looked at before, for one person only."""

    def __init__(self, control: Services, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[Route]:
        operations = Operations("selections")
        operations.add("POST", "selections/resolve", self.resolve, is_change=False)
        return operations.routes

    def resolve(
        self, asked: Annotated[SelectionRequest, request_body(SelectionRequest)], access: CurrentAccess
    ) -> SelectionResult:
        """The runs that a selection means now; see docs/selections.md."""
        if not -_DAY_MINUTES < asked.zone < _DAY_MINUTES:
            raise InvalidValue(f"zone={asked.zone} is no zone", hint="write minutes east of Greenwich, as 120")
        selection = parse_selection(
            asked.words,
            asked.where,
            workspace=asked.workspace,
            numbers=asked.numbers,
            zone=timezone(timedelta(minutes=asked.zone)),
        )
        if self._is_fresh:
            self._control.look_now()
        selections = self._control.seen_by(access).selections
        settled = selections.settle(selection, in_bin=asked.in_bin, exact=asked.exact)
        resolved = selections.resolve(settled, in_bin=asked.in_bin)
        return SelectionResult(
            words=settled.words,
            where=settled.where,
            key=settled.key,
            live=settled.is_live,
            runs=resolved.runs,
            folders=resolved.folders,
            empty=resolved.empty,
        )
