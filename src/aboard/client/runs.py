# SPDX-License-Identifier: Apache-2.0
"""Runs of a server."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence

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
    RunsChanged,
    SelectionRequest,
    SelectionResult,
    Usage,
)
from aboard.api.series import Annotations
from aboard.api.wire import Page, on_all_pages
from aboard.client.board import ServedRun
from aboard.client.connection import as_tuple, resolve_folder, utc_offset_minutes
from aboard.client.transport import Transport, quote_path_part
from aboard.errors import InvalidValue
from aboard.model.runs import MetricSummary, RunRecord
from aboard.model.selections import NumberKind, split_words
from aboard.model.states import RunState

RunNames = str | Sequence[str]
"""`run343`, `343`, a uid, a name or `workspace/name`; or several of these."""
_LONG_SECONDS = 3600.0  # deleting the files of many runs takes its time
_PAGE = 500


class RunsClient:
    """The runs of a server; `Client.runs`."""

    def __init__(self, transport: Callable[[], Transport], served: Callable[[RunRecord], ServedRun]) -> None:
        self._transport, self._served = transport, served

    def list(
        self,
        *,
        workspaces: RunNames | None = None,
        experiment: str | None = None,
        where: str | None = None,
        sort: str | None = None,
        limit: int = 50,
        after: str | None = None,
        columns: Sequence[str] | None = None,
        in_bin: bool = False,
    ) -> Page[ServedRun]:
        """One page of runs, newest first unless `sort` says otherwise (`-metrics.loss.min`, `hparams.lr desc`).

        `columns` are the fields that will be looked at (`hparams.lr`, `metrics.loss`); all are sent without it.
        """
        query = {**_filters(workspaces, experiment, where, in_bin), "sort": sort, "limit": limit, "after": after}
        page = self._transport().get(Page[RunRecord], "runs", {**query, "columns": list(columns or ())})
        return Page(tuple(map(self._served, page.items)), page.next)

    def iterate(
        self,
        *,
        workspaces: RunNames | None = None,
        experiment: str | None = None,
        where: str | None = None,
        sort: str | None = None,
        columns: Sequence[str] | None = None,
        in_bin: bool = False,
    ) -> Iterator[ServedRun]:
        """All runs that `list` would show, page after page."""
        return on_all_pages(
            lambda after: self.list(
                workspaces=workspaces,
                experiment=experiment,
                where=where,
                sort=sort,
                limit=_PAGE,
                after=after,
                columns=columns,
                in_bin=in_bin,
            )
        )

    def count(
        self,
        *,
        workspaces: RunNames | None = None,
        experiment: str | None = None,
        where: str | None = None,
        in_bin: bool = False,
    ) -> int:
        """How many runs `list` would show on all its pages."""
        query = _filters(workspaces, experiment, where, in_bin)
        return self._transport().get(RunCount, "run-count", query).count

    def get(self, run: str) -> ServedRun:
        """A run with everything that is known of it, also when it is in the bin."""
        return self._served(self._transport().get(RunRecord, f"runs/{quote_path_part(run)}"))

    def select(
        self,
        words: RunNames = (),
        *,
        where: str | None = None,
        workspace: str = "",
        numbers: NumberKind = NumberKind.RUN,
        in_bin: bool = False,
        exact: bool = False,
    ) -> SelectionResult:
        """The runs that words as `run343`, `exp7`, `run10-run20`, `ws1/base*` or a store mean; see docs/selections.md.

        With `where`, only those for which that filter holds. `workspace` is meant where a name has none, and `numbers`
        where a number stands alone. `job2300` may be the name of an experiment while there is no such number, unless
        `exact`; `name:job2300` always is.
        """
        if where is not None and not where.strip():
            raise InvalidValue("the filter is empty", hint="a filter that says nothing would select every run")
        asked = SelectionRequest(
            words=tuple(map(resolve_folder, split_words(as_tuple(words)))),
            where=where or "",
            zone=utc_offset_minutes(),
            workspace=workspace,
            numbers=numbers,
            in_bin=in_bin,
            exact=exact,
        )
        return self._transport().send(SelectionResult, "POST", "selections/resolve", asked)

    def fields(self, *, workspaces: RunNames | None = None) -> FieldNames:
        """Names of all hyperparameters, metrics and tags that runs have: for columns, filters and orders."""
        return self._transport().get(FieldNames, "fields", {"workspace": as_tuple(workspaces or ())})

    def field_values(
        self, field: str, *, workspaces: RunNames | None = None, prefix: str = "", limit: int = 20
    ) -> tuple[FieldValue, ...]:
        """Values that runs have in a field, as a filter writes them, the most frequent first."""
        query = {"field": field, "workspace": as_tuple(workspaces or ()), "prefix": prefix, "limit": limit}
        return self._transport().get(FieldValues, "field-values", query).items

    def metrics(self, run: str) -> Mapping[str, MetricSummary]:
        """Last, smallest and largest value of each metric of a run."""
        return self.get(run).metrics

    def annotations(self, runs: RunNames) -> Annotations:
        """What `RunRecord.log_event` noted in these runs."""
        return self._transport().get(Annotations, "annotations", {"run": as_tuple(runs)})

    def compare(self, first: str, second: str) -> Comparison:
        return self._transport().get(Comparison, "comparison", {"run": [first, second]})

    def tag(
        self, runs: RunNames, tags: Mapping[str, str] | Sequence[str] = (), *, remove: Sequence[str] = ()
    ) -> RunsChanged:
        """Give tags, with values or bare, to runs, and take others away."""
        given = dict(tags) if isinstance(tags, Mapping) else dict.fromkeys(tags, "")
        return self._change(RunChange(runs=as_tuple(runs), set_tags=given, remove_tags=tuple(remove)))

    def note(self, runs: RunNames, text: str, *, author: str | None = None) -> RunsChanged:
        """Write a note about runs; those that are there stay."""
        return self._change(RunChange(runs=as_tuple(runs), note=text, author=_user() if author is None else author))

    def rename(self, run: str, name: str) -> RunRecord:
        """Give a run another name; its number stays."""
        return self._change(RunChange(runs=(run,), name=name)).items[0]

    def move(self, runs: RunNames, *, workspace: str | None = None, experiment: str | None = None) -> RunsChanged:
        """Move runs to another workspace or experiment; an empty experiment takes them out of theirs."""
        return self._change(RunChange(runs=as_tuple(runs), workspace=workspace, experiment=experiment))

    def delete(self, runs: RunNames, *, files: bool = False) -> RunsChanged:
        """Put runs into the bin; with `files` delete all that is theirs in the store, for good."""
        return self._transport().send(
            RunsChanged, "POST", "runs/delete", RunBatch(runs=as_tuple(runs), files=files), timeout=_LONG_SECONDS
        )

    def restore(self, runs: RunNames) -> RunsChanged:
        """Take runs out of the bin."""
        return self._transport().send(RunsChanged, "POST", "runs/restore", RunBatch(runs=as_tuple(runs)))

    def usage(self, *, by: str = "workspace", workspaces: RunNames | None = None, in_bin: bool = False) -> Usage:
        """Storage that runs take, by workspace, experiment, user, store or status."""
        query = {"by": by, "workspace": as_tuple(workspaces or ()), "bin": in_bin}
        return self._transport().get(Usage, "usage", query)

    def retain(self, asked: RetentionRequest) -> RetentionResult:
        """Delete what is no longer to be kept; with `asked.dry_run`, the default, only tell what that would be."""
        return self._transport().send(RetentionResult, "POST", "retention", asked, timeout=_LONG_SECONDS)

    def register(self, new: NewRun) -> RunRecord:
        """Have a run known before it begins: it comes back with its number, and a name where it had none."""
        return self._transport().send(RunRecord, "POST", "runs", new)

    def heartbeat(self, uid: str) -> RunState:
        """Give a sign of life for a run; the answer says whether it was ended meanwhile."""
        return self._transport().send(HeartbeatResponse, "POST", f"runs/{quote_path_part(uid)}/heartbeat").status

    def _change(self, change: RunChange) -> RunsChanged:
        return self._transport().send(RunsChanged, "PATCH", "runs", change, timeout=_LONG_SECONDS)


def _filters(workspaces: RunNames | None, experiment: str | None, where: str | None, in_bin: bool) -> dict[str, object]:
    names = as_tuple(workspaces or ())
    asked: dict[str, object] = {"workspace": names, "experiment": experiment, "where": where, "bin": in_bin}
    # Times that a person writes into a filter are those of their own clock.
    return {**asked, "zone": utc_offset_minutes()} if where else asked


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
