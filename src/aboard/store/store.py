# SPDX-License-Identifier: Apache-2.0
"""The contract of a store: bytes under keys, in a folder or a bucket.

A store promises create-only puts, atomic overwrites and conditional reads, and nothing more: no locks, no
compare-and-swap, no rename. Every method may be called from several threads at once. Keys are checked by
`aboard.store.uri`; errors are the `StoreError`s of `aboard.errors`. `uri` opens the same store again, and neither it
nor an error ever holds a secret.

Implementations define the underscored methods, which get checked arguments and count their own traffic. Ranges of
bytes that are close together are fetched with one request. Traffic counts the requests that the store decided to
make; it does not see what the network layer retries.
"""

from __future__ import annotations

import bisect
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from aboard.errors import InvalidType, InvalidValue, KeyNotFound, StoreError, StoreReadOnly
from aboard.store.uri import check_folder, check_key, check_start_after

DEFAULT_GAP = 64 * 1024  # fetching this much for nothing is cheaper than a request of its own


class ByteRange(NamedTuple):
    """Bytes from `start` up to, not including, `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def merge_ranges(wanted: Sequence[ByteRange], gap: int) -> list[ByteRange]:
    """The fewest ranges that cover all of `wanted`, where holes of up to `gap` bytes are fetched too."""
    merged: list[ByteRange] = []
    for one in sorted(one for one in wanted if one.length):
        if merged and one.start <= merged[-1].end + max(gap, 0):
            merged[-1] = ByteRange(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged


def cut_ranges(wanted: Sequence[ByteRange], fetched: Sequence[ByteRange], content: Sequence[bytes]) -> list[bytes]:
    """The bytes of each of `wanted` out of the content of the merged ranges."""
    starts = [one.start for one in fetched]
    pieces: list[bytes] = []
    for one in wanted:
        place = bisect.bisect_right(starts, one.start) - 1
        if not one.length or place < 0:
            pieces.append(b"")
            continue
        offset = one.start - starts[place]
        pieces.append(content[place][offset : offset + one.length])
    return pieces


@dataclass(frozen=True)
class TrafficCount:
    requests: Mapping[str, int]
    """By kind: get, head, list, put, append, delete."""
    bytes_in: int
    bytes_out: int

    @property
    def total_requests(self) -> int:
        return sum(self.requests.values())

    def __sub__(self, earlier: TrafficCount) -> TrafficCount:
        """What came between two counts."""
        kinds = {kind: count - earlier.requests.get(kind, 0) for kind, count in self.requests.items()}
        between = {kind: count for kind, count in kinds.items() if count}
        return TrafficCount(between, self.bytes_in - earlier.bytes_in, self.bytes_out - earlier.bytes_out)


class Traffic:
    """The counters of one store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._bytes_in = 0
        self._bytes_out = 0

    def add(self, kind: str, requests: int = 1, *, bytes_in: int = 0, bytes_out: int = 0) -> None:
        """Count requests of one kind, or bytes that came with them."""
        with self._lock:
            if requests:
                self._requests[kind] += requests
            self._bytes_in += bytes_in
            self._bytes_out += bytes_out

    def count(self) -> TrafficCount:
        with self._lock:
            return TrafficCount(MappingProxyType(dict(self._requests)), self._bytes_in, self._bytes_out)


Data = bytes | bytearray | memoryview | Path


@dataclass(frozen=True)
class ObjectInfo:
    """Key, size, time and etag of one object of a store."""

    key: str
    size: int
    modified: float
    """Seconds since 1970, by the clock of the store."""
    etag: str
    """Differs when the content differs; opaque, without quotes."""


@dataclass(frozen=True)
class FetchedObject:
    """The whole content of an object, and the tag of just this content."""

    data: bytes
    etag: str


class Store(ABC):
    """Bytes under keys."""

    can_append: ClassVar[bool] = False
    """Whether `append` works; where it does not, growing files are kept as several objects."""

    def __init__(self, uri: str, *, read_only: bool) -> None:
        self.uri = uri
        self.read_only = read_only
        self.traffic = Traffic()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.uri}{' read-only' if self.read_only else ''}>"

    def check(self) -> None:
        """Raise if the store is not there or may not be listed; one request."""
        next(iter(self.list()), None)

    def put(self, key: str, data: Data, *, create_only: bool = False) -> str:
        """Write bytes, or the local file at a `Path`, and return the etag; readers see all of it or nothing of it.

        With `create_only` the first of several writers wins and the others get `KeyExists`. When the answer to a
        create-only put is lost, the put may have happened although an error is raised: what is written should tell who
        wrote it. A large file is sent in parts, without being held in memory, unless it is `create_only`.
        """
        check_key(key)
        self._check_writable(key)
        if isinstance(data, Path):
            return self._put_file(key, data, create_only=create_only)
        return self._put_bytes(key, _checked_bytes(key, data), create_only=create_only)

    def put_stream(self, key: str, pieces: Iterable[bytes], *, size: int) -> str:
        """Write about `size` bytes as they come, and return the etag; readers see all of it or nothing of it.

        What `pieces` raises leaves what was under the key before: a source can be checked while it is read.
        """
        check_key(key)
        self._check_writable(key)
        return self._put_stream(key, iter(pieces), max(size, 0))

    def append(self, key: str, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write at the end, which must be `position`, and return the new size; position 0 creates what is missing."""
        check_key(key)
        self._check_writable(key)
        if position < 0:
            raise InvalidValue(f"{key}: a position is not negative: {position}.")
        return self._append(key, _checked_bytes(key, data), position)

    def get(self, key: str) -> bytes:
        """The whole content."""
        return self._get(check_key(key)).data

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """Bytes from `start` up to, not including, `end`; fewer where the object ends earlier, as with pread."""
        one = _checked_range(key, start, end)
        return self._get_range(key, one) if one.length else b""

    def get_ranges(self, key: str, ranges: Iterable[tuple[int, int]], *, gap: int = DEFAULT_GAP) -> list[bytes]:
        """Several ranges at once, in parallel; those at most `gap` bytes apart come with one request."""
        wanted = [_checked_range(key, start, end) for start, end in ranges]
        fetched = merge_ranges(wanted, gap)
        return cut_ranges(wanted, fetched, self._get_ranges(key, fetched)) if fetched else [b""] * len(wanted)

    def get_if_changed(self, key: str, etag: str) -> FetchedObject | None:
        """The content and its etag, or None while it still has `etag`; an empty etag always reads."""
        check_key(key)
        return self._get_if_changed(key, etag) if etag else self._get(key)

    def stream(self, key: str) -> Iterator[bytes]:
        """The content in pieces, all of one version of it; one request where it is not large."""
        return self._stream(check_key(key))

    def download(self, key: str, path: Path) -> int:
        """Copy the content into a local file, which appears when it is whole; the number of bytes."""
        from aboard.foundation.files import written_aside

        with written_aside(path) as file:
            size = 0
            for piece in self._stream(check_key(key)):
                size += len(piece)
                file.write(piece)
        return size

    def head(self, key: str) -> ObjectInfo:
        """What is known of an object without reading it."""
        return self._head(check_key(key))

    def exists(self, key: str) -> bool:
        try:
            self.head(key)
        except KeyNotFound:
            return False
        return True

    def list(self, folder: str = "", *, start_after: str = "") -> Iterator[ObjectInfo]:
        """Everything below `folder`, in the order of the keys, page by page; after the key `start_after`, if given."""
        return self._list(check_folder(folder), check_start_after(start_after))

    def list_folders(self, folder: str = "", *, start_after: str = "") -> Iterator[str]:
        """Names of the folders directly in `folder`, in order; after the name `start_after`, if given."""
        if "/" in start_after:
            raise InvalidValue(f"start_after={start_after!r}: the name of a folder has no slash.")
        return self._list_folders(check_folder(folder), check_folder(start_after))

    def delete(self, keys: str | Iterable[str]) -> None:
        """Delete objects; what is not there is no error."""
        wanted = [check_key(key) for key in ([keys] if isinstance(keys, str) else keys)]
        if wanted:
            self._check_writable(wanted[0])
            self._delete(wanted)

    def _check_writable(self, key: str) -> None:
        if self.read_only:
            raise StoreReadOnly(f"{self.uri} is open for reading only: {key} was not changed.")

    def _append(self, key: str, data: bytes, position: int) -> int:
        raise StoreError(f"{self.uri} cannot append to {key} at {position}: only folders can ({len(data)} bytes).")

    @abstractmethod
    def _put_bytes(self, key: str, data: bytes, *, create_only: bool) -> str: ...

    @abstractmethod
    def _put_file(self, key: str, path: Path, *, create_only: bool) -> str: ...

    @abstractmethod
    def _put_stream(self, key: str, pieces: Iterator[bytes], size: int) -> str: ...

    @abstractmethod
    def _get(self, key: str) -> FetchedObject: ...

    @abstractmethod
    def _get_range(self, key: str, wanted: ByteRange) -> bytes: ...

    @abstractmethod
    def _get_ranges(self, key: str, wanted: Sequence[ByteRange]) -> Sequence[bytes]: ...

    @abstractmethod
    def _get_if_changed(self, key: str, etag: str) -> FetchedObject | None: ...

    @abstractmethod
    def _stream(self, key: str) -> Iterator[bytes]: ...

    @abstractmethod
    def _head(self, key: str) -> ObjectInfo: ...

    @abstractmethod
    def _list(self, folder: str, start_after: str) -> Iterator[ObjectInfo]: ...

    @abstractmethod
    def _list_folders(self, folder: str, start_after: str) -> Iterator[str]: ...

    @abstractmethod
    def _delete(self, keys: Sequence[str]) -> None: ...


def _checked_bytes(key: str, data: bytes | bytearray | memoryview) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidType(f"{key}: bytes or a pathlib.Path can be put, not {type(data).__name__}.")
    return bytes(data)


def _checked_range(key: str, start: int, end: int) -> ByteRange:
    check_key(key)
    if start < 0 or end < start:
        raise InvalidValue(f"{key}: {start} to {end} is not a range of bytes.", hint="0 ≤ start ≤ end is needed.")
    return ByteRange(start, end)
