# SPDX-License-Identifier: Apache-2.0
"""Follows a store: finds new runs, reads runs that were announced as changed, and watches live runs.

A round lists what is new since the last one, and sends a conditional GET for the manifest of each run that is not
sealed. A store that fails is asked less and less often, up to once a minute, and nothing known of it is forgotten.
Of several server processes the one with the lease of a store follows it, and tells the others its status.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from aboard.api.server import StoreStatus
from aboard.api.wire import from_wire, to_wire
from aboard.catalog.catalog import Catalog
from aboard.catalog.runs.runs import KnownRun
from aboard.errors import AboardError, Conflict, DamagedDocument, NoSuchStore, UnknownName
from aboard.model.names import uid_time
from aboard.model.states import RunState
from aboard.model.times import now, time_text
from aboard.services.leases import Lease
from aboard.services.periodic_task import PeriodicTask
from aboard.services.stores.indexing import RunIndexer, parts
from aboard.store.run.listing import CLOCK_DIFFERENCE, RunListing
from aboard.store.run.loading import LoadedRun
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

LOST_SECONDS = 90.0
"""Without any sign of life for so long a run is lost; one comes every 20 s. By the clock of this machine alone."""
LONG_AGO = timedelta(hours=1)
"""A sign of life older than this is not waited for: clocks of machines differ less."""
_RELOAD_SECONDS = 10.0  # summaries are written at most that often
_QUIET_SECONDS = 600.0
_SLOW_SECONDS = 60.0


@dataclass(slots=True)
class WatchedRun:
    """What is remembered between two looks."""

    uid: str
    monotonic: Callable[[], float] = time.monotonic
    etag: str = ""
    status: RunState = RunState.CREATED
    attempt: int = 0
    heard: float = field(init=False)
    """When the manifest last changed, as seen from here."""
    looked: float = float("-inf")
    loaded: float = float("-inf")
    is_stale: bool = False
    """Whether the manifest has changed since the run was last read as a whole."""

    def __post_init__(self) -> None:
        self.heard = self.monotonic()

    def is_due(self) -> bool:
        """Whether to ask for it in this round: runs of which nothing was heard for long are asked for less often."""
        silence = self.monotonic() - self.heard
        is_quiet = self.status is not RunState.RUNNING or silence > _QUIET_SECONDS
        every = _SLOW_SECONDS if is_quiet and silence > _SLOW_SECONDS else 0.0
        return self.monotonic() - self.looked >= every

    def is_worth_reading(self) -> bool:
        """Whether to read all of it again."""
        return self.is_stale and self.monotonic() - self.loaded >= _RELOAD_SECONDS

    def is_lost(self) -> bool:
        """Whether it should have given a sign of life."""
        return self.status is RunState.RUNNING and self.monotonic() - self.heard > LOST_SECONDS

    def hear(self, alive: datetime | None = None) -> None:
        """Note a sign of life; one that was given long ago is as good as none."""
        if alive is not None and now() - alive > LONG_AGO:
            self.heard = self.monotonic() - LOST_SECONDS - 1
        else:
            self.heard = self.monotonic()


_log = logging.getLogger("aboard.services")
_AT_ONCE = 16
_LONGEST_PAUSE = 60.0
_SHARE, _LONGEST_REST = 20, 10.0
_LEASE_SECONDS = 1.0
_BEING_MADE = timedelta(minutes=1)
_MAY_STILL_SHIP = timedelta(days=7)
"""How long after its end a run is asked for when the server starts: what was left may be shipped later."""


class StoreFollower:
    """Keeps the catalog up to date with one store, on a thread of its own."""

    def __init__(
        self,
        catalog: Catalog,
        indexer: RunIndexer,
        store: Store,
        *,
        interval: float,
        may_be_missing: bool = False,
        lease: Callable[[str, Callable[[], Mapping[str, Any]]], Lease] = lambda name, _: Lease(name, is_ours=True),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self._catalog, self._indexer = catalog, indexer
        self._interval = interval
        self._may_be_missing = may_be_missing
        self._monotonic = monotonic
        self._begin_anew()
        self._problem = ""
        self._seen: datetime | None = None
        self._rounds = 0
        self._is_looking = self._is_asked = self._is_following = False
        self._round_began = self._round_took = 0.0
        self._state = threading.Condition()
        self._lease = lease(f"store {store.uri}", self._facts)
        self._pause = interval
        self._task = PeriodicTask(
            f"aboard-follow {store.uri}", self._follow, looks_after=f"runs of {store.uri}", rest_after_failure=interval
        )

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def stop(self) -> None:
        """End after what is being done."""
        self._task.stop()

    def join(self, seconds: float) -> None:
        """Wait for the end, but no longer than this."""
        self._task.join(seconds)

    def status(self) -> StoreStatus:
        """How the store stands, for whichever process follows it."""
        facts = self._lease.holder_facts
        if not self._lease.is_held and facts:
            return from_wire(StoreStatus, facts)
        return self._own_status()

    def _facts(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", to_wire(self._own_status()))

    def _own_status(self) -> StoreStatus:
        with self._state:
            state = "failing" if self._problem else ("following" if self._seen else "starting")
            return StoreStatus(
                uri=self.store.uri,
                state=state,
                live=len(self._watched),
                waiting=len(self._waiting),
                seen=self._seen,
                problem=self._problem,
                damaged=dict(self._damaged),
            )

    def look_now(self, seconds: float) -> None:
        """Wait until the store was looked at once more, for at most so long."""
        with self._state:
            # A round that is under way may have listed already; the one after it has not.
            wanted = self._rounds + (2 if self._is_looking else 1)
            self._is_asked = True
            self._task.wake()
            if self._round_takes() > seconds:
                return  # as when thousands of runs are read for the first time
            self._state.wait_for(lambda: self._rounds >= wanted, seconds)

    def heard_of(self, uid: str) -> None:
        """Note a sign of life that came another way."""
        if (watched := self._watched.get(uid)) is not None:
            watched.hear()

    def forget(self, uid: str) -> None:
        """Look no more at a run that is gone."""
        self._watched.pop(uid, None)
        self._damaged.pop(uid, None)

    def _round_takes(self) -> float:
        """Seconds that the round under way has taken so far, or the last took; if that failed, the longer of both."""
        so_far = self._monotonic() - self._round_began if self._is_looking else self._round_took
        return max(so_far, self._round_took) if self._problem else so_far

    def _follow(self) -> float:
        if not self._is_ours():
            return min(self._interval, _LEASE_SECONDS)
        if self._round():
            self._pause = min(max(self._pause, self._interval) * 2, _LONGEST_PAUSE)
        else:
            # A folder with very many runs takes long to list; it should not cost more than a part of a core.
            self._pause = max(self._interval, min(_SHARE * self._round_took, _LONGEST_REST))
        return self._pause

    def _is_ours(self) -> bool:
        """Whether to look in this round: by the lease, or because somebody here asks for it."""
        was_asked, self._is_asked = self._is_asked, False
        if self._lease.is_held and not self._is_following:
            self._begin_anew()  # what was known here may be long out of date
        self._is_following = self._lease.is_held
        return self._is_following or was_asked

    def _begin_anew(self) -> None:
        self._listing = RunListing(self.store)
        self._watched: dict[str, WatchedRun] = {}
        self._waiting: list[str] = []
        self._damaged: dict[str, str] = {}
        self._is_first_look = True

    def _round(self) -> str:
        problem = ""
        self._round_began = self._monotonic()
        self._is_looking = True
        try:
            self.look()
        except NoSuchStore as error:
            problem = "" if self._may_be_missing else error.message
        except AboardError as error:
            problem = error.message
        except Exception as error:  # the thread must live: what is wrong with one run is no reason to miss the others
            _log.exception("Following %s failed", self.store.uri)
            problem = f"{type(error).__name__}: {error}"
        if problem and problem != self._problem:
            _log.warning("%s", problem)
        with self._state:
            self._is_looking = False
            self._round_took = self._monotonic() - self._round_began
            self._problem = problem
            self._rounds += 1
            if not problem:
                self._seen = now()
            self._state.notify_all()
        return problem

    def look(self) -> None:
        """One round."""
        fresh = self._listing.new()
        if fresh:
            # Listed once, told once: what a failing store keeps from being read stays in line.
            known = self._catalog.runs.of_store(self.store.uri) if self._is_first_look else {}
            wanted = [uid for uid in fresh if uid in self._listing.announced or _is_of_interest(known.get(uid))]
            self._waiting = sorted({*self._waiting, *wanted})
        self._is_first_look = False
        self._read_waiting()
        self._ask_watched()
        if self._lease.is_held:
            self._tell_lost()

    def _read_waiting(self) -> None:
        for part in parts(list(self._waiting)):
            if self._task.is_stopped:
                return
            done = set(part) - self._read(part)
            self._waiting = [uid for uid in self._waiting if uid not in done]

    def _read(self, uids: Sequence[str]) -> set[str]:
        """Read runs and put them; those that are just being made are to be read again."""
        unborn: set[str] = set()
        for loaded in self._indexer.index(self.store, uids):
            if loaded.is_missing and -CLOCK_DIFFERENCE < now() - uid_time(loaded.uid) < _BEING_MADE:
                unborn.add(loaded.uid)
            elif loaded.is_gone:
                self.forget(loaded.uid)
            else:
                self._remember(loaded)
        return unborn

    def _remember(self, loaded: LoadedRun) -> None:
        if loaded.problems:
            self._damaged[loaded.uid] = " ".join(loaded.problems)
        else:
            self._damaged.pop(loaded.uid, None)
        if loaded.manifest is not None and loaded.manifest.manifest.sealed and not loaded.problems:
            self._watched.pop(loaded.uid, None)
            return
        is_first = loaded.uid not in self._watched
        watched = self._watched.setdefault(loaded.uid, WatchedRun(loaded.uid, self._monotonic))
        watched.loaded, watched.is_stale = self._monotonic(), False
        if loaded.manifest is not None:
            if not is_first and loaded.manifest.etag != watched.etag:
                watched.hear()
            watched.etag, watched.attempt = loaded.manifest.etag, loaded.manifest.manifest.attempt
        if loaded.run is not None:
            watched.status = loaded.run.status
            if is_first:
                watched.hear(loaded.run.heartbeat)

    def _ask_watched(self) -> None:
        due = [watched for watched in list(self._watched.values()) if watched.is_due()]
        if not due:
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(due)), thread_name_prefix="aboard-watch") as threads:
            list(threads.map(self._ask, due))
        again = [uid for uid, watched in list(self._watched.items()) if watched.is_worth_reading()]
        if again:
            self._read(again)

    def _ask(self, watched: WatchedRun) -> None:
        """Look whether the manifest of a run has changed."""
        watched.looked = self._monotonic()
        try:
            read = RunFolder(self.store, watched.uid).read_manifest_if_changed(watched.etag)
        except DamagedDocument as error:
            self._damaged[watched.uid] = error.message
            return
        if read is None:
            watched.is_stale = watched.is_stale or watched.uid in self._damaged  # perhaps it was mended
            return
        manifest = read.manifest
        watched.etag, watched.is_stale = read.etag, True
        watched.hear()
        # The end and a new attempt are not put off.
        if manifest.sealed or manifest.status is not watched.status or manifest.attempt != watched.attempt:
            watched.loaded = float("-inf")

    def _tell_lost(self) -> None:
        for watched in list(self._watched.values()):
            if not watched.is_lost():
                continue
            with suppress(Conflict, UnknownName):
                run = self._catalog.runs.by_uid(watched.uid)
                heard = f"No sign of life since {time_text(run.heartbeat)}." if run.heartbeat else "No sign of life."
                lost = self._catalog.runs.change_status(run.number or 0, RunState.LOST, at=run.heartbeat, reason=heard)
                self._indexer.noticed(lost)
            watched.status = RunState.LOST


def _is_of_interest(known: KnownRun | None) -> bool:
    """Whether a run that was listed at the start may have changed since the catalog last heard of it."""
    if known is None or not known.status.is_ended or known.status is RunState.LOST:
        return True
    return known.heartbeat is None or now() - known.heartbeat < _MAY_STILL_SHIP
