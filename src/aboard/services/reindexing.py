# SPDX-License-Identifier: Apache-2.0
"""Rebuilds what the catalog knows of a store from the store alone, on a thread, and tells how far it is.

Runs are read and written in parts. A server that is killed meanwhile leaves a catalog that is right as far as it came;
runs are taken for missing only when all of the store was read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from aboard.api.server import Problem, ReindexState
from aboard.api.wire import from_wire, to_wire
from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, CatalogUnavailable, UnknownName
from aboard.model.run_document import run_to_document
from aboard.model.uid import new_uid
from aboard.services.indexing import parts, read_runs
from aboard.store.run.listing import RunListing
from aboard.store.store import Store

_log = logging.getLogger("aboard.services")
_MOST_KEPT = 100
_TELL_SECONDS = 1.0


class Reindexing:
    """The reindexings of this server, those that are over too."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._states: dict[str, ReindexState] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._told_at = 0.0

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
        if state.is_over or time.monotonic() - self._told_at > _TELL_SECONDS:
            self._told_at = time.monotonic()
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
