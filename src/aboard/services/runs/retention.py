# SPDX-License-Identifier: Apache-2.0
"""Retention: rules that delete old runs, on request and as a background task.

Live runs are never deleted, and neither are files of read-only sources. The background task applies the rules of the
configuration soon after the start of a server and then every hour. Of several servers of one catalog the one with the
lease does so; a server that takes over the lease starts soon, because it cannot know how far the other came. Applying a
rule twice does no harm.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from aboard.api.runs import RetentionRequest, RetentionResult
from aboard.api.wire import on_all_pages
from aboard.catalog.catalog import VisibleCatalog
from aboard.errors import AboardError, InvalidValue
from aboard.model.people import Access, Role
from aboard.model.query.parser import parse_query
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.services.periodic_task import PeriodicTask
from aboard.services.runs.editing import RunEdits, is_live

_PAGE = 1000
_LONGEST_SECONDS = 100 * 366 * 86400


def retain(access: Access, catalog: VisibleCatalog, changes: RunEdits, asked: RetentionRequest) -> RetentionResult:
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


def _chosen(catalog: VisibleCatalog, asked: RetentionRequest) -> list[RunRecord]:
    where = parse_query(asked.where, words=False) if asked.where else None
    before = None if asked.older_than_seconds is None else now() - timedelta(seconds=asked.older_than_seconds)
    seen: Counter[tuple[str, str | None]] = Counter()
    chosen: list[RunRecord] = []
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
        is_kept = is_new or is_live(run) or (asked.files and run.is_read_only)
        if not is_kept and (before is None or _last_heard(run, asked.in_bin) < before):
            chosen.append(run)
    return chosen


def _last_heard(run: RunRecord, in_bin: bool) -> datetime:
    if in_bin and run.deleted is not None:
        return run.deleted
    return run.ended or run.heartbeat or run.started or run.created


ACTOR = "retention"  # who is told to have deleted a run
_FIRST_AFTER = 60.0  # what the stores have is known by then, for the most part
_EVERY = 3600.0
_LOOK_SECONDS = 2.0  # whether the lease has come here
_log = logging.getLogger("aboard.services")


class RetentionTask:
    """Calls `retain` for each rule, in the background. Raises QueryError at once for a rule with an invalid filter."""

    def __init__(
        self,
        retain: Callable[[RetentionRequest], RetentionResult],
        rules: Sequence[RetentionRequest],
        *,
        is_ours: Callable[[], bool] = lambda: True,
        first_after: float = _FIRST_AFTER,
        every: float = _EVERY,
        chores: Sequence[Callable[[], None]] = (),
    ) -> None:
        """`chores` are done after the rules, also where there are none."""
        for rule in rules:
            if rule.where:
                parse_query(rule.where, words=False)
        self._retain, self._is_ours = retain, is_ours
        self._chores = tuple(chores)
        self._rules = [replace(rule, dry_run=False) for rule in rules]
        self._every = every
        self._task = PeriodicTask(
            "aboard-retention",
            self._round,
            looks_after="rules of retention",
            rest_after_failure=every,
            first_after=first_after,
        )
        if rules or chores:
            self._task.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._task.stop()

    def _round(self) -> float:
        rest = self._every if self._is_ours() else min(self._every, _LOOK_SECONDS)
        for rule in self._rules:
            if not self._task.is_stopped and self._is_ours():
                self._apply(rule)
        for chore in self._chores:
            if not self._task.is_stopped and self._is_ours():
                chore()
        return rest

    def _apply(self, rule: RetentionRequest) -> None:
        try:
            result = self._retain(rule)
        except AboardError as error:
            _log.warning("A rule of retention failed, and is tried again later: %s", error)
            return
        except Exception:
            _log.exception("A rule of retention failed for a reason that is a mistake in aboard; it is tried again.")
            return
        if result.items:
            how = "deleted for good" if rule.files else "put into the bin"
            _log.info("Retention: %d runs with %d bytes were %s.", len(result.items), result.bytes, how)
        for problem in result.problems:
            _log.warning("Retention: %s", problem)
