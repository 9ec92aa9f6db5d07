# SPDX-License-Identifier: Apache-2.0
"""Finds what there is to read below a URI: everything below a prefix, one run, or one event file.

Runs are listed by their uids. A folder in which uids lie is the root of a store, and what is inside its runs is never
listed. All other keys are; the caller decides how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from aboard.errors import InvalidValue, KeyNotFound
from aboard.events.event import is_event_file
from aboard.model.names import is_uid, new_uid
from aboard.reader.roots import StoreUri
from aboard.store.connection import Patience
from aboard.store.opening import open_store
from aboard.store.run.layout import REOPENED
from aboard.store.run.listing import RunListing
from aboard.store.store import ObjectInfo, Store, TrafficCount
from aboard.store.uri import check_key, join_key

_BEHIND_ALL = "\U0010fffd"  # no name of a folder comes after this one


class DiscoveredRun(NamedTuple):
    """A run, and the folder of the store that it is in; empty at the top."""

    above: str
    uid: str

    @property
    def key(self) -> str:
        return join_key(self.above, self.uid)

    @classmethod
    def of(cls, key: str) -> DiscoveredRun:
        above, _, uid = key.rpartition("/")
        return cls(above, uid)


class Discovery:
    """What lies below the top of a store. `open_below` opens the store at a folder of it."""

    def __init__(self, store: Store, open_below: Callable[[str], Store]) -> None:
        self._store, self._open_below = store, open_below
        self._roots: dict[str, RunListing] = {}
        self.add_root("")

    def new_runs(self) -> list[DiscoveredRun]:
        """Runs that were not told before, and those that were announced, in the order of their making."""
        found: list[DiscoveredRun] = []
        for above, listing in list(self._roots.items()):
            found += [DiscoveredRun(above, uid) for uid in listing.new()]
        return found

    def announcements_of(self, run: DiscoveredRun) -> list[str]:
        """Markers that were left for a run."""
        listing = self._roots.get(run.above)
        return listing.announcements(run.uid) if listing else []

    @property
    def roots(self) -> set[str]:
        """Folders in which runs lie, as far as they are known."""
        return set(self._roots)

    def add_root(self, above: str) -> None:
        """Note a folder in which runs lie."""
        if above not in self._roots:
            self._roots[above] = RunListing(self._open_below(above) if above else self._store)

    def objects(self) -> list[ObjectInfo]:
        """Event files outside of runs."""
        names = self._roots[""].taken_folders()
        if not any(map(is_uid, names)):
            found = self._all_below("")
        else:
            found = (entry for name in names if _may_hold_objects(name) for entry in self._all_below(name))
        return list({entry.key: entry for entry in found}.values())

    def _all_below(self, folder: str) -> Iterator[ObjectInfo]:
        """Event files below a folder, without those of runs, whose store is noted instead."""
        start_after = ""
        while True:
            again = ""
            for entry in self._store.list(folder, start_after=start_after):
                root = _root_in(entry.key)
                if root is not None:
                    yield from self._beside_runs(root)
                    again = join_key(root, _BEHIND_ALL) if root else _BEHIND_ALL
                    break
                if is_event_file(entry.key.rpartition("/")[2]) and _is_usable(entry.key):
                    yield entry
            if not again:
                return
            start_after = again

    def _beside_runs(self, root: str) -> Iterator[ObjectInfo]:
        self.add_root(root)
        for name in self._store.list_folders(root):
            if _may_hold_objects(name):
                yield from self._all_below(join_key(root, name))


def _may_hold_objects(name: str) -> bool:
    return not is_uid(name) and name != REOPENED


def _is_usable(key: str) -> bool:
    """Whether a key can be a path on this machine, too; others wrote it."""
    try:
        check_key(key)
    except InvalidValue:
        return False
    return True


def _root_in(key: str) -> str | None:
    """The folder in a key whose next part is a uid."""
    parts = key.split("/")
    for number, part in enumerate(parts[:-1]):
        if is_uid(part):
            return "/".join(parts[:number])
    return None


class StoreScope:
    """The part of a store that a URI names, listed with as few requests as possible."""

    def __init__(self, uri: StoreUri, patience: Patience) -> None:
        self._patience = patience
        self._stores: dict[str, Store] = {}
        above, _, last = (uri.given or uri.uri).partition("?")[0].rstrip("/").rpartition("/")
        query = (uri.given or uri.uri).partition("?")[2]
        is_inside = not above.endswith("/")  # else it is a bucket
        self._only_run = last if is_inside and is_uid(last) else ""
        self._only_file = last if is_inside and is_event_file(last) else ""
        whole = above if self._only_run or self._only_file else f"{above}/{last}"
        self._uri = whole
        self.store = self._open(f"{whole}?{query}" if query else whole)
        self._stores[""] = self.store
        self._asked_once = new_uid()
        self._discovery = None if self._only_run or self._only_file else Discovery(self.store, self.store_at)

    @property
    def has_objects(self) -> bool:
        """Whether there may be event files outside of runs."""
        return not self._only_run

    @property
    def traffic(self) -> TrafficCount:
        """What was asked of the store so far."""
        counts = [store.traffic.count() for store in list(self._stores.values())]
        kinds = {kind for count in counts for kind in count.requests}
        requests = {kind: sum(count.requests.get(kind, 0) for count in counts) for kind in sorted(kinds)}
        return TrafficCount(requests, sum(one.bytes_in for one in counts), sum(one.bytes_out for one in counts))

    def check(self) -> None:
        """Raise if the store is not there or refuses; one request, of the kind that reading begins with."""
        if self._discovery is not None:
            self.store.check()
        else:
            self.store.exists(self._only_file or f"{self._only_run}/manifest.json")

    def runs(self) -> list[DiscoveredRun]:
        """Runs not told before, and those that were announced."""
        if self._discovery is not None:
            return self._discovery.new_runs()
        return [DiscoveredRun("", self._only_run)] if self._only_run else []

    def announcements_of(self, run: DiscoveredRun) -> list[str]:
        """Markers that were left for a run. One that was named alone is asked once in each process instead."""
        return self._discovery.announcements_of(run) if self._discovery is not None else [self._asked_once]

    def objects(self) -> list[ObjectInfo]:
        """Event files outside of runs."""
        if self._discovery is not None:
            return self._discovery.objects()
        try:
            return [self.store.head(self._only_file)]
        except KeyNotFound:
            return []

    @property
    def roots(self) -> set[str]:
        """Folders in which runs lie, as far as they are known."""
        return self._discovery.roots if self._discovery is not None else set()

    def add_root(self, above: str) -> None:
        """Note a folder in which runs lie."""
        if self._discovery is not None:
            self._discovery.add_root(above)

    def store_at(self, above: str) -> Store:
        """The store at a folder below."""
        if above not in self._stores:
            self._stores[above] = self._open(f"{self._uri}/{above}")
        return self._stores[above]

    def _open(self, uri: str) -> Store:
        return open_store(uri, read_only=True, patience=self._patience)
