# SPDX-License-Identifier: Apache-2.0
"""What part of a store a URI means: everything below a prefix, one run, or one event file."""

from __future__ import annotations

from aboard.errors import KeyNotFound
from aboard.events.file_names import is_event_file
from aboard.model.uid import is_uid, new_uid
from aboard.reader.remote.discovery import Discovery, FoundRun
from aboard.reader.root import StoreUri
from aboard.store.connection import Patience
from aboard.store.opening import open_store
from aboard.store.store import Entry, Store
from aboard.store.traffic import TrafficCount


class Scope:
    """Answers what there is to read, with as few questions as possible."""

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

    def runs(self) -> list[FoundRun]:
        """Runs not told before, and those that were announced."""
        if self._discovery is not None:
            return self._discovery.new_runs()
        return [FoundRun("", self._only_run)] if self._only_run else []

    def announcements_of(self, run: FoundRun) -> list[str]:
        """Markers that were left for a run. One that was named alone is asked once in each process instead."""
        return self._discovery.announcements_of(run) if self._discovery is not None else [self._asked_once]

    def objects(self) -> list[Entry]:
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
