# SPDX-License-Identifier: Apache-2.0
"""Fetches parts of objects in parallel, without the contents of large records.

Threads exist while there is work, because a process may have many idle stores open. Slow runs do not hold up others.

Records are found by going from header to header, so what lies behind a large one can only be fetched once that one
was met. That costs a round trip for each and pays from about a megabyte on; smaller pictures are fetched with
everything else. Nothing inside a large field is needed to know what its event is: the tag and the metadata stand
before and behind it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, ParamSpec, TypeVar

from aboard._native import hop_records
from aboard.reader.mirror.copies import NewCopy

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class LazyThreadPool:
    """At most `count` threads. `rest` lets go of them until the next call; `close` for good."""

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._is_closed = False

    def submit(
        self, call: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> Future[_Result]:
        """Do something on one of the threads."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("this store was closed")
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._count, thread_name_prefix=self._name)
            return self._threads.submit(call, *args, **kwargs)

    def rest(self) -> None:
        """Let the threads end when they have done what they were given."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    def close(self) -> None:
        """Begin nothing more; what is under way is not waited for."""
        with self._lock:
            self._is_closed = True
            threads = self._threads
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)


_AT_ONCE = 32  # each waits for one answer after the other
_WAIT_SECONDS = 5.0  # for those that answer slowly, before the others are asked again


class TaskPool:
    """Tasks for many runs or folders at once, of which slow ones do not hold up the others."""

    def __init__(self) -> None:
        self._threads = LazyThreadPool(_AT_ONCE, "aboard-store")
        self._busy: set[str] = set()
        self.submit = self._threads.submit
        self.rest = self._threads.rest
        self.close = self._threads.close

    def is_busy(self, key: str) -> bool:
        """Whether the work on something has not come to its end."""
        return key in self._busy

    def late(self, work: Iterable[Future[Any]], *, patient: bool) -> set[Future[Any]]:
        """Wait, for all who is patient, else a moment; what is not done by then."""
        return wait(list(work), None if patient else _WAIT_SECONDS).not_done

    def leave_alone(self, key: str, work: Future[Any], then: Callable[[bool], None] = lambda _: None) -> None:
        """Do not touch something until the work on it has come to its end."""
        self._busy.add(key)

        def ended(done: Future[Any]) -> None:
            try:
                then(not done.cancelled() and bool(done.result()))
            finally:
                self._busy.discard(key)

        work.add_done_callback(ended)


PIECE_BYTES = 4 << 20
_AHEAD = 2  # pieces of one file, so that many files at once do not fill the memory
_THREADS = 16


class ObjectRange(NamedTuple):
    """Bytes `start` to `end` of the object under a key."""

    key: str
    start: int
    end: int


class RangeFetcher:
    """Fetches ranges of objects on a pool of threads, and hands them out in order."""

    def __init__(self) -> None:
        self._threads = LazyThreadPool(_THREADS, "aboard-fetch")
        self.rest = self._threads.rest
        self.close = self._threads.close

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """Do something on one of the threads."""
        return self._threads.submit(call)

    def in_order(self, ranges: Iterable[ObjectRange], read: Callable[[ObjectRange], bytes]) -> Iterator[bytes]:
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


def _cut(ranges: Iterable[ObjectRange]) -> Iterator[ObjectRange]:
    for one in ranges:
        for start in range(one.start, one.end, PIECE_BYTES):
            yield ObjectRange(one.key, start, min(one.end, start + PIECE_BYTES))


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Field numbers from Event down. Messages are entered, contents may be left out.
_MESSAGES = {(5,), (5, 1), (5, 1, 4), (5, 1, 6), (5, 1, 8), (8,)}
_CONTENTS = {
    (4,),  # graph_def
    (9,),  # meta_graph_def
    (8, 2),  # run_metadata of tagged_run_metadata
    (5, 1, 4, 4),  # encoded_image_string
    (5, 1, 6, 5),  # encoded_audio_string
    *((5, 1, 8, field) for field in (4, 5, 6, 7, 8, 10)),  # the elements of a tensor
}


def large_field(beginning: bytes, length: int) -> tuple[int, int] | None:
    """Where in an event of `length` bytes the content lies that its `beginning` does not hold all of; None: unknown."""
    path: tuple[int, ...] = ()
    at, end = 0, length
    while at < end:
        key = _varint(beginning, at)
        if key is None:
            return None
        (number, at), kind = key, key[0] & 7
        if kind == _BYTES:
            size = _varint(beginning, at)
            if size is None or size[1] + size[0] > end:
                return None
            begin, stop = size[1], size[1] + size[0]
            here = (*path, number >> 3)
            if stop <= len(beginning):
                at = stop
            elif here in _CONTENTS:
                return begin, stop
            elif here in _MESSAGES:
                path, at, end = here, begin, stop
            else:
                return None
        elif kind == _VARINT:
            value = _varint(beginning, at)
            if value is None:
                return None
            at = value[1]
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            return None
    return None


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    """A number and where it ends; None when it is not all there."""
    value = 0
    for place in range(10):
        if at + place >= len(data):
            return None
        byte = data[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    return None


_WORTH_SKIPPING = 1 << 20
_SHORT_WINDOW = 256 << 10  # behind a large record there is most often another one
_LONG_WINDOW = 4 * PIECE_BYTES
_HEADER_BYTES, _OVERHEAD_BYTES = 12, 16
_LONGEST_RECORD = 1 << 29  # as for the reader

Read = Callable[[int, int], Iterator[bytes]]
"""The bytes of a range, in order."""


def copy_skimmed(read: Read, size: int, copy: NewCopy) -> None:
    """Copy `size` bytes that `read` hands out. Where anything is unclear, everything from there on is copied."""
    if size <= PIECE_BYTES:
        _copy_all(read, 0, size, copy)
        return
    position = record = 0  # what is to be fetched next, and where the record begins that was met last
    window, known = PIECE_BYTES, b""  # the bytes from `record` to `position`
    while position < size:
        data = b"".join(read(position, min(position + window, size)))
        copy.write(data)
        known = known + data if record <= position else data[record - position :]
        position += len(data)
        if record > position:
            continue
        hopped, length, longest = hop_records(known)
        record, known = record + hopped, known[hopped:]
        if length < 0 and len(known) >= _HEADER_BYTES:  # damaged, and the reader will search for what follows
            _copy_all(read, position, size, copy)
            return
        end = record + length + _OVERHEAD_BYTES
        is_large = end - position > _WORTH_SKIPPING and length < _LONGEST_RECORD and end <= size
        field = large_field(known[_HEADER_BYTES:], length) if length >= 0 and is_large else None
        if field is not None:
            behind = record + _HEADER_BYTES + field[1]
            copy.skip(record, position, behind)
            position, record, known = behind, end, b""
        met_large = field is not None or longest >= _WORTH_SKIPPING
        window = _SHORT_WINDOW if met_large else min(window * 4, _LONG_WINDOW)


def _copy_all(read: Read, begin: int, end: int, copy: NewCopy) -> None:
    for data in read(begin, end):
        copy.write(data)
