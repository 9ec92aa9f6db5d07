# SPDX-License-Identifier: Apache-2.0
"""Fetches ranges of objects in parallel and hands them out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import NamedTuple

from aboard.reader.remote.lazy_threads import LazyThreads

PIECE_BYTES = 4 << 20
_AHEAD = 2  # pieces of one file, so that many files at once do not fill the memory
_THREADS = 16


class Range(NamedTuple):
    """Bytes `start` to `end` of the object under a key."""

    key: str
    start: int
    end: int


class Fetching:
    """Threads that fetch."""

    def __init__(self) -> None:
        self._threads = LazyThreads(_THREADS, "aboard-fetch")
        self.rest = self._threads.rest
        self.close = self._threads.close

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """Do something on one of the threads."""
        return self._threads.submit(call)

    def in_order(self, ranges: Iterable[Range], read: Callable[[Range], bytes]) -> Iterator[bytes]:
        """The bytes of all ranges, some of them fetched ahead; what `read` raises is raised here."""
        pieces = list(_cut(ranges))
        if len(pieces) == 1:
            yield read(pieces[0])
            return
        ahead: deque[Future[bytes]] = deque()
        try:
            for piece in pieces:
                ahead.append(self._threads.submit(read, piece))
                if len(ahead) > _AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def _cut(ranges: Iterable[Range]) -> Iterator[Range]:
    for one in ranges:
        for start in range(one.start, one.end, PIECE_BYTES):
            yield Range(one.key, start, min(one.end, start + PIECE_BYTES))
