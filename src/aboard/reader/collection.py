# SPDX-License-Identifier: Apache-2.0
"""All runs below a number of roots, read in parallel and followed.

Runs are ordered root by root, each folder before those below it, whatever was found first.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from aboard._native import FoundLogdir, LogTree, refresh_logdirs
from aboard.model.templates import TemplateValue
from aboard.reader.index import IndexCache
from aboard.reader.progress import ReadingProgress, ReadingTally
from aboard.reader.roots import Root, RunRoot, StoredLogdir, StoreUri
from aboard.reader.run import RunReader, absolute_path

if TYPE_CHECKING:
    from aboard.reader.mirror.cache import CopyCache
    from aboard.reader.mirror.store_mirror import StoreMirror
    from aboard.store.connection import Patience
    from aboard.store.store import TrafficCount


class RunPosition(NamedTuple):
    """The position of a run in a collection. Positions compare as the paths of folders do, part by part."""

    root: int
    parts: str
    name: str

    @classmethod
    def of(cls, root: int, name: str) -> RunPosition:
        """The position of a run below the root of this number."""
        return cls(root, "" if name == "." else name.replace("/", "\0"), name)


def reordered(
    places: list[RunPosition], gone: AbstractSet[RunPosition], new: AbstractSet[RunPosition]
) -> list[RunPosition]:
    """The places without some and with others, in order; quick, as nearly all of them are."""
    kept = [place for place in places if place not in gone] if gone else list(places)
    kept += sorted(new)
    kept.sort()
    return kept


_LOG = logging.getLogger("aboard.reader")
_THREADS = max(2, os.cpu_count() or 1)
# Read between two looks at the progress, and at whether to stop.
_RUNS_AT_ONCE = 64
_BYTES_AT_ONCE = 256 << 20
_SLICE = 0.05  # seconds of looking for runs before those found are read
_LONGEST_WAIT = 60.0
_LONGEST_REST = 0.5
_REST_AFTER_FAILURE = 1.0
_KEEP_EVERY = 30.0
_REFRESHES = 3  # until all that was given back of copies, and is needed after all, is there
_PATIENCE = 10.0  # with a file that takes long to read, when a follower is to stop


class _Logdir(NamedTuple):
    root: int
    path: str  # from the root
    name: str
    run: RunReader


class _Unread(NamedTuple):
    files: list[bytes]
    size: int


class RunCollection:
    """The runs below `roots`, which map a name to a folder or a URI; a board shows run `r` below name `n` as `n/r`.

    A root without a name (the empty string) adds nothing to the names of its runs; where two runs come to the same
    name, that of the later root is shown. `refresh` finds new runs and reads new points; readers see what is there
    while it works. `notifications` and `most_watches` say whether, and for how many folders, the kernel is asked to
    tell a follower of changes; the others are looked at again and again. `cache` keeps what was decoded for the next
    process, and `copies` what was fetched from stores; `summaries` has the hyperparameters that a store knows ready for
    `columns_of`. `within` is a folder at or above all roots that are folders: no symbolic link below it is followed,
    also when one takes the place of a folder while that is read. `patience` is that with stores, where the usual one
    does not suit.
    """

    def __init__(
        self,
        roots: Mapping[str, Root],
        *,
        cache: IndexCache | None = None,
        notifications: bool = True,
        most_watches: int | None = None,
        copies: CopyCache | None = None,
        summaries: bool = False,
        within: Path | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._roots = dict(roots)
        self._cache = cache
        self._root_names = list(self._roots)
        self._places = [
            _opened_root(root, copies, within, patience, summaries=summaries) for root in self._roots.values()
        ]
        self._stores = [store for _, store in self._places if store is not None]
        folders = [os.fsencode(place.folder) for place, _ in self._places]
        # Where a root is a single file, the folder of its run is the one that the file lies in.
        self._root_files = [
            (str(place.folder.parent) if place.folder.parent != place.folder else "", place.folder.name)
            for place, _ in self._places
        ]
        self._within = within
        self._new_tree = partial(
            LogTree, folders, notifications, most_watches, None if within is None else absolute_path(within)
        )
        self._runs: dict[str, RunReader] = {}  # replaced as a whole
        self._renamed = 0  # as the roots count it
        self._cycles = 0
        self._refreshing = threading.Lock()
        self._begin()
        _collections.add(self)

    def _begin(self) -> None:
        self._tree = self._new_tree()
        self._order: list[RunPosition] = []
        self._logdirs: dict[int, _Logdir] = {}
        self._by_name: dict[str, list[int]] = {}  # logdirs, the one that is shown last
        self._unread: dict[int, _Unread] = {}  # kept until it was read, whatever happens
        self._tally = ReadingTally()

    def continue_in_child(self) -> None:
        """Go on in the child of a fork. Where another thread of the parent was reading, all folders are read again.

        A follower of the parent does not follow here. This is for folders: what stores fetch in the background ends.
        """
        was_refreshing = self._refreshing.locked()
        self._refreshing = threading.Lock()
        if was_refreshing:
            self._begin()

    @property
    def roots(self) -> Mapping[str, Root]:
        """Names and folders or URIs."""
        return self._roots

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs found so far, by name. The mapping does not change under its holder."""
        return self._runs

    @property
    def progress(self) -> ReadingProgress:
        pending = sum(store.pending for store in self._stores)
        return self._tally.progress(len(self._logdirs) + pending, self._cycles)

    @property
    def traffic(self) -> Mapping[str, TrafficCount]:
        """What was asked of each store so far, by URI."""
        return {store.uri: store.traffic for store in self._stores}

    @property
    def store_problems(self) -> list[str]:
        """What cannot be read from stores now, in words."""
        return [problem for store in self._stores for problem in store.problems]

    def columns_of(self, run: str) -> Mapping[str, TemplateValue] | None:
        """What a store knows of a run, by the name that the run has here; None for those of plain folders."""
        numbers = self._by_name.get(run)
        if not numbers:
            return None
        logdir = self._logdirs[numbers[-1]]
        return self._places[logdir.root][0].columns_of(logdir.path)

    def stored_logdir(self, run: str) -> StoredLogdir | None:
        """What a store knows of a logdir, by its name here, and of its run; None for those of plain folders."""
        numbers = self._by_name.get(run)
        if not numbers:
            return None
        logdir = self._logdirs[numbers[-1]]
        return self._places[logdir.root][0].stored_logdir(logdir.path)

    def refresh(self) -> bool:
        """Find new and vanished runs and read what is new in all; whether anything changed.

        Raises when a store cannot be read at all.
        """
        with self._refreshing:
            changed = False
            for _ in range(_REFRESHES):
                for store in self._stores:
                    store.refresh()
                self._tree.look()
                changed = self._read_found(lambda: False) or changed
                if not any(logdir.run.logdir.wants_absent for logdir in self._logdirs.values()):
                    break
            return changed

    def close(self) -> None:
        """Let go of stores; what was read stays."""
        for store in self._stores:
            store.close()

    def keep(self, *, all_that_is_new: bool = False) -> None:
        """Keep what was decoded in the cache, where it has grown much since it was kept, or at all."""
        if self._cache is not None:
            self._cache.keep([run.logdir for run in self._runs.values()], all_that_is_new=all_that_is_new)

    def watch(self) -> None:
        """Prepare for `wait`: from now on the kernel tells of changes, where it can."""
        self._tree.watch()

    def follow_stores(self, interval: float) -> None:
        """Have what is new in stores fetched from now on, in the background."""
        for store in self._stores:
            store.start(interval, self._look_and_wake)

    def leave_stores(self) -> None:
        """Stop fetching."""
        for store in self._stores:
            store.stop()

    def _look_and_wake(self) -> None:
        self._tree.look()
        self._tree.wake()

    def wait(self, interval: float) -> bool:
        """Wait until there may be something to `read_new`, without the GIL; False after a while, or when woken.

        Where the kernel does not tell of changes, what changed lately is looked at every `interval` seconds.
        """
        if self._stores and not self._cycles and self._stores_are_complete():
            self._tree.look()  # the last of what was copied may have come while the others were read
        return bool(self._unread) or self._tree.is_looking or self._tree.wait(interval, _LONGEST_WAIT)

    def _stores_are_complete(self) -> bool:
        return all(store.is_complete for store in self._stores)

    def wake(self) -> None:
        """End a `wait` at once, or the next one."""
        self._tree.wake()

    def read_new(self, stopped: Callable[[], bool]) -> bool:
        """Read what `wait` waited for, or as much as there is time for; whether anything changed."""
        with self._refreshing:
            return self._read_found(stopped)

    def _read_found(self, stopped: Callable[[], bool]) -> bool:
        changed = False
        looking = True
        complete = self._stores_are_complete()
        changed = self._rename() or changed
        while looking:
            gone, found, to_read = self._tree.take(_SLICE)
            looking = self._tree.is_looking
            changed = self._take_runs(gone, found) or changed
            self._unread.update((logdir.id, _Unread(logdir.files, logdir.bytes)) for logdir in to_read)
            while part := self._next_part():
                if stopped():
                    return changed
                changed = self._read(part) or changed
            if stopped():
                return changed
        self._cycles += complete
        return changed

    def _take_runs(self, gone: list[int], found: list[FoundLogdir]) -> bool:
        if not gone and not found:
            return False
        new = [(one.id, self._new_logdir(one.root, one.name, one.path)) for one in found]
        names = {self._logdirs[number].name for number in gone} | {logdir.name for _, logdir in new}
        before = self._shown(names)
        for number in gone:
            self._drop(number)
        self._tally.forget(gone)
        for number, logdir in new:
            self._add(number, logdir)
        after = self._shown(names)
        self._order = reordered(self._order, before.keys() - after.keys(), after.keys() - before.keys())
        runs = self._runs | {place.name: run for place, run in after.items()}
        self._runs = {place.name: runs[place.name] for place in self._order}
        return True

    def _rename(self) -> bool:
        """Take over new names of runs in stores; whether there are any."""
        renamed = sum(place.renamed for place, _ in self._places)
        if renamed == self._renamed:
            return False
        self._renamed = renamed
        self._by_name = {}
        for number, logdir in list(self._logdirs.items()):
            logdir.run.name = _joined(self._root_names[logdir.root], self._places[logdir.root][0].name_of(logdir.path))
            self._add(number, logdir._replace(name=logdir.run.name))
        shown = self._shown(self._by_name)
        self._order = sorted(shown)
        self._runs = {place.name: shown[place] for place in self._order}
        return True

    def _shown(self, names: Iterable[str]) -> dict[RunPosition, RunReader]:
        shown = [self._logdirs[numbers[-1]] for name in names if (numbers := self._by_name.get(name))]
        return {RunPosition.of(logdir.root, logdir.name): logdir.run for logdir in shown}

    def _drop(self, number: int) -> None:
        name = self._logdirs.pop(number).name
        self._unread.pop(number, None)
        self._by_name[name].remove(number)
        if not self._by_name[name]:
            del self._by_name[name]

    def _new_logdir(self, root: int, path: bytes, folder: bytes) -> _Logdir:
        below = os.fsdecode(path)
        name = _joined(self._root_names[root], self._places[root][0].name_of(below))
        return _Logdir(root, below, name, self._make_run(root, name, os.fsdecode(folder)))

    def _add(self, number: int, logdir: _Logdir) -> None:
        self._logdirs[number] = logdir
        numbers = self._by_name.setdefault(logdir.name, [])
        numbers.append(number)
        if len(numbers) > 1:
            numbers.sort(key=lambda number: self._logdirs[number].root)

    def _make_run(self, root: int, name: str, folder: str) -> RunReader:
        # Paths as strings: there may be very many runs, and objects for paths take longer than opening them.
        store = self._places[root][1]
        fetch_part = None if store is None else partial(store.fetch_part, Path(folder))
        packed = None if store is None else store.packed_for(Path(folder))
        if self._cache is None:
            return RunReader(name, folder, None, fetch_part, packed, self._within)
        parent, file = self._root_files[root]
        only_file = file if folder == parent else None
        index = self._cache.place_of(folder, only_file)
        return RunReader(name, folder, index, fetch_part, packed, self._within)

    def _next_part(self) -> list[int]:
        part: list[int] = []
        size = 0
        for number, unread in self._unread.items():
            size += unread.size
            if part and (size > _BYTES_AT_ONCE or len(part) == _RUNS_AT_ONCE):
                break
            part.append(number)
        return part

    def _read(self, part: list[int]) -> bool:
        runs = {number: self._logdirs[number].run for number in part}
        self._mark_absent(part)
        self._tally.begin(runs)
        changed = refresh_logdirs([(run.logdir, self._unread[number].files) for number, run in runs.items()], _THREADS)
        self._tally.end(runs)
        for number, run in runs.items():
            if _is_behind(run, self._unread.pop(number).size):
                self._tree.look_again(number)
        self._have_completed(part)
        return changed > 0

    def _mark_absent(self, part: list[int]) -> None:
        """Say which files of stores are not all on this machine, so that what is not there is never decoded."""
        for number in part:
            store, run = self._places[self._logdirs[number].root][1], self._logdirs[number].run
            if store is not None:
                run.logdir.set_absent(store.absent_in(run.folder))

    def _have_completed(self, part: list[int]) -> None:
        for number in part:
            store, run = self._places[self._logdirs[number].root][1], self._logdirs[number].run
            if store is not None and run.logdir.wants_absent:
                store.want(run.folder)

    def give_back(self) -> None:
        """Give space of the copies of stores back when there is too little; what was decoded stays."""
        for number, (_, store) in enumerate(self._places):
            if store is None:
                continue
            runs = [logdir.run for logdir in self._logdirs.values() if logdir.root == number]
            for run in runs:
                if run.logdir.wants_absent:
                    store.want(run.folder)
            store.give_back((run.folder, _bytes_read(run, self._cache is not None)) for run in runs)


def _is_behind(run: RunReader, size: int) -> bool:
    """Whether not all was read that is there: an error, a cut-off record, or a file whose turn has not come yet."""
    bytes_read, _, failed = run.logdir.summary()
    return run.logdir.wants_absent or failed or bytes_read < size


def _bytes_read(run: RunReader, is_kept: bool) -> Mapping[str, int]:
    """How far each file was read, once that is in the index: the next process must not have to fetch it again."""
    if is_kept and run.logdir.save_index():
        return {}
    return {os.fsdecode(file.name): file.bytes_read for file in run.logdir.files()}


def _opened_root(
    root: Root, copies: CopyCache | None, within: Path | None, patience: Patience | None, *, summaries: bool
) -> tuple[RunRoot, StoreMirror | None]:
    if not isinstance(root, StoreUri):
        return RunRoot(root, within), None
    from aboard.reader.mirror.cache import CopyCache
    from aboard.reader.mirror.store_mirror import StoreMirror

    store = StoreMirror(root, copies or CopyCache.default(), with_summaries=summaries, patience=patience)
    return store, store


class Follower:
    """A thread that reads what is new in a collection, again and again until it is stopped.

    Where the kernel does not tell of changes, `interval` is the pause between two looks, in seconds. After a failure it
    rests for at least `rest_after_failure` seconds.
    """

    def __init__(
        self, collection: RunCollection, interval: float, *, rest_after_failure: float = _REST_AFTER_FAILURE
    ) -> None:
        self._collection, self._interval = collection, interval
        self._rest_after_failure = rest_after_failure
        self._stopped = threading.Event()
        self._kept_at = float("-inf")
        self._thread = threading.Thread(target=self._follow, name="aboard-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop at once, or as soon as the files that are just being read are done."""
        self._stopped.set()
        self._collection.leave_stores()
        self._collection.wake()
        self._thread.join(_PATIENCE)

    def _follow(self) -> None:
        self._collection.watch()
        self._collection.follow_stores(self._interval)
        while not self._stopped.is_set():
            try:
                self._cycle()
            except Exception:
                # Out of memory, say: what was read stays to be seen, and the next cycle tries again.
                _LOG.exception("reading new points failed")
                self._stopped.wait(max(self._interval, self._rest_after_failure))
        self._collection.keep(all_that_is_new=True)
        self._collection.close()

    def _cycle(self) -> None:
        if not self._collection.wait(self._interval):
            self._collection.keep(all_that_is_new=True)
            return
        started = time.monotonic()
        self._collection.read_new(self._stopped.is_set)
        if started - self._kept_at > _KEEP_EVERY and self._collection.progress.cycles > 0:
            self._collection.keep()
            self._kept_at = started
        self._collection.give_back()
        # However much is written, others get the processor too.
        self._stopped.wait(min(time.monotonic() - started, _LONGEST_REST))


def _joined(root_name: str, name: str) -> str:
    if not root_name:
        return name
    return root_name if name == "." else f"{root_name}/{name}"


_collections: WeakSet[RunCollection] = WeakSet()


def _continue_in_child() -> None:
    for collection in list(_collections):
        collection.continue_in_child()


os.register_at_fork(after_in_child=_continue_in_child)
