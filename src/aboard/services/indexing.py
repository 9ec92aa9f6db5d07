# SPDX-License-Identifier: Apache-2.0
"""Reads runs from a store and puts them into the catalog.

What is read while somebody changes the same run is not put: it may be older than the change. The change itself puts
what it has written, and announces it, so that whoever follows the store reads it again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError
from aboard.model.run import Run
from aboard.store.run.loading import LoadedRun, load_run
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

_log = logging.getLogger("aboard.services")
_AT_ONCE = 16
_PART = 200
_STRIPES = 256


class RunIndexer:
    """Puts runs into one catalog."""

    def __init__(self, catalog: Catalog, told: Callable[[Sequence[Run], bool], None] = lambda _, __: None) -> None:
        """`told` hears of all runs that were put, and whether they were there before."""
        self._catalog, self._told = catalog, told
        self._putting = threading.Lock()
        self._changing: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self._one_at_a_time = [threading.Lock() for _ in range(_STRIPES)]

    def index(self, store: Store, uids: Sequence[str], done: Callable[[int], None] | None = None) -> list[LoadedRun]:
        """Read runs and put them; what was read, in this order. Raises StoreError when the store cannot be read."""
        results: list[LoadedRun] = []
        for part in parts(uids):
            before = dict(self._changes)
            loaded = read_runs(store, part)
            with self._putting:
                untouched = [one for one in loaded if self._is_untouched(one.uid, before)]
                put = self._catalog.runs.put_many([one.run for one in untouched if one.run is not None])
            self._told(put, False)
            results += loaded
            if done is not None:
                done(len(results))
        return results

    def put(self, run: Run, *, was_known: bool = False) -> Run:
        """Put a run that the caller has written itself."""
        with self._putting:
            put = self._catalog.runs.put(run)
        self._told([put], was_known)
        return put

    def noticed(self, run: Run) -> None:
        """Let those know who want to hear of changes, of one that was made in the catalog alone."""
        self._told([run], True)

    @contextlib.contextmanager
    def changing(self, uids: Iterable[str]) -> Generator[None]:
        """What others read of these runs meanwhile is not put."""
        named = list(uids)
        with self._putting:
            self._changing.update(named)
        try:
            yield
        finally:
            with self._putting:
                self._changing.subtract(named)
                self._changes.update(named)
                for uid in named:
                    if not self._changing[uid]:
                        del self._changing[uid]

    @contextlib.contextmanager
    def alone(self, uid: str) -> Generator[None]:
        """Two changes of one run follow each other: both read its document before they write it."""
        with self._one_at_a_time[hash(uid) % _STRIPES], self.changing([uid]):
            yield

    def _is_untouched(self, uid: str, before: dict[str, int]) -> bool:
        return not self._changing[uid] and self._changes[uid] == before.get(uid, 0)


def read_runs(store: Store, uids: Sequence[str]) -> list[LoadedRun]:
    """Runs of a store, several at a time."""
    if len(uids) == 1:
        return [_load(RunFolder(store, uids[0]))]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="aboard-index") as threads:
        return list(threads.map(_load, [RunFolder(store, uid) for uid in uids]))


def _load(folder: RunFolder) -> LoadedRun:
    """One run. An error that nobody foresaw counts as damage of this run, so that it never hides the others."""
    try:
        return load_run(folder)
    except AboardError:
        raise  # the store cannot be read
    except Exception as error:
        _log.exception("Reading %s of %s failed", folder.uid, folder.store.uri)
        return LoadedRun(folder.uid, None, (f"{folder.uid} cannot be read: {type(error).__name__}: {error}.",))


def parts(uids: Iterable[str]) -> Iterator[list[str]]:
    """Uids in parts that are read and put together."""
    left = iter(uids)
    while part := list(islice(left, _PART)):
        yield part
