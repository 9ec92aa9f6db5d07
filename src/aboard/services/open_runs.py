# SPDX-License-Identifier: Apache-2.0
"""Runs of stores that are open for reading: one pool for everything in the process that shows points of runs.

Whoever wants to read takes a lease and gives it back. Reading happens on a few threads of the store's own, so a store
that does not answer holds up nobody but who waits for it, and of these only so many. What nobody has leased stays open
until the memory is needed, the longest unused goes first.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from aboard.services.open_run import OpenRun, ReadingPatience, RunPlace
from aboard.services.store_readers import StoreReaders

_MEMORY_LIMIT = 1 << 30
_PATIENCE = ReadingPatience()
_MOST_OPEN = 512
_MOST_REMOTE = 64  # of those that nobody uses: each has threads of its own
_FOLLOW_SECONDS = 1.0
_FIRST_SECONDS = 20.0  # somebody waits, and knows nothing yet
_AGAIN_SECONDS = 2.0  # what was read before can be shown


class OpenRuns:
    """The pool. `memory_limit` is for what runs have decoded, `most_open` for how many are open that nobody uses.

    Followed runs are read every `follow_seconds`; `patience` is for stores that are slow or fail.
    """

    def __init__(
        self,
        *,
        memory_limit: int = _MEMORY_LIMIT,
        most_open: int = _MOST_OPEN,
        follow_seconds: float = _FOLLOW_SECONDS,
        patience: ReadingPatience = _PATIENCE,
    ) -> None:
        self._memory_limit, self._most_open = memory_limit, most_open
        self._follow_seconds, self._patience = follow_seconds, patience
        self._lock = threading.Lock()
        self._runs: OrderedDict[RunPlace, OpenRun] = OrderedDict()
        self._stores: dict[str, StoreReaders] = {}
        self._ended = threading.Event()
        self._follower: threading.Thread | None = None

    def take(self, place: RunPlace, *, follow: bool = False) -> OpenRun:
        """A run that stays open until `give_back`. Never waits: the reading of a run that was not open begins.

        With `follow` it is kept up to date in the background, as boards want it.
        """
        with self._lock:
            run = self._runs.get(place)
            if run is None:
                run = self._runs[place] = OpenRun(place, self._readers(place.store), self._patience)
            self._runs.move_to_end(place)
            run.leases += 1
            run.followers += follow
            if follow and self._follower is None:
                self._follower = threading.Thread(target=self._follow, name="aboard-open-runs", daemon=True)
                self._follower.start()
        run.want()
        return run

    def give_back(self, run: OpenRun, *, follow: bool = False) -> None:
        """End a lease; `follow` as it was taken."""
        self._give_back([run], follow)

    def _give_back(self, runs: Sequence[OpenRun], follow: bool) -> None:
        with self._lock:
            for run in runs:
                run.leases -= 1
                run.followers -= follow
        self._make_room()  # once for all: it looks at every run that is open

    @contextmanager
    def fresh(
        self, places: Sequence[RunPlace], *, max_age: float = _FOLLOW_SECONDS, patience: float = _FIRST_SECONDS
    ) -> Generator[list[OpenRun]]:
        """Runs as they were at most `max_age` seconds ago, where their stores answer, and else as they were read last.

        Runs that nobody has read before are waited for, `patience` seconds in all. Of a run that could not be read at
        all, `failure` says why.
        """
        runs: list[OpenRun] = []
        try:
            runs.extend(self.take(place) for place in places)  # what was taken before one fails is given back too
            end = time.monotonic() + patience
            for run in runs:
                run.want(max_age)
            for run in runs:
                run.wait(_AGAIN_SECONDS if run.is_read else max(0.0, end - time.monotonic()))
            yield runs
        finally:
            self._give_back(runs, follow=False)

    def readers(self, store: str) -> StoreReaders:
        """The threads that read from a store."""
        with self._lock:
            return self._readers(store)

    def forget(self, uid: str) -> None:
        """Close a run whose files are gone."""
        with self._lock:
            gone = [self._runs.pop(place) for place in list(self._runs) if place.uid == uid]
        for run in gone:
            run.close()

    def close(self) -> None:
        """Close all runs; reading that is under way is not waited for."""
        self._ended.set()
        with self._lock:
            runs, stores = list(self._runs.values()), list(self._stores.values())
            self._runs.clear()
        for readers in stores:
            readers.close()
        for run in runs:
            run.close()

    @property
    def open_count(self) -> int:
        """How many runs are open."""
        return len(self._runs)

    @property
    def memory(self) -> int:
        """About how many bytes the open runs hold."""
        with self._lock:
            return sum(run.memory for run in self._runs.values())

    def _readers(self, store: str) -> StoreReaders:
        readers = self._stores.get(store)
        if readers is None:
            readers = self._stores[store] = StoreReaders()
        return readers

    def _follow(self) -> None:
        while not self._ended.wait(self._follow_seconds):
            with self._lock:
                followed = [run for run in self._runs.values() if run.followers]
            for run in followed:
                run.want(self._follow_seconds)

    def _make_room(self) -> None:
        with self._lock:
            idle = [run for run in self._runs.values() if not run.leases]
            used, count = sum(run.memory for run in self._runs.values()), len(idle)
            remote = sum(run.place.is_remote for run in idle)
            gone: list[OpenRun] = []
            for run in idle:
                too_many = count > self._most_open or (run.place.is_remote and remote > _MOST_REMOTE)
                if used > self._memory_limit or too_many:
                    used, count, remote = used - run.memory, count - 1, remote - run.place.is_remote
                    gone.append(self._runs.pop(run.place))
        for run in gone:
            run.close()
