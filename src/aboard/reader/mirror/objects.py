# SPDX-License-Identifier: Apache-2.0
"""Copies of event files that other tools put into a bucket: no manifest names them, so they are found by listing.

Writers of event files put the whole object again with every flush. Of a replaced object, the first bytes and those
where the copy ends are fetched; where they are the same, only what follows is new. Listing backs off while nothing
changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from aboard.errors import KeyNotFound, StorageUnavailable, StoreError
from aboard.reader.mirror.copies import CopiedFile, CopyFolder
from aboard.reader.mirror.discovery import StoreScope
from aboard.reader.mirror.fetching import PIECE_BYTES, ObjectRange, RangeFetcher, TaskPool, copy_skimmed
from aboard.reader.mirror.polling import PollSchedule, StoreFailures
from aboard.store.store import ObjectInfo, Store

_PROOF_BYTES = 4096
_GAP_BYTES = 16 << 10  # fetched for nothing rather than with a request of its own


class ObjectCopies:
    """The event files directly in one folder of a bucket."""

    def __init__(self, folder: str, store: Store, copies: CopyFolder, fetching: RangeFetcher) -> None:
        self.key = f"{folder}/"
        self._store, self._copies, self._fetching = store, copies, fetching
        self._files: dict[str, CopiedFile] = {}

    def resume(self, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied."""
        self._files = {file.path: file for file in self._copies.adopt(document["files"])}

    def is_behind(self, entries: list[ObjectInfo]) -> bool:
        """Whether the listing shows anything that the copies are not."""
        return {entry.key: entry.etag for entry in entries} != {key: file.mark for key, file in self._files.items()}

    def fetch(self, entries: list[ObjectInfo]) -> None:
        """Make the copies what the listing shows. What can be copied is, also when something else cannot."""
        listed = {entry.key for entry in entries}
        for key in self._files.keys() - listed:
            self._copies.delete(self._files.pop(key))
        failure: StoreError | None = None
        for entry in entries:
            known = self._files.get(entry.key)
            if known is not None and known.mark == entry.etag and known.size == entry.size:
                continue
            try:
                self._files[entry.key] = self._continued(entry, known) or self._copied_anew(entry)
            except KeyNotFound:
                continue  # it was there a moment ago; the next listing tells
            except StoreError as error:
                failure = error
        self.keep()
        if failure is not None:
            raise failure

    def fetch_part(self, file: CopiedFile, begin: int, end: int) -> None:
        """Copy a part again that was given back."""
        at = begin
        for data in self._read(file.path, begin, end):
            self._copies.fill(file, at, data)
            at += len(data)

    def has(self, file: CopiedFile) -> bool:
        return self._files.get(file.path) is file

    def keep(self) -> None:
        """Write down what there is, for the next process."""
        self._copies.keep_unit(self.key, {"kind": "objects"}, list(self._files.values()))

    def drop(self) -> None:
        self._copies.drop_unit(self.key, list(self._files.values()))
        self._files = {}

    def _continued(self, entry: ObjectInfo, known: CopiedFile | None) -> CopiedFile | None:
        if known is None or not known.size or entry.size < known.size or known.lacks(0, _PROOF_BYTES):
            return None
        head, tail = (0, min(known.size, _PROOF_BYTES)), (max(0, known.size - _PROOF_BYTES), known.size)
        if known.lacks(*tail):
            return None
        # What is new most often comes with the proof.
        until = min(entry.size, known.size + PIECE_BYTES)
        first, last = self._store.get_ranges(entry.key, [head, (tail[0], until)], gap=_GAP_BYTES)
        proof = tail[1] - tail[0]
        if not self._begins_with(known, head, first) or not self._begins_with(known, tail, last[:proof]):
            return None
        self._copies.append(known, last[proof:])
        for data in self._read(entry.key, known.size, entry.size):
            self._copies.append(known, data)
        known.mark = entry.etag
        self._copies.stamp(known, entry.modified)
        return known

    def _begins_with(self, known: CopiedFile, part: tuple[int, int], data: bytes) -> bool:
        begin, end = part
        with self._copies.local(known.path).open("rb") as file:
            file.seek(begin)
            return file.read(end - begin) == data

    def _copied_anew(self, entry: ObjectInfo) -> CopiedFile:
        copy = self._copies.new_file(entry.key, entry.etag)
        try:
            copy_skimmed(lambda begin, end: self._read(entry.key, begin, end), entry.size, copy)
        except BaseException:
            copy.discard()
            raise
        published = copy.publish()
        self._copies.stamp(published, entry.modified)
        return published

    def _read(self, key: str, begin: int, end: int) -> Iterator[bytes]:
        return self._fetching.in_order([ObjectRange(key, begin, end)], self._read_range)

    def _read_range(self, one: ObjectRange) -> bytes:
        data = self._store.get_range(one.key, one.start, one.end)
        if len(data) != one.end - one.start:
            raise KeyNotFound(f"{one.key} in {self._store.uri} became shorter while it was read.")
        return data


_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_LISTING_SHARE = 20  # looking for objects takes at most this part of the time


class ObjectFollower:
    """`copy` lists, and copies what is new."""

    def __init__(
        self, scope: StoreScope, copies: CopyFolder, fetching: RangeFetcher, failures: StoreFailures, work: TaskPool
    ) -> None:
        self._scope, self._copies, self._fetching = scope, copies, fetching
        self._failures, self._work = failures, work
        self._folders: dict[str, ObjectCopies] = {}
        self._listing = PollSchedule(_PAUSE, _LONGEST_PAUSE, 2.0)
        self.pending = 0
        """Folders that are known and not copied yet."""

    def resume(self, key: str, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied of a folder."""
        folder = key.removesuffix("/")
        self._folders[folder] = self._new(folder)
        self._folders[folder].resume(document)

    def pace(self, interval: float) -> None:
        """From now on nothing is asked more often than this, in seconds."""
        self._listing = PollSchedule(max(interval, _PAUSE), _LONGEST_PAUSE, 2.0)

    @property
    def next_at(self) -> float:
        """When there is something to ask."""
        return self._listing.due_at if self._scope.has_objects else float("inf")

    @property
    def has_copies(self) -> bool:
        return bool(self._folders)

    def unit_of(self, file: CopiedFile) -> ObjectCopies | None:
        return next((folder for folder in self._folders.values() if folder.has(file)), None)

    def is_due(self) -> bool:
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

    def _behind(self) -> list[tuple[ObjectCopies, list[ObjectInfo]]]:
        folders: dict[str, list[ObjectInfo]] = {}
        for entry in self._scope.objects():
            folders.setdefault(entry.key.rpartition("/")[0], []).append(entry)
        for folder in self._folders.keys() - folders.keys():
            if not self._work.is_busy(self._folders[folder].key):
                self._folders.pop(folder).drop()
        behind: list[tuple[ObjectCopies, list[ObjectInfo]]] = []
        for folder, entries in folders.items():
            known = self._folders.get(folder)
            if known is None:
                known = self._folders[folder] = self._new(folder)
            if known.is_behind(entries) and not self._work.is_busy(known.key):
                behind.append((known, entries))
        return behind

    def _new(self, folder: str) -> ObjectCopies:
        return ObjectCopies(folder, self._scope.store, self._copies, self._fetching)

    def _fetched(self, copies: ObjectCopies, entries: list[ObjectInfo]) -> None:
        if self._failures.gives_up:
            return
        try:
            copies.fetch(entries)
        except (StoreError, StorageUnavailable) as error:
            self._failures.failed(copies.key, error)
            return
        self._failures.succeeded(copies.key)
        self.pending -= 1
