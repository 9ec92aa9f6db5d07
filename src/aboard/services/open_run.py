# SPDX-License-Identifier: Apache-2.0
"""One run that is open for reading: its logdirs as they were read last, and when that was."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aboard.errors import AboardError, StoreUnreachable
from aboard.reader.index_cache import IndexCache
from aboard.reader.root import Root, StoreUri
from aboard.reader.run_collection import RunCollection
from aboard.reader.run_reader import RunReader
from aboard.services.store_readers import StoreReaders
from aboard.store.connection import Patience
from aboard.store.run.layout import EVENTS

_log = logging.getLogger("aboard.services")
_T = TypeVar("_T")
_POINT_BYTES = 24
_TAG_BYTES = 300
_RUN_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where the files of a run are: the URI of a store, or its folder, and the run's uid."""

    store: str
    uid: str

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store."""
        return "://" in self.store

    @property
    def root(self) -> Root:
        """What its event files are below: in a folder they stand as they are, in a bucket its manifest says how."""
        if self.is_remote:
            uri = f"{self.store}/{self.uid}"
            return StoreUri(uri, uri)
        return Path(self.store, self.uid, EVENTS)

    @property
    def within(self) -> Path | None:
        """The folder below which no link is followed: a run must not show files of another, or of the server."""
        return None if self.is_remote else Path(self.store)


@dataclass(frozen=True, slots=True)
class ReadingPatience:
    """With stores that fail or do not answer while runs are read."""

    with_requests: Patience | None = None
    """None: the usual one of readers."""
    rest_seconds: float = 3.0
    """After a failure the store is left alone for so long."""


class OpenRun:
    """A run of the pool. `leases` and `followers` are the pool's, under its lock."""

    def __init__(self, place: RunPlace, readers: StoreReaders, patience: ReadingPatience) -> None:
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
            self._logdirs = {self._logdir(name): reader for name, reader in collection.runs.items()}
            self.memory = _RUN_BYTES + sum(map(_memory_of, self._logdirs.values()))
        self._read_at = at

    def _logdir(self, name: str) -> str:
        """The logdir in the name of what was opened; in a bucket the name of the run stands before it."""
        if self.place.is_remote:
            return name.partition("/")[2]
        return "" if name == "." else name


def _memory_of(reader: RunReader) -> int:
    statuses = reader.logdir.statuses()
    return sum(_TAG_BYTES + _POINT_BYTES * (points + superseded) for points, superseded, _, _ in statuses)
