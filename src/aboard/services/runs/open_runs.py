# SPDX-License-Identifier: Apache-2.0
"""The pool of runs that are open for reading, shared by everything in the process that shows points of runs.

A reader takes a lease on a run and gives it back. Each store is read by a few threads of its own, so a store that
does not answer delays only the requests that wait for it, and only a limited number of them. Runs without a lease
stay open until their memory is needed; the least recently used one is closed first.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from aboard.api.runs import RunProblem
from aboard.errors import AboardError, InvalidValue, StoreUnreachable
from aboard.model.runs import RunRecord
from aboard.model.selections import SelectedRun
from aboard.reader.collection import RunCollection
from aboard.reader.grouping import group_logdirs
from aboard.reader.index import IndexCache
from aboard.reader.roots import Root, StoreUri
from aboard.reader.run import RunReader
from aboard.store.connection import Patience
from aboard.store.run.layout import EVENTS

_THREADS = 6
_ANSWER_SECONDS = 30.0
_WAITING = 24
_T = TypeVar("_T")


class StoreReadPool:
    """The threads that read from one store. When too many callers wait, the next one gets an error at once."""

    def __init__(self, *, threads: int = _THREADS, waiting: int = _WAITING) -> None:
        self._threads = ThreadPoolExecutor(threads, "aboard-reading")
        self._waiting = threading.BoundedSemaphore(waiting)

    def submit(self, work: Callable[[], None]) -> Future[None] | None:
        """Have something read; None after `close`."""
        try:
            return self._threads.submit(work)
        except RuntimeError:
            return None

    def wait(self, reading: threading.Event, seconds: float) -> None:
        """Wait for the end of a reading, unless too many do so already."""
        if reading.is_set() or not self._waiting.acquire(blocking=False):
            return
        try:
            reading.wait(seconds)
        finally:
            self._waiting.release()

    def call(self, work: Callable[[], _T], seconds: float = _ANSWER_SECONDS) -> _T:
        """Have something done, and wait for it."""
        if not self._waiting.acquire(blocking=False):
            raise StoreUnreachable("too many wait for this store already", hint="try again in a while")
        try:
            future = self._threads.submit(work)
        except RuntimeError as error:
            self._waiting.release()
            raise StoreUnreachable("the server is ending", hint="ask again when it is back") from error
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise StoreUnreachable(f"the store has not answered for {seconds:g} s", hint="try again later") from None
        finally:
            self._waiting.release()

    def close(self) -> None:
        """Begin nothing any more; what is under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)


_log = logging.getLogger("aboard.services")
_POINT_BYTES = 24
_TAG_BYTES = 300
_RUN_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where the files of a run are: the URI of a store, or its folder, and the run's uid.

    Runs of read-only sources are found by their path below the source.
    """

    store: str
    uid: str
    source_path: str | None = None
    root_folder: str = ""
    """A folder at or above a source, below which no link is followed."""

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store."""
        return "://" in self.store

    @property
    def root(self) -> Root:
        """What its event files are below: in a folder they stand as they are, in a bucket its manifest says how."""
        if self.source_path is not None:
            return self._in_source(self.source_path)
        if self.is_remote:
            uri = f"{self.store}/{self.uid}"
            return StoreUri(uri, uri)
        return Path(self.store, self.uid, EVENTS)

    def _in_source(self, path: str) -> Root:
        if not self.is_remote:
            return Path(self.store, path)
        uri = self.store if path == "." else f"{self.store}/{path}"
        return StoreUri(uri, uri)

    @property
    def within(self) -> Path | None:
        """The folder below which no link is followed: a run must not show files of another, or of the server."""
        return None if self.is_remote else Path(self.root_folder or self.store)


@dataclass(frozen=True, slots=True)
class ReadingPatience:
    """With stores that fail or do not answer while runs are read."""

    with_requests: Patience | None = None
    """None: the usual one of readers."""
    rest_seconds: float = 3.0
    """After a failure the store is left alone for so long."""


class OpenRun:
    """A run of the pool. `leases` and `followers` are the pool's, under its lock."""

    def __init__(self, place: RunLocation, readers: StoreReadPool, patience: ReadingPatience) -> None:
        self.place = place
        self._patience = patience
        self.leases = 0
        self.followers = 0
        self.memory = _RUN_BYTES
        """About how many bytes it holds."""
        self.problem: AboardError | None = None
        """Why it could not be read the last time."""
        self._readers = readers
        self._collection: RunCollection | None = None
        self._logdirs: Mapping[str, RunReader] = {}
        self._lock = threading.Lock()
        self._reading: threading.Event | None = None
        self._read_at = float("-inf")
        self._rest_until = float("-inf")
        self._is_closed = False

    @property
    def logdirs(self) -> Mapping[str, RunReader]:
        """What was read so far, by logdir; the empty name is the run itself. Does not change under its holder."""
        return self._logdirs

    @property
    def is_read(self) -> bool:
        """Whether all that was there has been read once."""
        return self._read_at != float("-inf")

    @property
    def failure(self) -> AboardError | None:
        """Why there is nothing to show of it; None when there is."""
        if self.is_read:
            return None
        return self.problem or StoreUnreachable(
            f"{self.place.store} has not yet given what is in {self.place.uid}",
            hint="it is being read; ask again in a while",
        )

    def want(self, max_age: float | None = None) -> None:
        """Have it read if it never was, or not for `max_age` seconds; does not wait."""
        with self._lock:
            now = time.monotonic()
            is_old = not self.is_read if max_age is None else now - self._read_at > max_age
            if not is_old or self._reading is not None or self._is_closed or now < self._rest_until:
                return
            self._reading = threading.Event()
            if self._readers.submit(self._read) is None:
                self._reading = None

    def wait(self, seconds: float) -> None:
        """Wait for a reading that is under way."""
        reading = self._reading
        if reading is not None:
            self._readers.wait(reading, seconds)

    def call(self, work: Callable[[], _T]) -> _T:
        """Have something read, on the threads of the store, and wait for it."""
        return self._readers.call(work)

    def close(self) -> None:
        """Give everything back; who still holds a reader can go on with what it has."""
        with self._lock:
            self._is_closed = True
            if self._reading is None and self._collection is not None:
                self._collection.close()

    def _read(self) -> None:
        try:
            self._refresh()
            self.problem = None
        except AboardError as error:
            self.problem = error
        except OSError as error:
            self.problem = AboardError(f"{self.place.uid} cannot be read: {error.strerror}")
        except Exception:
            _log.exception("%s of %s cannot be read", self.place.uid, self.place.store)
            self.problem = AboardError(f"{self.place.uid} cannot be read", hint="see the log of the server")
        with self._lock:
            if self.problem is not None:
                self._rest_until = time.monotonic() + self._patience.rest_seconds
            reading, self._reading = self._reading, None
            if self._is_closed and self._collection is not None:
                self._collection.close()
        assert reading is not None
        reading.set()

    def _refresh(self) -> None:
        at = time.monotonic()
        if self._collection is None:
            self._collection = RunCollection(
                {"": self.place.root},
                cache=IndexCache.default(),
                notifications=False,
                within=self.place.within,
                patience=self._patience.with_requests,
            )
        collection = self._collection
        changed = collection.refresh()
        if changed or not self.is_read:
            collection.keep()
            collection.give_back()
            self._logdirs = self._logdirs_of(collection)
            self.memory = _RUN_BYTES + sum(map(_memory_of, self._logdirs.values()))
        self._read_at = at

    def _logdirs_of(self, collection: RunCollection) -> Mapping[str, RunReader]:
        if self.place.source_path is not None:
            return logdirs_in_source(collection, self.place)
        return {self._logdir(name): reader for name, reader in collection.runs.items()}

    def _logdir(self, name: str) -> str:
        """The logdir in the name of what was opened; in a bucket the name of the run stands before it."""
        if self.place.is_remote:
            return name.partition("/")[2]
        return "" if name == "." else name


def logdirs_in_source(collection: RunCollection, place: RunLocation) -> Mapping[str, RunReader]:
    """The logdirs of a run of a source; `collection` has all that is below its folder."""
    stored: dict[str, RunReader] = {}
    plain: dict[tuple[str, ...], RunReader] = {}
    for name, reader in collection.runs.items():
        known = collection.stored_logdir(name)
        if known is None:
            plain[() if name == "." else tuple(name.split("/"))] = reader
        elif known.uid == place.root.name:  # not one of the runs that lie below it
            stored[known.logdir] = reader
    if stored:
        return stored
    if place.source_path != ".":
        return {"/".join(parts): reader for parts, reader in plain.items()}
    return {"/".join(parts): plain[parts] for parts in group_logdirs(plain, split_root=True).get((), ())}


def _memory_of(reader: RunReader) -> int:
    statuses = reader.logdir.statuses()
    return _TAG_BYTES * len(statuses) + _POINT_BYTES * statuses.points


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
        self._runs: OrderedDict[RunLocation, OpenRun] = OrderedDict()
        self._stores: dict[str, StoreReadPool] = {}
        self._ended = threading.Event()
        self._follower: threading.Thread | None = None

    def take(self, place: RunLocation, *, follow: bool = False) -> OpenRun:
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
        self, places: Sequence[RunLocation], *, max_age: float = _FOLLOW_SECONDS, patience: float = _FIRST_SECONDS
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

    def readers(self, store: str) -> StoreReadPool:
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

    def _readers(self, store: str) -> StoreReadPool:
        readers = self._stores.get(store)
        if readers is None:
            readers = self._stores[store] = StoreReadPool()
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


_MOST_RUNS = 500


class ReadableRuns(NamedTuple):
    """Runs that can be opened, and what keeps others from it."""

    places: dict[RunLocation, SelectedRun]
    problems: list[RunProblem]


def readable_runs(runs: Sequence[SelectedRun], place_of: Callable[[SelectedRun], RunLocation]) -> ReadableRuns:
    """The runs of a selection; `place_of` raises for one without files."""
    if len(runs) > _MOST_RUNS:
        raise InvalidValue(f"{len(runs)} runs are named", hint=f"ask for at most {_MOST_RUNS} at once")
    found = ReadableRuns({}, [])
    for run in runs:
        try:
            found.places[place_of(run)] = run
        except AboardError as error:
            found.problems.append(RunProblem(run=run.name, code=error.code, message=error.message))
    return found


def selected_from(run: RunRecord) -> SelectedRun:
    """As much of a run of the catalog as tells what it is and where its files are."""
    assert run.number is not None, "every run of a catalog has a number"
    return SelectedRun(
        number=run.number,
        uid=run.uid,
        name=run.name,
        workspace=run.workspace,
        status=run.status,
        experiment_number=run.experiment_number,
        store=run.store,
        source_path=run.source_path,
    )
