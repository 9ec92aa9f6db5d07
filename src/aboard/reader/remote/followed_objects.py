# SPDX-License-Identifier: Apache-2.0
"""Event files that others put into a store, found by listing, ever more seldom while nothing comes."""

from __future__ import annotations

import time
from typing import Any

from aboard.errors import StorageUnavailable, StoreError
from aboard.reader.remote.copied_file import CopiedFile
from aboard.reader.remote.copy_folder import CopyFolder
from aboard.reader.remote.fetching import Fetching
from aboard.reader.remote.object_copies import ObjectCopies
from aboard.reader.remote.pace import Pace
from aboard.reader.remote.scope import Scope
from aboard.reader.remote.store_failures import StoreFailures
from aboard.reader.remote.unit_work import UnitWork
from aboard.store.store import Entry

_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_LISTING_SHARE = 20  # looking for objects takes at most this part of the time


class FollowedObjects:
    """`copy` lists, and copies what is new."""

    def __init__(
        self, scope: Scope, copies: CopyFolder, fetching: Fetching, failures: StoreFailures, work: UnitWork
    ) -> None:
        self._scope, self._copies, self._fetching = scope, copies, fetching
        self._failures, self._work = failures, work
        self._folders: dict[str, ObjectCopies] = {}
        self._listing = Pace(_PAUSE, _LONGEST_PAUSE, 2.0)
        self.pending = 0
        """Folders that are known and not copied yet."""

    def resume(self, key: str, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied of a folder."""
        folder = key.removesuffix("/")
        self._folders[folder] = self._new(folder)
        self._folders[folder].resume(document)

    def pace(self, interval: float) -> None:
        """From now on nothing is asked more often than this, in seconds."""
        self._listing = Pace(max(interval, _PAUSE), _LONGEST_PAUSE, 2.0)

    @property
    def next_at(self) -> float:
        """When there is something to ask."""
        return self._listing.due_at if self._scope.has_objects else float("inf")

    @property
    def has_copies(self) -> bool:
        """Whether any folder is known."""
        return bool(self._folders)

    def unit_of(self, file: CopiedFile) -> ObjectCopies | None:
        """The folder that a file is of."""
        return next((folder for folder in self._folders.values() if folder.has(file)), None)

    def is_due(self) -> bool:
        """Whether it is time to list."""
        return self._scope.has_objects and self._listing.is_due()

    def copy(self, *, patient: bool) -> int:
        """List, and copy what is new; how many folders had something. Who is patient waits for the slow ones."""
        started = time.monotonic()
        behind = self._behind()
        took = time.monotonic() - started
        self.pending = len(behind)
        fetches = {one.key: self._work.submit(self._fetched, one, entries) for one, entries in behind}
        late = self._work.late(fetches.values(), patient=patient)
        for key, fetch in fetches.items():
            if fetch in late:
                self._work.leave_alone(key, fetch)
        if behind:
            self._listing.changed()
        else:
            self._listing.unchanged()
        self._listing.due_at += took * _LISTING_SHARE
        return len(behind)

    def _behind(self) -> list[tuple[ObjectCopies, list[Entry]]]:
        folders: dict[str, list[Entry]] = {}
        for entry in self._scope.objects():
            folders.setdefault(entry.key.rpartition("/")[0], []).append(entry)
        for folder in self._folders.keys() - folders.keys():
            if not self._work.is_busy(self._folders[folder].key):
                self._folders.pop(folder).drop()
        behind: list[tuple[ObjectCopies, list[Entry]]] = []
        for folder, entries in folders.items():
            known = self._folders.get(folder)
            if known is None:
                known = self._folders[folder] = self._new(folder)
            if known.is_behind(entries) and not self._work.is_busy(known.key):
                behind.append((known, entries))
        return behind

    def _new(self, folder: str) -> ObjectCopies:
        return ObjectCopies(folder, self._scope.store, self._copies, self._fetching)

    def _fetched(self, copies: ObjectCopies, entries: list[Entry]) -> None:
        if self._failures.gives_up:
            return
        try:
            copies.fetch(entries)
        except (StoreError, StorageUnavailable) as error:
            self._failures.failed(copies.key, error)
            return
        self._failures.well(copies.key)
        self.pending -= 1
