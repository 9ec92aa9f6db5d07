# SPDX-License-Identifier: Apache-2.0
"""Reads runs from a store into the catalog: those that are new or changed, or all of a store anew.

What is read while somebody edits the same run is discarded: it may be older than the edit. The edit itself writes
to the catalog, and announces the change, so that whoever follows the store reads the run again.

A reindex reads and writes in parts, on a thread. If the server is killed meanwhile, the catalog is right as far as
the reindex came; runs are marked as missing only when all of the store was read.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from aboard.api.runs import NewRun
from aboard.api.server import Problem, ReindexState
from aboard.api.wire import from_wire, to_wire
from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, CatalogUnavailable, UnknownName
from aboard.model.names import check_name, check_uid, check_workspace_name, new_uid
from aboard.model.runs import RunRecord, run_to_document
from aboard.model.times import now
from aboard.store.run.listing import RunListing
from aboard.store.run.loading import LoadedRun, load_run
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store
from aboard.store.uri import parse_uri

_T = TypeVar("_T")
_log = logging.getLogger("aboard.services")
_AT_ONCE = 16
_PART = 200
_STRIPES = 256


class RunIndexer:
    """Puts runs into one catalog."""

    def __init__(
        self, catalog: Catalog, on_put: Callable[[Sequence[RunRecord], bool], None] = lambda _, __: None
    ) -> None:
        """`on_put` is called with the runs that were put, and whether they were known before."""
        self._catalog, self._on_put = catalog, on_put
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
            self._on_put(put, False)
            results += loaded
            if done is not None:
                done(len(results))
        return results

    def put(self, run: RunRecord, *, was_known: bool = False) -> RunRecord:
        """Put a run that the caller has written itself."""
        with self._putting:
            put = self._catalog.runs.put(run)
        self._on_put([put], was_known)
        return put

    def put_many(self, runs: Sequence[RunRecord]) -> None:
        """Put runs of read-only sources; what people added to them stays."""
        self._on_put(self._catalog.runs.put_many(runs), False)

    def register(self, new: NewRun) -> RunRecord:
        """Give a run that is about to begin its number, and a name where it has none."""
        check_uid(new.uid)
        check_workspace_name(new.workspace)
        if new.experiment:
            check_name(new.experiment, "an experiment")
        if new.name:
            check_name(new.name, "a run")
        try:
            return self._catalog.runs.by_uid(new.uid)  # a retry: the first response was lost
        except UnknownName:
            pass
        run = RunRecord(
            uid=new.uid,
            workspace=new.workspace,
            experiment=new.experiment or None,
            name=new.name,
            user=new.user,
            host=new.host,
            store=parse_uri(new.store).uri if new.store else "",
            created=now(),
        )
        return self.put(run)

    def noticed(self, run: RunRecord) -> None:
        """Let those know who want to hear of changes, of one that was made in the catalog alone."""
        self._on_put([run], True)

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


def parts(runs: Iterable[_T]) -> Iterator[list[_T]]:
    """Runs, or their uids, in parts that are read and put together."""
    left = iter(runs)
    while part := list(islice(left, _PART)):
        yield part


_MOST_KEPT = 100
_SAVE_SECONDS = 1.0


class Reindexer:
    """Reindexes stores, and keeps the state of each reindex, also of those that are over."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._states: dict[str, ReindexState] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._saved_at = 0.0

    def start(self, store: Store) -> ReindexState:
        """Begin with a store; one that is under way is not begun twice."""
        with self._lock:
            for state in self._states.values():
                if state.store == store.uri and not state.is_over:
                    return state
            state = ReindexState(id=new_uid(), store=store.uri, state="running")
            with self._catalog.alone(_lock_of(store.uri)) as is_free:
                pass
            elsewhere = self._catalog.reindexings.begin(state.id, store.uri, to_wire(state), may_be_another=not is_free)
            if elsewhere is not None:
                return from_wire(ReindexState, elsewhere)
            for old in [one.id for one in self._states.values() if one.is_over][:-_MOST_KEPT]:
                del self._states[old]
            self._states[state.id] = state
        threading.Thread(
            target=self._work, args=(state.id, store), name=f"aboard-reindex {store.uri}", daemon=True
        ).start()
        return state

    def state(self, task: str) -> ReindexState:
        """How far one is."""
        with self._lock:
            if task in self._states:
                return self._states[task]
        found = self._catalog.reindexings.get(task)  # of another server process
        if found is None:
            raise UnknownName(f"there is no reindexing {task!r}", hint="start one")
        facts, may_be_lost = found
        state = from_wire(ReindexState, facts)
        is_lost = False
        if may_be_lost:
            with self._catalog.alone(_lock_of(state.store)) as is_lost:
                pass
        return replace(state, state="failed", error="the server that did it has ended") if is_lost else state

    @property
    def is_running(self) -> bool:
        """Whether this process is reindexing a store."""
        with self._lock:
            return any(not state.is_over for state in self._states.values())

    def stop(self) -> None:
        """Leave off; what was written stays."""
        self._stop.set()

    def _tell(self, task: str, **news: object) -> None:
        with self._lock:
            state = replace(self._states[task], **news)  # pyright: ignore[reportArgumentType]
            self._states[task] = state
        if state.is_over or time.monotonic() - self._saved_at > _SAVE_SECONDS:
            self._saved_at = time.monotonic()
            try:
                self._catalog.reindexings.tell(task, to_wire(state), is_over=state.is_over)
            except CatalogUnavailable:
                _log.warning("Other servers are not told how far the reindexing of %s is", state.store)

    def _work(self, task: str, store: Store) -> None:
        problems: list[Problem] = []
        try:
            # Held as long as this process is at it, and dropped however it ends.
            with self._catalog.alone(_lock_of(store.uri)):
                result = self._catalog.reindex(self._documents(task, store, problems), store=store.uri)
        except AboardError as error:
            self._tell(task, state="failed", error=str(error), problems=tuple(problems))
        except Exception as error:
            _log.exception("Reindexing %s failed", store.uri)
            self._tell(task, state="failed", error=f"{type(error).__name__}: {error}", problems=tuple(problems))
        else:
            known = {problem.what for problem in problems}
            problems += [Problem(what=what, message=text) for what, text in result.problems if what not in known]
            self._tell(task, state="done", written=result.written, missing=result.missing, problems=tuple(problems))

    def _documents(self, task: str, store: Store, problems: list[Problem]) -> Iterator[object]:
        uids = RunListing(store).new()
        self._tell(task, found=len(uids))
        read = 0
        for part in parts(uids):
            for loaded in read_runs(store, part):
                if self._stop.is_set():
                    raise AboardError("the server was stopped", hint="start the reindexing once more")
                read += 1
                if loaded.is_gone:
                    continue
                if loaded.problems:
                    problems.append(Problem(what=loaded.uid, message=" ".join(loaded.problems)))
                # Without a document the catalog leaves the run as it is, and does not take it for missing.
                yield run_to_document(loaded.run) if loaded.run is not None else {"uid": loaded.uid}
            self._tell(task, read=read, written=read - len(problems), problems=tuple(problems))


def _lock_of(store: str) -> str:
    return f"reindex {store}"
