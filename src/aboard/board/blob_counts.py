# SPDX-License-Identifier: Apache-2.0
"""How many blobs the entries of a tag hold, found out once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from aboard.reader.run import Entry, RunReader, Tag
from aboard.reader.tags import Kind, Source

_BLOBS_OF_KIND = {Kind.IMAGE: 3, Kind.AUDIO: 1}  # width, height and picture; sound

_Counts = dict[tuple[int, int, int], int]  # by file, offset and index of the value


class BlobCounts:
    """Counts the blobs of entries: old-style summaries need no look, tensors are read once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[RunReader, dict[tuple[int, int], _Counts]] = WeakKeyDictionary()

    def count(self, tag: Tag, entries: Sequence[Entry]) -> list[int]:
        """The number of blobs of each entry; zero when its file has changed meanwhile."""
        if tag.source != Source.SUMMARY:
            return [1] * len(entries)
        if tag.kind in _BLOBS_OF_KIND:
            return [_BLOBS_OF_KIND[Kind(tag.kind)]] * len(entries)
        known = self._of_tag(tag)
        counts: list[int] = []
        for entry in entries:
            place = entry.file, entry.offset, entry.value_index
            count = known.get(place)
            if count is None:
                blobs = tag.blobs(entry)
                count = 0 if blobs is None else len(blobs)
                if blobs is not None:
                    known[place] = count
            counts.append(count)
        return counts

    def _of_tag(self, tag: Tag) -> _Counts:
        generation = tag.run.logdir.generation
        with self._lock:
            of_run = self._known.setdefault(tag.run, {})
            if any(known != generation for known, _ in of_run):
                of_run.clear()  # the logdir was read anew: places and numbers may mean something else
            return of_run.setdefault((generation, tag.number), {})
