# SPDX-License-Identifier: Apache-2.0
"""A store in a bucket of S3, Google Cloud Storage, Azure Blob Storage or OSS, through obstore.

Large objects travel in parts, so that each request is short enough for the limits of `Patience`. Keys are listed in the
order of the provider, which is that of their bytes. (SeaweedFS sorts folder by folder instead: `a/b` before `a-b`.)
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from aboard.errors import KeyNotFound, StoreError, StoreUnreachable
from aboard.foundation.files import open_source
from aboard.store.clouds.client import BucketClient, is_panic, obstore_of_this_process
from aboard.store.clouds.errors import is_beyond_end, is_conflict, translate
from aboard.store.store import ByteRange, FetchedObject, ObjectInfo, Store
from aboard.store.uri import join_key

PART_BYTES = 8 << 20
MAX_PARTS = 9_000  # S3 takes 10,000
PARTS_AT_ONCE = 4
DOWNLOAD_BYTES = 16 << 20
DELETES_AT_ONCE = 8
CONFLICT_TRIES = 4
LAST_CHARACTER = "\U0010fffd"  # no key of a folder comes after this name in it


class ObjectStore(Store):
    """Bytes in objects below one prefix of a bucket."""

    def __init__(self, uri: str, prefix: str, client: BucketClient, *, read_only: bool) -> None:
        super().__init__(uri, read_only=read_only)
        self._prefix = prefix
        self._client = client

    def _put_bytes(self, key: str, data: bytes, *, create_only: bool) -> str:
        if create_only:
            return self._create(key, data)
        return self._overwrite(key, data, len(data))

    def _put_file(self, key: str, path: Path, *, create_only: bool) -> str:
        with open_source(path, key) as source:
            size = os.fstat(source.fileno()).st_size
            if create_only or size <= PART_BYTES:
                return self._put_bytes(key, source.read(), create_only=create_only)
        return self._overwrite(key, path, size)

    def _put_stream(self, key: str, pieces: Iterator[bytes], size: int) -> str:
        if size <= PART_BYTES:
            return self._put_bytes(key, b"".join(pieces), create_only=False)
        return self._overwrite(key, pieces, size)

    def _overwrite(self, key: str, data: bytes | Path | Iterator[bytes], size: int) -> str:
        part = max(PART_BYTES, math.ceil(size / MAX_PARTS))
        in_parts = size > PART_BYTES
        requests = math.ceil(size / part) + self._client.requests_around_parts if in_parts else 1
        self.traffic.add("put", requests)
        with self._errors("write", key) as obstore:
            put = obstore.put(
                self._client.writing,
                self._full(key),
                data,
                use_multipart=in_parts,
                chunk_size=part,
                max_concurrency=PARTS_AT_ONCE,
            )
        self.traffic.add("put", 0, bytes_out=size)
        return _plain(put["e_tag"])

    def _create(self, key: str, data: bytes) -> str:
        client = self._client
        for tries_left in reversed(range(CONFLICT_TRIES)):
            self.traffic.add("put", bytes_out=len(data))
            with self._errors("create", key) as obstore:
                try:
                    put = obstore.put(client.creating, self._full(key), data, mode=client.create_mode)
                    return _plain(put["e_tag"])
                except obstore.exceptions.BaseError as error:
                    if not tries_left or not is_conflict(error):
                        raise
        raise AssertionError("the last try returns or raises")

    def _get(self, key: str) -> FetchedObject:
        return self._fetch(key, {})

    def _get_if_changed(self, key: str, etag: str) -> FetchedObject | None:
        try:
            return self._fetch(key, {"if_none_match": _quoted(etag)})
        except _NotModified:
            return None

    def _fetch(self, key: str, options: dict[str, Any]) -> FetchedObject:
        self.traffic.add("get")
        with self._errors("read", key) as obstore:
            try:
                answer = obstore.get(self._client.reading, self._full(key), options=options)
                data = answer.bytes().to_bytes()
                etag = _plain(answer.meta["e_tag"])
            except obstore.exceptions.NotModifiedError:
                raise _NotModified from None
        self.traffic.add("get", 0, bytes_in=len(data))
        return FetchedObject(data, etag)

    def _get_range(self, key: str, wanted: ByteRange) -> bytes:
        self.traffic.add("get")
        with self._errors("read", key) as obstore:
            try:
                data = obstore.get_range(
                    self._client.reading, self._full(key), start=wanted.start, end=wanted.end
                ).to_bytes()
            except obstore.exceptions.BaseError as error:
                if not is_beyond_end(error):
                    raise
                return b""
        self.traffic.add("get", 0, bytes_in=len(data))
        return data

    def _get_ranges(self, key: str, wanted: Sequence[ByteRange]) -> Sequence[bytes]:
        if len(wanted) == 1:
            return [self._get_range(key, wanted[0])]
        starts, ends = zip(*wanted, strict=True)
        self.traffic.add("get", len(wanted))
        with self._errors("read", key) as obstore:
            try:
                found = obstore.get_ranges(self._client.reading, self._full(key), starts=starts, ends=ends, coalesce=0)
            except obstore.exceptions.BaseError as error:
                if not is_beyond_end(error):
                    raise
                return [self._get_range(key, one) for one in wanted]
            pieces = [piece.to_bytes() for piece in found]
        self.traffic.add("get", 0, bytes_in=sum(map(len, pieces)))
        return pieces

    def _stream(self, key: str) -> Iterator[bytes]:
        """Ranges one after the other, all of one and the same version of the object."""
        start, size, options = 0, 1, dict[str, Any]()
        while start < size:
            self.traffic.add("get")
            with self._errors("read", key) as obstore:
                try:
                    wanted = {**options, "range": (start, start + DOWNLOAD_BYTES)}
                    answer = obstore.get(self._client.reading, self._full(key), options=wanted)
                    piece = answer.bytes().to_bytes()
                except obstore.exceptions.PreconditionError:
                    raise StoreUnreachable(f"{key} was replaced in {self.uri} while it was read.") from None
                except obstore.exceptions.BaseError as error:
                    if start or not is_beyond_end(error):
                        raise
                    return
                size, etag = answer.meta["size"], answer.meta["e_tag"]
            options = {"if_match": _quoted(_plain(etag))} if etag else {}
            start += len(piece)
            self.traffic.add("get", 0, bytes_in=len(piece))
            yield piece

    def _head(self, key: str) -> ObjectInfo:
        self.traffic.add("head")
        try:
            with self._errors("read", key) as obstore:
                return self._entry(obstore.head(self._client.reading, self._full(key)))
        except (KeyNotFound, StoreUnreachable):
            raise
        except StoreError:
            self._get_range(key, ByteRange(0, 1))  # the answer to HEAD has no body; this one says why
            raise

    def _list(self, folder: str, start_after: str) -> Iterator[ObjectInfo]:
        count, page = 0, self._client.page_size
        offset = join_key(self._prefix, start_after) if start_after else None
        self.traffic.add("list")
        with self._errors("list", "") as obstore:
            pages = obstore.list(self._client.reading, self._full(folder) or None, offset=offset, chunk_size=page)
            for metas in pages:
                for meta in metas:
                    if count and count % page == 0:
                        self.traffic.add("list")
                    count += 1
                    entry = self._entry(meta)
                    if entry.key > start_after:  # not every server knows where to start
                        yield entry

    def _list_folders(self, folder: str, start_after: str) -> Iterator[str]:
        if start_after:
            yield from self._folders_after(folder, start_after)
            return
        with self._errors("list", "") as obstore:
            found = obstore.list_with_delimiter(self._client.reading, self._full(folder) or None)
        prefixes: Sequence[str] = found["common_prefixes"]
        seen = len(prefixes) + len(found["objects"])
        self.traffic.add("list", max(1, math.ceil(seen / self._client.page_size)))
        yield from sorted((prefix.rsplit("/", 1)[-1] for prefix in prefixes), key=lambda name: f"{name}/")

    def _folders_after(self, folder: str, start_after: str) -> Iterator[str]:
        """Names of later folders, read off their keys: only what is new is listed, and no folder to its end."""
        skipped = len(folder) + 1 if folder else 0
        name, seen = start_after, self._client.page_size
        while seen >= self._client.page_size:
            seen = 0
            for entry in self._list(folder, join_key(folder, f"{name}/{LAST_CHARACTER}")):
                found, slash, _ = entry.key[skipped:].partition("/")
                if not slash:
                    continue
                if found != name:
                    name, seen = found, 0
                    yield name
                seen += 1
                if seen >= self._client.page_size:
                    break

    def _delete(self, keys: Sequence[str]) -> None:
        if self._client.bulk_delete:
            self.traffic.add("delete", math.ceil(len(keys) / 1000))
            with self._errors("delete", keys[0]) as obstore:
                obstore.delete(self._client.writing, [self._full(key) for key in keys])
            return
        with ThreadPoolExecutor(min(len(keys), DELETES_AT_ONCE)) as threads:
            list(threads.map(self._delete_one, keys))

    def _delete_one(self, key: str) -> None:
        self.traffic.add("delete")
        with contextlib.suppress(KeyNotFound), self._errors("delete", key) as obstore:
            obstore.delete(self._client.writing, self._full(key))

    def _full(self, key: str) -> str:
        return join_key(self._prefix, key)

    def _entry(self, meta: Any) -> ObjectInfo:
        key = meta["path"][len(self._prefix) + 1 :] if self._prefix else meta["path"]
        return ObjectInfo(key, meta["size"], meta["last_modified"].timestamp(), _plain(meta["e_tag"]))

    @contextlib.contextmanager
    def _errors(self, action: str, key: str) -> Generator[Any]:
        """obstore, whose errors become those of the store."""
        obstore = obstore_of_this_process()
        try:
            yield obstore
        except (StoreError, _NotModified):
            raise
        except (obstore.exceptions.BaseError, OSError) as error:
            raise translate(error, self._client.bucket, action, key) from None
        except BaseException as error:
            if not is_panic(error):
                raise
            raise StoreError(
                f"{self._client.bucket.uri}: could not {action} {key or 'it'}: the obstore library failed ({error}).",
                hint="Check the URI and the endpoint. If they are right, report this as a bug of obstore.",
            ) from None


class _NotModified(Exception):
    """The object still has the etag that was asked for."""


def _plain(etag: str | None) -> str:
    """Providers quote the same etag in one answer and not in the next."""
    return (etag or "").strip('"')


def _quoted(etag: str) -> str:
    return etag if etag.startswith("W/") else f'"{etag}"'
