# SPDX-License-Identifier: Apache-2.0
"""A store in the memory of this process, for tests: it behaves like a bucket, so it cannot append."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from aboard.errors import KeyExists, KeyNotFound
from aboard.foundation.files import open_source
from aboard.store.store import ByteRange, FetchedObject, ObjectInfo, Store
from aboard.store.uri import join_key


class _Bucket:
    """What all stores of one name share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.objects: dict[str, tuple[FetchedObject, float]] = {}
        self.etags = itertools.count(1)


_buckets: dict[str, _Bucket] = {}
_buckets_lock = threading.Lock()


class MemoryStore(Store):
    """Bytes in a dictionary."""

    def __init__(self, uri: str, name: str, prefix: str, *, read_only: bool) -> None:
        super().__init__(uri, read_only=read_only)
        with _buckets_lock:
            self._bucket = _buckets.setdefault(name, _Bucket())
        self._prefix = prefix

    def _put_bytes(self, key: str, data: bytes, *, create_only: bool) -> str:
        bucket, full = self._bucket, join_key(self._prefix, key)
        with bucket.lock:
            if create_only and full in bucket.objects:
                raise KeyExists(f"{key} exists already in {self.uri}.")
            fetched = FetchedObject(data, f"{next(bucket.etags):x}")
            bucket.objects[full] = fetched, time.time()
        self.traffic.add("put", bytes_out=len(data))
        return fetched.etag

    def _put_file(self, key: str, path: Path, *, create_only: bool) -> str:
        with open_source(path, key) as source:
            return self._put_bytes(key, source.read(), create_only=create_only)

    def _put_stream(self, key: str, pieces: Iterator[bytes], size: int) -> str:
        return self._put_bytes(key, b"".join(pieces), create_only=False)

    def _get(self, key: str) -> FetchedObject:
        fetched, _ = self._find(key)
        self.traffic.add("get", bytes_in=len(fetched.data))
        return fetched

    def _get_if_changed(self, key: str, etag: str) -> FetchedObject | None:
        fetched, _ = self._find(key)
        same = fetched.etag == etag
        self.traffic.add("get", bytes_in=0 if same else len(fetched.data))
        return None if same else fetched

    def _get_range(self, key: str, wanted: ByteRange) -> bytes:
        return self._get_ranges(key, [wanted])[0]

    def _get_ranges(self, key: str, wanted: Sequence[ByteRange]) -> Sequence[bytes]:
        fetched, _ = self._find(key)
        pieces = [fetched.data[one.start : one.end] for one in wanted]
        self.traffic.add("get", len(wanted), bytes_in=sum(map(len, pieces)))
        return pieces

    def _stream(self, key: str) -> Iterator[bytes]:
        yield self._get(key).data

    def _head(self, key: str) -> ObjectInfo:
        self.traffic.add("head")
        fetched, modified = self._find(key)
        return ObjectInfo(key, len(fetched.data), modified, fetched.etag)

    def _list(self, folder: str, start_after: str) -> Iterator[ObjectInfo]:
        self.traffic.add("list")
        for key, (fetched, modified) in self._below(folder):
            if key > start_after:
                yield ObjectInfo(key, len(fetched.data), modified, fetched.etag)

    def _list_folders(self, folder: str, start_after: str) -> Iterator[str]:
        self.traffic.add("list")
        skipped = len(folder) + 1 if folder else 0
        rests = [key[skipped:] for key, _ in self._below(folder)]
        names = {rest.split("/")[0] + "/" for rest in rests if "/" in rest}
        yield from (name[:-1] for name in sorted(names) if not start_after or name > f"{start_after}/")

    def _delete(self, keys: Sequence[str]) -> None:
        self.traffic.add("delete")
        with self._bucket.lock:
            for key in keys:
                self._bucket.objects.pop(join_key(self._prefix, key), None)

    def _find(self, key: str) -> tuple[FetchedObject, float]:
        with self._bucket.lock:
            found = self._bucket.objects.get(join_key(self._prefix, key))
        if found is None:
            raise KeyNotFound(f"There is no {key} in {self.uri}.")
        return found

    def _below(self, folder: str) -> list[tuple[str, tuple[FetchedObject, float]]]:
        with self._bucket.lock:
            everything = sorted(self._bucket.objects.items(), key=lambda item: item[0])
        start = f"{self._prefix}/" if self._prefix else ""
        inside = f"{start}{folder}/" if folder else start
        return [(key[len(start) :], found) for key, found in everything if key.startswith(inside)]
