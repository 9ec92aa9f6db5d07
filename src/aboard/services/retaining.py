# SPDX-License-Identifier: Apache-2.0
"""Rules of what is no longer to be kept. Runs of which more is expected are never touched."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from aboard.api.page import on_all_pages
from aboard.api.runs import RetentionAsked, RetentionResult
from aboard.catalog.catalog import SeenCatalog
from aboard.errors import InvalidValue
from aboard.model.access import Access
from aboard.model.query.parser import parse_query
from aboard.model.run import Run
from aboard.model.times import now
from aboard.model.user import Role
from aboard.services.run_changes import RunChanges
from aboard.services.run_edits import is_live

_PAGE = 1000
_LONGEST_SECONDS = 100 * 366 * 86400


def retain(access: Access, catalog: SeenCatalog, changes: RunChanges, asked: RetentionAsked) -> RetentionResult:
    """Delete what a rule names; with `dry_run` only tell it. It is about workspaces in which one may delete so."""
    if not (asked.where or asked.older_than_seconds is not None or asked.keep_newest):
        raise InvalidValue(
            "this rule would delete every run", hint="say which: where, older_than_seconds or keep_newest"
        )
    if asked.keep_newest < 0:
        raise InvalidValue(f"keep_newest is {asked.keep_newest}", hint="it begins at 0")
    if asked.older_than_seconds is not None and not 0 <= asked.older_than_seconds <= _LONGEST_SECONDS:
        raise InvalidValue(f"older_than_seconds is {asked.older_than_seconds}", hint=f"use 0 to {_LONGEST_SECONDS}")
    role = Role.ADMIN if asked.files else Role.EDITOR
    for name in asked.workspaces:
        access.check(role, catalog.workspaces.get(name).name)
    chosen = [run for run in _chosen(catalog, asked) if access.may(role, run.workspace)]
    size = sum(run.bytes or 0 for run in chosen)
    if asked.dry_run or not chosen:
        return RetentionResult(dry_run=asked.dry_run, items=tuple(chosen), bytes=size)
    if asked.in_bin and not asked.files:
        raise InvalidValue("these runs are in the bin already", hint="give files=true to delete them for good")
    edited = changes.delete(chosen, files=asked.files)
    gone = {run.uid for run in edited.runs}
    kept_size = sum(run.bytes or 0 for run in chosen if run.uid not in gone)
    return RetentionResult(
        dry_run=False, items=tuple(edited.runs), bytes=size - kept_size, problems=tuple(edited.problems)
    )


def _chosen(catalog: SeenCatalog, asked: RetentionAsked) -> list[Run]:
    where = parse_query(asked.where, words=False) if asked.where else None
    before = None if asked.older_than_seconds is None else now() - timedelta(seconds=asked.older_than_seconds)
    seen: Counter[tuple[str, str | None]] = Counter()
    chosen: list[Run] = []
    newest_first = on_all_pages(
        lambda after: catalog.runs.list(
            workspaces=asked.workspaces or None,
            where=where,
            limit=_PAGE,
            after=after,
            in_bin=asked.in_bin,
            hparams=(),
            metrics=(),
        )
    )
    for run in newest_first:
        seen[run.workspace, run.experiment] += 1
        is_new = seen[run.workspace, run.experiment] <= asked.keep_newest
        if not is_new and not is_live(run) and (before is None or _last_heard(run, asked.in_bin) < before):
            chosen.append(run)
    return chosen


def _last_heard(run: Run, in_bin: bool) -> datetime:
    if in_bin and run.deleted is not None:
        return run.deleted
    return run.ended or run.heartbeat or run.started or run.created
