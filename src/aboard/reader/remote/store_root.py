# SPDX-License-Identifier: Apache-2.0
"""A place in an object store as a root of runs: copies what is new to this machine, where it is read as a folder is.

Nothing is ever written into the store. Manifests of live runs are asked again and again, those of sealed runs never;
new runs are listed from the last uid seen, event files of others with back-off. Whatever fails is told once and tried
again, ever more seldom, and hides nothing else.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

from aboard.errors import AboardError, StorageUnavailable, StoreError
from aboard.model.name_template import Value
from aboard.reader.remote.copied_file import CopiedFile
from aboard.reader.remote.copy_cache import CopyCache
from aboard.reader.remote.discovery import FoundRun
from aboard.reader.remote.fetching import Fetching
from aboard.reader.remote.object_copies import ObjectCopies
from aboard.reader.remote.pace import Pace
from aboard.reader.remote.problems import Problems
from aboard.reader.remote.run_copy import RunCopy
from aboard.reader.remote.scope import Scope
from aboard.reader.root import StoreUri
from aboard.reader.run_root import RunRoot
from aboard.store import Patience, Store
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Entry
from aboard.store.traffic import TrafficCount

PATIENCE = Patience(connect_seconds=5, stall_seconds=20, request_seconds=120, retries=3, retry_seconds=20)
_UNITS_AT_ONCE = 32  # each waits for one answer after the other
_RUN_PAUSE, _QUIET_RUN_PAUSE, _SILENT_RUN_PAUSE = 1.0, 3.0, 60.0
_SILENT_SECONDS = 300.0  # without a sign of life, which comes every 20 s
_LISTING_PAUSE, _LONGEST_LISTING_PAUSE = 5.0, 60.0
_OBJECTS_PAUSE, _LONGEST_OBJECTS_PAUSE = 5.0, 300.0
_LISTING_SHARE = 20  # looking for objects takes at most this part of the time
_FAILURES_IN_A_ROW = 4  # of different runs: it is the store then, and asking for the others is of no use
_WAIT_SECONDS = 5.0  # for those that answer slowly, before the others are asked again
_WORTH_WEIGHING = 0.02  # of the limit: so much more has to be there before the disk is looked at again
_STOP_SECONDS = 2.0


class StoreRoot(RunRoot):
    """Runs below a URI. `refresh` brings the copy up to date once; `start` keeps it so."""

    def __init__(self, uri: StoreUri, cache: CopyCache, *, with_summaries: bool = False) -> None:
        self.uri = uri.uri
        self._scope = Scope(uri, PATIENCE)
        self._cache = cache
        self._copies = cache.take(uri.uri)
        super().__init__(self._copies.tree)
        self._with_summaries = with_summaries
        self._problems = Problems(uri.uri)
        self._fetching = Fetching()
        self._threads = ThreadPoolExecutor(_UNITS_AT_ONCE, thread_name_prefix="aboard-store")
        self._working = threading.Lock()  # held by whoever looks and copies
        self._known: dict[str, RunCopy] = {}
        self._paces: dict[str, Pace] = {}
        self._objects: dict[str, ObjectCopies] = {}
        self._run_listing = Pace(_LISTING_PAUSE, _LONGEST_LISTING_PAUSE, 2.0)
        self._object_listing = Pace(_OBJECTS_PAUSE, _LONGEST_OBJECTS_PAUSE, 2.0)
        self._trouble = Pace(1.0, 60.0, 2.0)
        self._wanted: set[str] = set()
        self._busy: set[str] = set()  # runs and folders that somebody is still waiting for
        self._weighed = -cache.limit  # bytes on the disk when they were last compared with what is allowed
        self._pending = 0
        self._failures = 0
        self._last_error: AboardError | None = None
        self._woken = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._interval = 0.0
        self.is_complete = False
        """Whether everything was copied once, as far as it can be."""
        self._resume()

    @property
    def problems(self) -> list[str]:
        """What cannot be read now, in words."""
        return self._problems.current

    @property
    def pending(self) -> int:
        """Runs that are known and not copied yet."""
        return self._pending

    @property
    def traffic(self) -> TrafficCount:
        """What was asked of the store so far."""
        return self._scope.traffic

    def refresh(self, *, whole: bool = False) -> None:
        """Bring the copy up to date; raises when the store cannot be read at all. `whole`: nothing is left out."""
        with self._working:
            self._pass(everything=True)
            if whole:
                self._wanted.update(self._copies.folders_with_gaps())
            for folder in sorted(self._wanted):
                self._complete(folder)

    def start(self, interval: float, on_news: Callable[[], None]) -> None:
        """Keep the copy up to date from now on; `on_news` is called when something may have to be looked at."""
        self._interval = interval
        self._paces = {key: self._new_pace() for key in self._paces}
        self._run_listing = Pace(max(interval, _LISTING_PAUSE), _LONGEST_LISTING_PAUSE, 2.0)
        self._object_listing = Pace(max(interval, _OBJECTS_PAUSE), _LONGEST_OBJECTS_PAUSE, 2.0)
        self._thread = threading.Thread(target=self._follow, args=(on_news,), name="aboard-store", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop soon; a request that is under way is not waited for long."""
        self._stopped = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def close(self) -> None:
        """Let others use the copy."""
        self.stop()
        self._fetching.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._copies.close()

    # What readers of the copy ask.

    def absent_in(self, folder: Path) -> list[tuple[bytes, int, list[int]]]:
        """Files of a folder of which something is not here: where what was given back ends, and hollow records."""
        return [
            (os.fsencode(file.path.rpartition("/")[2]), file.absent_end, [record for record, _, _ in file.skipped])
            for file in self._copies.files_in(self._relative(folder))
            if file.missing
        ]

    def packed_for(self, folder: Path) -> tuple[Path, int, int] | None:
        """Where what was decoded of a folder elsewhere lies on this machine, if there is such a thing."""
        return self._copies.packed(self._relative(folder))

    def want(self, folder: Path) -> None:
        """Have all that was given back of a folder's files fetched again."""
        self._wanted.add(self._relative(folder))
        self._woken.set()

    def fetch_part(self, folder: Path, name: str, begin: int, end: int) -> bool:
        """Fetch a part of a file again, now; whether there was anything to fetch and it came."""
        file = self._copies.file(f"{self._relative(folder)}/{name}".removeprefix("./"))
        if file is None or not file.lacks(begin, end):
            return False
        try:
            self._unit_of(file).fetch_part(file, begin, min(end, file.size))
        except (AboardError, LookupError) as error:
            self._problems.note(file.path, error)
            return False
        return True

    def give_back(self, folders: Iterable[tuple[Path, Mapping[str, int]]]) -> bool:
        """Give disk space back when there is too little: of each file up to where it was read; whether any was.

        Of several folders, those that come first go first.
        """
        used = self._copies.on_disk
        if used < self._weighed + self._cache.limit * _WORTH_WEIGHING:
            return False
        allowed = self._cache.allowed(self._copies, used)
        self._weighed = used
        given = False
        if used <= allowed:
            return given
        for folder, read in folders:
            if self._copies.on_disk <= allowed * 0.8:
                break
            for file in self._copies.files_in(self._relative(folder)):
                until = read.get(file.path.rpartition("/")[2], 0)
                if self._copies.give_back(file, min(until, file.size)):
                    self._unit_of(file).keep()
                    self._copies.punch(file)
                    given = True
        self._weighed = self._copies.on_disk
        return given

    def columns_of(self, relative: str) -> Mapping[str, Value] | None:
        columns = super().columns_of(relative)
        place = self.place_of(relative)
        if columns is None or place is None:
            return None
        run = self._known.get(place.run)
        manifest = run.manifest if run else None
        return {**columns, "status": manifest.status.value if manifest else None}

    def _learn(self, run: str) -> bool:
        return run in self._runs

    def _relative(self, folder: Path) -> str:
        return folder.relative_to(self.folder.absolute()).as_posix()

    def _unit_of(self, file: CopiedFile) -> RunCopy | ObjectCopies:
        units: list[RunCopy | ObjectCopies] = [*self._known.values(), *self._objects.values()]
        return next(unit for unit in units if unit.has(file))

    # Keeping up.

    def _follow(self, on_news: Callable[[], None]) -> None:
        while not self._stopped:
            self._woken.clear()
            was_complete, renamed = self.is_complete, self.renamed
            try:
                with self._working:
                    self._pass(everything=False)
                    for folder in sorted(self._wanted):
                        self._complete(folder)
                self._problems.solved(self.uri)
                self._trouble.at_once()
            except (AboardError, OSError) as error:
                self._problems.note(self.uri, error)
                self._trouble.unchanged()
            if (self.is_complete and not was_complete) or self.renamed != renamed:
                on_news()
            self._woken.wait(max(0.05, self._next_at() - time.monotonic()))

    def _next_at(self) -> float:
        paces = [pace.due_at for pace in self._paces.values()]
        return max(self._trouble.due_at, min([self._run_listing.due_at, self._object_listing.due_at, *paces]))

    def _pass(self, *, everything: bool) -> None:
        self._failures = 0
        try:
            if everything or self._run_listing.is_due():
                self._find_runs()
            due = [run for key, run in self._known.items() if everything or self._paces[key].is_due()]
            self._copy_runs(due, patient=everything)
            if self._scope.has_objects and (everything or self._object_listing.is_due()):
                roots = self._scope.roots
                self._copy_objects(patient=everything)
                if self._scope.roots != roots:
                    self._find_runs()
                    new = [run for run in self._known.values() if not run.is_copied]
                    self._copy_runs(new, patient=everything)
        finally:
            self._pending = 0
            # Also when it failed: who waits for the first reading is told what was wrong.
            self.is_complete = True

    def _find_runs(self) -> None:
        found = self._scope.runs()
        is_first = self._run_listing.due_at == float("-inf")
        news = False
        for run in found:
            if run.key not in self._known:
                self._add_run(run, self._scope.store_at(run.above))
                news = True
            if self._known[run.key].is_announced(self._scope.announcements_of(run)):
                self._paces[run.key].at_once()
                news = True
        if is_first:
            self._drop_all_but({run.key for run in found})
        if news:
            self._run_listing.changed()
        else:
            self._run_listing.unchanged()

    def _add_run(self, run: FoundRun, store: Store) -> RunCopy:
        copy = RunCopy(RunFolder(store, run.uid), run.above, self._copies, self._fetching, self._problems)
        self._known[run.key] = copy
        self._paces[run.key] = self._new_pace()
        return copy

    def _new_pace(self) -> Pace:
        return Pace(max(self._interval, _RUN_PAUSE), _QUIET_RUN_PAUSE)

    def _drop_all_but(self, keys: set[str]) -> None:
        """Of runs that an earlier process copied, those that are no longer there go."""
        for key in self._known.keys() - keys:
            self._known.pop(key).drop()
            self._paces.pop(key)

    def _copy_runs(self, due: list[RunCopy], *, patient: bool) -> None:
        """First what the documents say, then names in the order of uids, then the files.

        Who is not patient waits a moment for the slow ones, which then come when they come.
        """
        idle = (run for run in due if not self._is_finished(run) and run.key not in self._busy)
        due = sorted(idle, key=lambda run: run.key)
        self._pending = len(due)
        looks = {run.key: self._threads.submit(self._looked, run) for run in due}
        late = self._late(looks.values(), patient=patient)
        fresh: list[RunCopy] = []
        for run in due:
            look = looks[run.key]
            if look in late:
                self._leave_alone(run.key, look, partial(self._came_late, run))
                continue
            if run.manifest is not None or run.described is not None or look.result():
                self._name(run)
            if look.result():
                fresh.append(run)
        self._pending = len(fresh)
        fetches = {run.key: self._threads.submit(self._fetched, run) for run in fresh}
        late = self._late(fetches.values(), patient=patient)
        for key, fetch in fetches.items():
            if fetch in late:
                self._leave_alone(key, fetch, lambda _: None)
        self._refuse_if_all_failed(len(due))

    def _late(self, work: Iterable[Future[Any]], *, patient: bool) -> set[Future[Any]]:
        return wait(list(work), None if patient else _WAIT_SECONDS).not_done

    def _leave_alone(self, key: str, work: Future[Any], then: Callable[[bool], None]) -> None:
        """Do not touch something until the work on it has come to its end."""
        self._busy.add(key)

        def ended(done: Future[Any]) -> None:
            try:
                then(not done.cancelled() and bool(done.result()))
            finally:
                self._busy.discard(key)

        work.add_done_callback(ended)

    def _came_late(self, run: RunCopy, is_new: bool) -> None:
        if is_new:
            self._name(run)
            self._fetched(run)

    def _name(self, run: RunCopy) -> None:
        self._runs.add(run.key, run.uid, run.described, run.summary)

    def _is_finished(self, run: RunCopy) -> bool:
        announcements = self._scope.announcements_of(FoundRun.of(run.key))
        lacks_summary = self._with_summaries and not run.has_summary
        if run.is_done and not run.is_announced(announcements) and not lacks_summary:
            self._paces[run.key].never()
            return True
        return False

    def _looked(self, run: RunCopy) -> bool:
        """Whether there is something to fetch."""
        if self._gives_up():
            return False
        pace = self._paces[run.key]
        try:
            announcements = self._scope.announcements_of(FoundRun.of(run.key))
            is_new = run.look(announcements, with_summary=self._with_summaries)
        except StoreError as error:
            self._failed(run.key, error)
            pace.unchanged(_SILENT_RUN_PAUSE)
            return False
        self._failures = 0
        self._problems.solved(run.key)
        if is_new:
            pace.changed()
        else:
            alive = run.manifest.alive.timestamp() if run.manifest else 0.0
            pace.unchanged(_SILENT_RUN_PAUSE if time.time() - alive > _SILENT_SECONDS else _QUIET_RUN_PAUSE)
        if run.is_done:
            pace.never()
        return is_new

    def _fetched(self, run: RunCopy) -> None:
        if self._gives_up():
            return
        pace = self._paces[run.key]
        try:
            run.fetch()
        except (StoreError, StorageUnavailable) as error:
            self._failed(run.key, error)
            pace.unchanged(_SILENT_RUN_PAUSE)
            return
        self._failures = 0
        self._problems.solved(run.key)
        if run.is_done:
            pace.never()
        self._pending -= 1

    def _copy_objects(self, *, patient: bool) -> None:
        started = time.monotonic()
        folders: dict[str, list[Entry]] = {}
        for entry in self._scope.objects():
            folders.setdefault(entry.key.rpartition("/")[0], []).append(entry)
        for folder in self._objects.keys() - folders.keys():
            if self._objects[folder].key not in self._busy:
                self._objects.pop(folder).drop()
        behind: list[tuple[ObjectCopies, list[Entry]]] = []
        for folder, entries in folders.items():
            known = self._objects.get(folder)
            if known is None:
                known = self._objects[folder] = self._new_objects(folder)
            if known.is_behind(entries) and known.key not in self._busy:
                behind.append((known, entries))
        took = time.monotonic() - started
        self._pending = len(behind)
        fetches = {one.key: self._threads.submit(self._fetched_objects, one, entries) for one, entries in behind}
        late = self._late(fetches.values(), patient=patient)
        for key, fetch in fetches.items():
            if fetch in late:
                self._leave_alone(key, fetch, lambda _: None)
        if behind:
            self._object_listing.changed()
        else:
            self._object_listing.unchanged()
        self._object_listing.due_at += took * _LISTING_SHARE
        self._refuse_if_all_failed(len(behind))

    def _new_objects(self, folder: str) -> ObjectCopies:
        return ObjectCopies(folder, self._scope.store, self._copies, self._fetching)

    def _fetched_objects(self, copies: ObjectCopies, entries: list[Entry]) -> None:
        if self._gives_up():
            return
        try:
            copies.fetch(entries)
        except (StoreError, StorageUnavailable) as error:
            self._failed(copies.key, error)
            return
        self._failures = 0
        self._problems.solved(copies.key)
        self._pending -= 1

    def _complete(self, folder: str) -> None:
        """Fetch again what was given back of a folder's files."""
        for file in self._copies.files_in(folder):
            unit = self._unit_of(file)
            for begin, end in file.missing:
                unit.fetch_part(file, begin, end)
            unit.keep()
        self._wanted.discard(folder)

    def _failed(self, concerns: str, error: AboardError) -> None:
        self._last_error = error
        self._failures += 1
        if not self._gives_up():
            self._problems.note(concerns, error)

    def _gives_up(self) -> bool:
        return self._failures >= _FAILURES_IN_A_ROW or self._stopped

    def _refuse_if_all_failed(self, asked: int) -> None:
        """Where everything fails, it is the store, and one error says so."""
        nothing_works = not any(run.is_copied for run in self._known.values()) and not self._objects
        enough = min(asked, _FAILURES_IN_A_ROW) if nothing_works else _FAILURES_IN_A_ROW
        if asked and self._last_error is not None and self._failures >= enough and not self._stopped:
            raise self._last_error

    def _resume(self) -> None:
        """Go on from what an earlier process has copied: it can be read before the store has answered."""
        for key, document in self._copies.units():
            try:
                if document["kind"] == "run":
                    found = FoundRun.of(key)
                    self._scope.add_root(found.above)
                    run = self._add_run(found, self._scope.store_at(found.above))
                    run.resume(document)
                    self._runs.add(key, run.uid, run.described, run.summary)
                else:
                    folder = key.removesuffix("/")
                    self._objects[folder] = self._new_objects(folder)
                    self._objects[folder].resume(document)
            except (LookupError, TypeError, ValueError, AboardError):
                continue  # it is copied again
