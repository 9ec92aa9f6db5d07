# SPDX-License-Identifier: Apache-2.0
"""Copies of event files that anybody put into a bucket: no manifest tells of them, so they are found by listing.

Who writes event files into a bucket puts the whole object again with every flush. Of an object that was replaced, the
first bytes and those where the copy ends are fetched; where they are the same, only what follows is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aboard.errors import KeyNotFound, StoreError
from aboard.reader.remote.copied_file import CopiedFile
from aboard.reader.remote.copy_folder import CopyFolder
from aboard.reader.remote.fetching import PIECE_BYTES, Fetching, Range
from aboard.reader.remote.skimming import copy_skimmed
from aboard.store.store import Entry, Store

_PROOF_BYTES = 4096
_GAP_BYTES = 16 << 10  # fetched for nothing rather than with a request of its own


class ObjectCopies:
    """The event files directly in one folder of a bucket."""

    def __init__(self, folder: str, store: Store, copies: CopyFolder, fetching: Fetching) -> None:
        self.key = f"{folder}/"
        self._store, self._copies, self._fetching = store, copies, fetching
        self._files: dict[str, CopiedFile] = {}

    def resume(self, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied."""
        self._files = {file.path: file for file in self._copies.adopt(document["files"])}

    def is_behind(self, entries: list[Entry]) -> bool:
        """Whether the listing shows anything that the copies are not."""
        return {entry.key: entry.etag for entry in entries} != {key: file.mark for key, file in self._files.items()}

    def fetch(self, entries: list[Entry]) -> None:
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
        """Whether a copy is one of this folder."""
        return self._files.get(file.path) is file

    def keep(self) -> None:
        """Write down what there is, for the next process."""
        self._copies.keep_unit(self.key, {"kind": "objects"}, list(self._files.values()))

    def drop(self) -> None:
        """Delete the copies."""
        self._copies.drop_unit(self.key, list(self._files.values()))
        self._files = {}

    def _continued(self, entry: Entry, known: CopiedFile | None) -> CopiedFile | None:
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

    def _copied_anew(self, entry: Entry) -> CopiedFile:
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
        return self._fetching.in_order([Range(key, begin, end)], self._read_range)

    def _read_range(self, one: Range) -> bytes:
        data = self._store.get_range(one.key, one.start, one.end)
        if len(data) != one.end - one.start:
            raise KeyNotFound(f"{one.key} in {self._store.uri} became shorter while it was read.")
        return data
