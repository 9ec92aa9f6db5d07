# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/runs` and what else is asked about runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta, timezone
from typing import NamedTuple

from starlette.routing import Route

from aboard.api.page import Page
from aboard.api.runs import (
    Comparison,
    FieldNames,
    HeartbeatAnswer,
    NewRun,
    RetentionAsked,
    RetentionResult,
    RunChange,
    RunCount,
    RunsChanged,
    RunsNamed,
    Series,
    Usage,
    UsageRow,
)
from aboard.control.comparing import compare
from aboard.control.control import Control
from aboard.control.run_edits import Edited
from aboard.errors import InvalidValue
from aboard.model.metric_summary import MetricSummary
from aboard.model.query.fields import parse_field
from aboard.model.query.parser import parse_query
from aboard.model.query.sorting import NEWEST_FIRST, parse_sort
from aboard.model.query.syntax import And, Column, ColumnKind, Hparam, Metric, Order, Query
from aboard.model.query.syntax import Comparison as Condition
from aboard.model.run import Run
from aboard.server.answering import Call, route

_LOOK_SECONDS = 3.0


class RunRoutes:
    """Answers questions about runs. `is_fresh`: stores are looked at before lists are given, for one person only."""

    def __init__(self, control: Control, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[Route]:
        return [
            route("runs", self.list),
            route("runs", self.register, "POST"),
            route("runs", self.change, "PATCH"),
            route("run-count", self.count),
            route("comparison", self.compare),
            route("runs/delete", self.delete, "POST"),
            route("runs/restore", self.restore, "POST"),
            route("runs/{uid}/heartbeat", self.heartbeat, "POST"),
            route("runs/{run}/metrics", self.metrics),
            route("runs/{run}/series", self.series),
            route("runs/{run}", self.get),
            route("fields", self.fields),
            route("usage", self.usage),
            route("retention", self.retain, "POST"),
        ]

    def list(self, call: Call) -> Page[Run]:
        self._look()
        asked = self._asked(call)
        hparams, metrics = _fields(call.texts("columns"))
        page = self._control.catalog.runs.list(
            workspaces=asked.workspaces,
            where=asked.where,
            sort=parse_sort(text) if (text := call.text("sort")) else NEWEST_FIRST,
            limit=call.number("limit", 50),
            after=call.text("after"),
            in_bin=asked.in_bin,
            hparams=hparams,
            metrics=metrics,
        )
        return Page(tuple(page.items), page.next)

    def count(self, call: Call) -> RunCount:
        self._look()
        asked = self._asked(call)
        count = self._control.catalog.runs.count(workspaces=asked.workspaces, where=asked.where, in_bin=asked.in_bin)
        return RunCount(count=count)

    def get(self, call: Call) -> Run:
        self._look()
        return self._control.references.run(call.name("run"))

    def metrics(self, call: Call) -> dict[str, MetricSummary]:
        return dict(self.get(call).metrics)

    def series(self, call: Call) -> Page[Series]:
        run = self.get(call)
        return Page(tuple(self._control.series(run, call.texts("tag"), call.query.getlist("logdir"))))

    def compare(self, call: Call) -> Comparison:
        self._look()
        named = call.texts("run")
        if len(named) != 2:
            raise InvalidValue(f"{len(named)} runs are named", hint="two are compared: ?run=run1&run=run2")
        return compare(*map(self._control.references.run, named))

    def change(self, call: Call) -> RunsChanged:
        self._look()
        return _told(self._control.runs.change(call.body(RunChange), call.actor))

    def delete(self, call: Call) -> RunsChanged:
        self._look()
        named = call.body(RunsNamed)
        runs = self._control.references.runs(named.runs)
        return _told(self._control.runs.delete(runs, call.actor, files=named.files))

    def restore(self, call: Call) -> RunsChanged:
        self._look()
        runs = self._control.references.runs(call.body(RunsNamed).runs)
        return _told(self._control.runs.restore(runs, call.actor))

    def register(self, call: Call) -> Run:
        return self._control.register(call.body(NewRun))

    def heartbeat(self, call: Call) -> HeartbeatAnswer:
        return HeartbeatAnswer(status=self._control.heartbeat(call.name("uid")))

    def fields(self, call: Call) -> FieldNames:
        self._look()
        workspaces, fields = call.texts("workspace") or None, self._control.catalog.fields
        return FieldNames(hparams=tuple(fields.hparams(workspaces)), metrics=tuple(fields.metrics(workspaces)))

    def usage(self, call: Call) -> Usage:
        self._look()
        by = call.text("by") or "workspace"
        found = self._control.catalog.usage.by(by, names=call.texts("workspace") or None, in_bin=call.flag("bin"))
        rows = tuple(UsageRow(group=one.group, runs=one.runs, files=one.files, bytes=one.bytes) for one in found)
        return Usage(
            by=by,
            items=rows,
            runs=sum(row.runs for row in rows),
            files=sum(row.files for row in rows),
            bytes=sum(row.bytes for row in rows),
        )

    def retain(self, call: Call) -> RetentionResult:
        self._look()
        return self._control.retain(call.body(RetentionAsked), call.actor)

    def _look(self) -> None:
        if self._is_fresh:
            self._control.look_now(_LOOK_SECONDS)

    def _asked(self, call: Call) -> _Asked:
        workspaces = call.texts("workspace") or None
        where: Query | None = None
        if text := call.text("where"):
            where = parse_query(text, zone=timezone(timedelta(minutes=call.number("zone", 0, -1440 + 1, 1440 - 1))))
            self._control.catalog.fields.check(where, text, workspaces)
        if named := call.text("experiment"):
            number = self._control.references.experiment(named).number
            inside = Condition(Column("experiment_number", ColumnKind.NUMBER), Order.EQUAL, number)
            where = inside if where is None else And((inside, where))
        return _Asked(workspaces, where, call.flag("bin"))


class _Asked(NamedTuple):
    workspaces: Sequence[str] | None
    where: Query | None
    in_bin: bool


def _fields(columns: Sequence[str]) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    """The hyperparameters and metrics that will be looked at; None stands for all."""
    if not columns:
        return None, None
    fields = [parse_field(text) for text in columns]
    hparams = [field.name for field in fields if isinstance(field, Hparam)]
    return hparams, [field.name for field in fields if isinstance(field, Metric)]


def _told(edited: Edited) -> RunsChanged:
    return RunsChanged(items=tuple(edited.runs), problems=tuple(edited.problems))
