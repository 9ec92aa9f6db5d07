# SPDX-License-Identifier: Apache-2.0
"""Follows a read-only source: its runs, and what is new in them, become rows of the catalog.

Nothing is written into the source. A run is known by its path below the source, so it keeps its number over restarts.
Runs whose files are gone are moved to the trash, and come back when their files do. Of several server processes the
one with the lease of a source follows it, and tells the others its status.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, cast

from aboard.api.server import StoreStatus
from aboard.api.wire import from_wire, to_wire
from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.index import IndexCache
from aboard.services.boards.folders import AllowedFolder
from aboard.services.folders.folder_run import FolderRun
from aboard.services.folders.source import FolderSource, run_uid
from aboard.services.leases import Lease
from aboard.services.periodic_task import PeriodicTask
from aboard.services.read_only_source import Source
from aboard.services.stores.indexing import RunIndexer, parts

_log = logging.getLogger("aboard.services")
_RELOAD_SECONDS = 10.0
"""The summary of a live run is written at most that often; its curves are read from its files."""
_LONGEST_PAUSE = 60.0
_SHARE, _LONGEST_REST = 20, 10.0


class _Written(NamedTuple):
    """What the catalog was told of a run."""

    version: int
    status: RunState
    stored: RunRecord | None
    at: float


@dataclass(slots=True)
class _OpenSource:
    """A source that is being read."""

    runs: FolderSource
    follower: Follower
    unseen: dict[str, int]
    """Numbers by uid of the runs that the catalog has, and that were not found yet."""

    @property
    def is_complete(self) -> bool:
        """Whether all that is there has been read once."""
        return self.runs.collection.progress.cycles > 0

    def close(self) -> None:
        # A bucket that does not answer is not waited for.
        threading.Thread(target=self.follower.stop, name="aboard-source-end", daemon=True).start()


class SourceFollower:
    """Keeps the catalog up to date with one source, on a thread of its own."""

    def __init__(
        self,
        catalog: Catalog,
        indexer: RunIndexer,
        source: Source,
        find: Callable[[str], AllowedFolder],
        *,
        interval: float,
        lease: Callable[[str, Callable[[], Mapping[str, Any]]], Lease] = lambda name, _: Lease(name, is_ours=True),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`find` raises for a folder that is not there."""
        self.source = source
        self._catalog, self._indexer, self._find = catalog, indexer, find
        self._interval, self._monotonic = interval, monotonic
        self._open: _OpenSource | None = None
        self._written: dict[str, _Written] = {}
        self._uids: dict[FolderRun, str] = {}
        self._problem = ""
        self._seen: datetime | None = None
        self._waiting = self._live = 0
        self._is_settled = False
        """Whether all that is there was read before the last look."""
        self._pause = interval
        self._lease = lease(f"source {source.uri}", self._facts)
        self._task = PeriodicTask(
            f"aboard-source {source.uri}",
            self._follow,
            looks_after=f"runs of {source.uri}",
            rest_after_failure=interval,
        )

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def look_now(self) -> None:
        """Look at once; does not wait for it."""
        self._task.wake()

    def stop(self) -> None:
        """End after what is being done."""
        self._task.stop()

    def join(self, seconds: float) -> None:
        """Wait for the end, but no longer than this."""
        end = time.monotonic() + seconds
        self._task.join(seconds)
        if (opened := self._open) is not None:
            ending = threading.Thread(target=opened.follower.stop, name="aboard-source-end", daemon=True)
            ending.start()
            ending.join(max(0.0, end - time.monotonic()))

    def status(self) -> StoreStatus:
        """How the source stands, for whichever process follows it."""
        facts = self._lease.holder_facts
        if not self._lease.is_held and facts:
            return from_wire(StoreStatus, facts)
        return self._own_status()

    def _facts(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", to_wire(self._own_status()))

    def _own_status(self) -> StoreStatus:
        return StoreStatus(
            uri=self.source.uri,
            state="failing" if self._problem else ("following" if self._seen else "starting"),
            live=self._live,
            waiting=self._waiting,
            seen=self._seen,
            problem=self._problem,
            read_only=True,
        )

    def _follow(self) -> float:
        if not self._lease.is_held:
            self._close()
            self._is_settled = False
            return self._interval
        began, is_out_of_reach = self._monotonic(), True
        try:
            problem = self.look()
            is_out_of_reach = False
        except AboardError as error:
            problem = error.message
        except Exception as error:  # the thread must live: what is wrong now may be right later
            _log.exception("Following %s failed", self.source.uri)
            problem = f"{type(error).__name__}: {error}"
        if problem and problem != self._problem:
            _log.warning("%s", problem)
        self._problem = problem
        if is_out_of_reach:
            self._pause = min(max(self._pause, self._interval) * 2, _LONGEST_PAUSE)
            return self._pause
        self._seen = self._seen if problem else now()
        self._pause = max(self._interval, min(_SHARE * (self._monotonic() - began), _LONGEST_REST))
        return self._pause if self._is_settled else self._interval

    def look(self) -> str:
        """Write what is new in the source; returns what is wrong with it."""
        self._find(self.source.given)  # a folder that is gone or cannot be read says nothing about its runs
        opened = self._open or self._begin()
        self._is_settled = is_complete = opened.is_complete
        runs = {self._uid(run): run for run in opened.runs.runs()}
        self._write(opened, runs, is_complete=is_complete)
        problems = opened.runs.collection.store_problems
        if is_complete:
            self._miss(opened, runs, was_read=not problems)
        return problems[0] if problems else ""

    def _begin(self) -> _OpenSource:
        root, within = self._find(self.source.given)
        known = {uid: run.number for uid, run in self._catalog.runs.of_store(self.source.uri).items()}
        collection = RunCollection({"": root}, cache=IndexCache.default(), within=within)
        # What is complete must be what is listed.
        runs = FolderSource(collection, home=None, title=self.source.name, fresh_seconds=0.0)
        opened = _OpenSource(runs, Follower(collection, self._interval), known)
        self._written, self._uids = {}, {}
        self._open = opened
        opened.follower.start()
        return opened

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _uid(self, run: FolderRun) -> str:
        found = self._uids.get(run)
        if found is None:
            found = self._uids[run] = run_uid(self.source.uri, run.path)
        return found

    def _write(self, opened: _OpenSource, runs: Mapping[str, FolderRun], *, is_complete: bool) -> None:
        # Until all was read once, a run that the catalog knows may look as if it had lost points.
        due = {
            uid: run
            for uid, run in runs.items()
            if (is_complete or (run.version > 0 and uid not in opened.unseen)) and self._is_due(uid, run)
        }
        self._live = sum(not run.status.is_ended for run in runs.values())
        self._waiting = len(due)
        for part in parts(sorted(due.items(), key=lambda one: one[1].created)):
            if self._task.is_stopped:
                return
            self._write_part(part)
            self._waiting -= len(part)

    def _write_part(self, part: Sequence[tuple[str, FolderRun]]) -> None:
        at = self._monotonic()
        written = {uid: _Written(run.version, run.status, run.stored, at) for uid, run in part}
        self._indexer.put_many([self._record(uid, run) for uid, run in part])
        self._written |= written

    def _is_due(self, uid: str, run: FolderRun) -> bool:
        known = self._written.get(uid)
        if known is None or known.status is not run.status or known.stored is not run.stored:
            return True
        return known.version != run.version and self._monotonic() - known.at >= _RELOAD_SECONDS

    def _record(self, uid: str, run: FolderRun) -> RunRecord:
        """As a row of the catalog: without what the documents of another catalog say of places in it."""
        return replace(
            run.record(),
            uid=uid,
            number=None,
            workspace=self.source.workspace,
            experiment=None,
            store=self.source.uri,
            source_path=run.folder or ".",
            revision=None,
        )

    def _miss(self, opened: _OpenSource, runs: Mapping[str, FolderRun], *, was_read: bool) -> None:
        """Move runs to the trash whose files are gone; where not all was read, only those that were seen before."""
        gone = self._written.keys() - runs.keys()
        numbers = [number for uid, number in opened.unseen.items() if uid not in runs] if was_read else []
        if gone:
            known = self._catalog.runs.of_store(self.source.uri)
            numbers += [known[uid].number for uid in gone if uid in known]
        opened.unseen = {} if was_read else opened.unseen
        for number in self._catalog.bin.delete_missing(numbers) if numbers else ():
            self._indexer.noticed(self._catalog.runs.get(number))
        self._written = {uid: one for uid, one in self._written.items() if uid in runs}
        self._uids = {run: uid for uid, run in runs.items()}
