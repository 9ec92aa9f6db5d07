# SPDX-License-Identifier: Apache-2.0
"""Mirrors a place in an object store to this machine, where its runs are read as those of a folder.

Nothing is ever written into the store. Manifests of live runs are polled, those of sealed runs are read once; new
runs are listed from the last uid seen, event files of other tools with back-off. A failure is reported once, retried
with back-off, and hides nothing else.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from aboard.errors import AboardError
from aboard.model.templates import TemplateValue
from aboard.reader.mirror.cache import CopyCache
from aboard.reader.mirror.copies import CopiedFile
from aboard.reader.mirror.discovery import StoreScope
from aboard.reader.mirror.fetching import RangeFetcher, TaskPool
from aboard.reader.mirror.objects import ObjectCopies, ObjectFollower
from aboard.reader.mirror.polling import PollSchedule, ProblemLog, StoreFailures
from aboard.reader.mirror.run_copy import RunCopy
from aboard.reader.mirror.runs import RunFollower
from aboard.reader.roots import Root, RunRoot, StoredRuns, StoreUri
from aboard.store import Patience
from aboard.store.store import TrafficCount

PATIENCE = Patience(connect_seconds=5, stall_seconds=20, request_seconds=120, retries=3, retry_seconds=20)
_WORTH_WEIGHING = 0.02  # of the limit: so much more has to be there before the disk is looked at again
_STOP_SECONDS = 2.0


class StoreMirror(RunRoot):
    """Runs below a URI. `refresh` brings the copy up to date once; `start` keeps it so."""

    def __init__(
        self,
        uri: StoreUri,
        cache: CopyCache,
        *,
        with_summaries: bool = False,
        patience: Patience | None = None,
    ) -> None:
        self.uri = uri.uri
        self._scope = StoreScope(uri, patience or PATIENCE)
        self._cache = cache
        self._copies = cache.take(uri.uri)
        super().__init__(self._copies.tree)
        self._problems = ProblemLog(uri.uri)
        self._failures = StoreFailures(self._problems)
        self._fetching, self._work = RangeFetcher(), TaskPool()
        self._followed = RunFollower(
            self._scope,
            self._copies,
            self._fetching,
            self._problems,
            self._failures,
            self._work,
            partial(_join_name, self._runs),  # not a method: who forgets to close this must still let go of the copy
            with_summaries=with_summaries,
        )
        self._objects = ObjectFollower(self._scope, self._copies, self._fetching, self._failures, self._work)
        self._working = threading.Lock()  # held by whoever looks and copies
        self._trouble = PollSchedule(1.0, 60.0, 2.0)
        self._wanted: set[str] = set()
        self._weighed = -cache.limit  # bytes on the disk when they were last compared with what is allowed
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
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
        return self._followed.pending + self._objects.pending

    @property
    def traffic(self) -> TrafficCount:
        """What was asked of the store so far."""
        return self._scope.traffic

    def refresh(self, *, whole: bool = False) -> None:
        """Bring the copy up to date; raises when the store cannot be read at all. `whole`: nothing is left out."""
        try:
            with self._working:
                self._pass(everything=True)
                if whole:
                    self._wanted.update(self._copies.folders_with_gaps())
                for folder in sorted(self._wanted):
                    self._complete(folder)
        finally:
            if self._thread is None:
                self._work.rest()
                self._fetching.rest()

    def start(self, interval: float, on_news: Callable[[], None]) -> None:
        """Keep the copy up to date from now on; `on_news` is called when something may have to be looked at."""
        self._followed.pace(interval)
        self._objects.pace(interval)
        self._thread = threading.Thread(target=self._follow, args=(on_news,), name="aboard-store", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop soon; a request that is under way is not waited for long."""
        self._failures.is_stopped = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def close(self) -> None:
        """Let others use the copy."""
        self.stop()
        self._fetching.close()
        self._work.close()
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

    def columns_of(self, relative: str) -> Mapping[str, TemplateValue] | None:
        columns = super().columns_of(relative)
        place = self.location_of(relative)
        if columns is None or place is None:
            return None
        run = self._followed.get(place.run)
        manifest = run.manifest if run else None
        return {**columns, "status": manifest.status.value if manifest else None}

    def _learn(self, run: str) -> bool:
        return run in self._runs

    def _relative(self, folder: Path) -> str:
        return folder.relative_to(self.folder.absolute()).as_posix()

    def _unit_of(self, file: CopiedFile) -> RunCopy | ObjectCopies:
        unit = self._followed.unit_of(file) or self._objects.unit_of(file)
        if unit is None:
            raise LookupError(file.path)
        return unit

    # Keeping up.

    def _follow(self, on_news: Callable[[], None]) -> None:
        while not self._failures.is_stopped:
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
            next_at = max(self._trouble.due_at, min(self._followed.next_at, self._objects.next_at))
            self._woken.wait(max(0.05, next_at - time.monotonic()))

    def _pass(self, *, everything: bool) -> None:
        self._failures.begin()
        try:
            self._followed.find(at_once=everything)
            self._refuse(self._followed.copy(everything=everything))
            if self._scope.has_objects and (everything or self._objects.is_due()):
                roots = self._scope.roots
                self._refuse(self._objects.copy(patient=everything))
                if self._scope.roots != roots:
                    self._followed.find(at_once=True)
                    self._refuse(self._followed.copy_new(patient=everything))
        finally:
            self._followed.pending = self._objects.pending = 0
            # Also when it failed: who waits for the first reading is told what was wrong.
            self.is_complete = True

    def _refuse(self, asked: int) -> None:
        has_anything = self._followed.has_copies or self._objects.has_copies
        self._failures.refuse_if_all_failed(asked, has_anything=has_anything)

    def _complete(self, folder: str) -> None:
        """Fetch again what was given back of a folder's files."""
        for file in self._copies.files_in(folder):
            unit = self._unit_of(file)
            for begin, end in file.missing:
                unit.fetch_part(file, begin, end)
            unit.keep()
        self._wanted.discard(folder)

    def _resume(self) -> None:
        """Go on from what an earlier process has copied: it can be read before the store has answered."""
        for key, document in self._copies.units():
            try:
                if document["kind"] == "run":
                    self._followed.resume(key, document)
                else:
                    self._objects.resume(key, document)
            except (LookupError, TypeError, ValueError, AboardError):
                continue  # it is copied again


def _join_name(names: StoredRuns, run: RunCopy) -> None:
    names.add(run.key, run.uid, run.described, run.summary)


class ShownPaths:
    """Says what a person knows a place in a copy as."""

    def __init__(self, uris: Mapping[str, str]) -> None:
        self._uris = uris

    def text(self, text: str) -> str:
        """A text with URIs instead of the paths of copies."""
        for folder, uri in self._uris.items():
            text = text.replace(folder, uri)
        return text

    def document(self, value: Any) -> Any:
        """The same for all texts in a document."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.document(item) for key, item in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.document(item) for item in cast("list[Any]", value)]
        return value


@contextlib.contextmanager
def whole_copies(roots: Mapping[str, Root]) -> Generator[tuple[dict[str, Path], ShownPaths]]:
    """Folders in which all that is below `roots` can be read while the block runs; stores are copied first."""
    with contextlib.ExitStack() as stores:
        folders: dict[str, Path] = {}
        uris: dict[str, str] = {}
        for name, root in roots.items():
            if not isinstance(root, StoreUri):
                folders[name] = root
                continue
            store = StoreMirror(root, CopyCache.default())
            stores.callback(store.close)
            store.refresh(whole=True)
            folders[name] = store.folder
            uris[str(store.folder)] = root.uri
        yield folders, ShownPaths(uris)
