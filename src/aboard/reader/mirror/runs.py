# SPDX-License-Identifier: Apache-2.0
"""The runs of a store that have manifests: finds them, polls each at its own pace, and copies what is new.

Manifests of live runs are polled, those of sealed runs never. New runs are listed from the last uid seen, less often
while there are none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from aboard.errors import StorageUnavailable, StoreError
from aboard.reader.mirror.copies import CopiedFile, CopyFolder
from aboard.reader.mirror.discovery import DiscoveredRun, StoreScope
from aboard.reader.mirror.fetching import RangeFetcher, TaskPool
from aboard.reader.mirror.polling import PollSchedule, ProblemLog, StoreFailures
from aboard.reader.mirror.run_copy import RunCopy
from aboard.store.run.run_folder import RunFolder

_PAUSE, _QUIET_PAUSE, _SILENT_PAUSE = 1.0, 3.0, 60.0
_SILENT_SECONDS = 300.0  # without a sign of life, which comes every 20 s
_LISTING_PAUSE, _LONGEST_LISTING_PAUSE = 5.0, 60.0


class RunFollower:
    """`find` lists what is new, `copy` brings it here. `name` is called with each run before its files appear."""

    def __init__(
        self,
        scope: StoreScope,
        copies: CopyFolder,
        fetching: RangeFetcher,
        problems: ProblemLog,
        failures: StoreFailures,
        work: TaskPool,
        name: Callable[[RunCopy], None],
        *,
        with_summaries: bool,
    ) -> None:
        self._scope, self._copies, self._fetching, self._problems = scope, copies, fetching, problems
        self._failures, self._work, self._name = failures, work, name
        self._with_summaries = with_summaries
        self._known: dict[str, RunCopy] = {}
        self._paces: dict[str, PollSchedule] = {}
        self._interval = 0.0
        self._listing = PollSchedule(_LISTING_PAUSE, _LONGEST_LISTING_PAUSE, 2.0)
        self._is_listed = False
        self.pending = 0
        """Runs that are known and not copied yet."""

    def resume(self, key: str, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied of a run."""
        found = DiscoveredRun.of(key)
        self._scope.add_root(found.above)
        run = self._add(found)
        run.resume(document)
        self._name(run)

    def pace(self, interval: float) -> None:
        """From now on nothing is asked more often than this, in seconds."""
        self._interval = interval
        self._paces = {key: self._new_pace() for key in self._paces}
        self._listing = PollSchedule(max(interval, _LISTING_PAUSE), _LONGEST_LISTING_PAUSE, 2.0)

    @property
    def next_at(self) -> float:
        return min([self._listing.due_at, *(pace.due_at for pace in self._paces.values())])

    @property
    def has_copies(self) -> bool:
        return any(run.is_copied for run in self._known.values())

    def get(self, key: str) -> RunCopy | None:
        return self._known.get(key)

    def unit_of(self, file: CopiedFile) -> RunCopy | None:
        return next((run for run in self._known.values() if run.has(file)), None)

    def find(self, *, at_once: bool) -> None:
        """Look for new and announced runs, if it is time."""
        if not at_once and not self._listing.is_due():
            return
        found = self._scope.runs()
        news = False
        for run in found:
            if run.key not in self._known:
                self._add(run)
                news = True
            if self._known[run.key].is_announced(self._scope.announcements_of(run)):
                self._paces[run.key].at_once()
                news = True
        if not self._is_listed:
            self._is_listed = True
            self._drop_all_but({run.key for run in found})
        if news:
            self._listing.changed()
        else:
            self._listing.unchanged()

    def copy(self, *, everything: bool) -> int:
        """Ask those whose time has come, or all, and copy what they have; how many were asked.

        Who wants everything waits for all of them.
        """
        due = [run for key, run in self._known.items() if everything or self._paces[key].is_due()]
        return self._copy(due, patient=everything)

    def copy_new(self, *, patient: bool) -> int:
        """Copy those of which nothing is here yet; how many were asked."""
        return self._copy([run for run in self._known.values() if not run.is_copied], patient=patient)

    def _add(self, run: DiscoveredRun) -> RunCopy:
        folder = RunFolder(self._scope.store_at(run.above), run.uid)
        copy = RunCopy(folder, run.above, self._copies, self._fetching, self._problems)
        self._known[run.key] = copy
        self._paces[run.key] = self._new_pace()
        return copy

    def _new_pace(self) -> PollSchedule:
        return PollSchedule(max(self._interval, _PAUSE), _QUIET_PAUSE)

    def _drop_all_but(self, keys: set[str]) -> None:
        """Of runs that an earlier process copied, those that are no longer there go."""
        for key in self._known.keys() - keys:
            self._known.pop(key).drop()
            self._paces.pop(key)

    def _copy(self, due: list[RunCopy], *, patient: bool) -> int:
        """First what the documents say, then names in the order of uids, then the files.

        Who is not patient waits a moment for the slow ones, which then come when they come.
        """
        idle = (run for run in due if not self._is_finished(run) and not self._work.is_busy(run.key))
        due = sorted(idle, key=lambda run: run.key)
        self.pending = len(due)
        looks = {run.key: self._work.submit(self._looked, run) for run in due}
        late = self._work.late(looks.values(), patient=patient)
        fresh: list[RunCopy] = []
        for run in due:
            look = looks[run.key]
            if look in late:
                self._work.leave_alone(run.key, look, partial(self._came_late, run))
                continue
            if run.manifest is not None or run.described is not None or look.result():
                self._name(run)
            if look.result():
                fresh.append(run)
        self.pending = len(fresh)
        fetches = {run.key: self._work.submit(self._fetched, run) for run in fresh}
        late = self._work.late(fetches.values(), patient=patient)
        for key, fetch in fetches.items():
            if fetch in late:
                self._work.leave_alone(key, fetch)
        return len(due)

    def _came_late(self, run: RunCopy, is_new: bool) -> None:
        if is_new:
            self._name(run)
            self._fetched(run)

    def _is_finished(self, run: RunCopy) -> bool:
        announcements = self._scope.announcements_of(DiscoveredRun.of(run.key))
        lacks_summary = self._with_summaries and not run.has_summary
        if run.is_done and not run.is_announced(announcements) and not lacks_summary:
            self._paces[run.key].never()
            return True
        return False

    def _looked(self, run: RunCopy) -> bool:
        """Whether there is something to fetch."""
        if self._failures.gives_up:
            return False
        pace = self._paces[run.key]
        try:
            announcements = self._scope.announcements_of(DiscoveredRun.of(run.key))
            is_new = run.look(announcements, with_summary=self._with_summaries)
        except (StoreError, StorageUnavailable) as error:
            self._failures.failed(run.key, error)
            pace.unchanged(_SILENT_PAUSE)
            return False
        self._failures.succeeded(run.key)
        if is_new:
            pace.changed()
        else:
            alive = run.manifest.alive.timestamp() if run.manifest else 0.0
            pace.unchanged(_SILENT_PAUSE if time.time() - alive > _SILENT_SECONDS else _QUIET_PAUSE)
        if run.is_done:
            pace.never()
        return is_new

    def _fetched(self, run: RunCopy) -> None:
        if self._failures.gives_up:
            return
        pace = self._paces[run.key]
        try:
            run.fetch()
        except (StoreError, StorageUnavailable) as error:
            self._failures.failed(run.key, error)
            pace.unchanged(_SILENT_PAUSE)
            return
        self._failures.succeeded(run.key)
        if run.is_done:
            pace.never()
        self.pending -= 1
