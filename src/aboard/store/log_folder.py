# SPDX-License-Identifier: Apache-2.0
"""A log folder that looks like a store with one run: files go plainly below its URI, documents stay on this machine.

So everything that ships runs ships log folders too, while their readers find event files and nothing else. Several
machines may write into one log folder: what is listed here are the files of this one only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aboard.errors import StoreError
from aboard.store.run.layout import EVENTS, OUTPUT, USUAL_EVENTS
from aboard.store.store import ByteRange, FetchedObject, ObjectInfo, Store


class LogFolderStore(Store):
    """`<uid>/tb/…` and `<uid>/output/tensorboard/…` are in `remote`, whatever else there is in `documents`."""

    def __init__(self, remote: Store, documents: Store, uid: str, is_own: Callable[[str], bool]) -> None:
        super().__init__(remote.uri, read_only=False)
        if remote.can_append:
            raise StoreError(f"{remote.uri} is a folder, and needs nobody who ships.")
        self.traffic = remote.traffic
        self._remote = remote
        self._documents = documents
        self._is_own = is_own
        self._tops = (f"{uid}/{EVENTS}/", f"{uid}/{USUAL_EVENTS}/")
        self._whole = {f"{uid}/{EVENTS}": self._tops[0], f"{uid}/{OUTPUT}": self._tops[1]}

    def _route(self, key: str) -> tuple[Store, str]:
        for top in self._tops:
            if key.startswith(top):
                return self._remote, key[len(top) :]
        return self._documents, key

    def _put_bytes(self, key: str, data: bytes, *, create_only: bool) -> str:
        store, name = self._route(key)
        return store.put(name, data, create_only=create_only)

    def _put_file(self, key: str, path: Path, *, create_only: bool) -> str:
        store, name = self._route(key)
        return store.put(name, path, create_only=create_only)

    def _put_stream(self, key: str, pieces: Iterator[bytes], size: int) -> str:
        store, name = self._route(key)
        return store.put_stream(name, pieces, size=size)

    def _get(self, key: str) -> FetchedObject:
        store, name = self._route(key)
        fetched = store.get_if_changed(name, "")
        assert fetched is not None  # an empty tag always reads
        return fetched

    def _get_range(self, key: str, wanted: ByteRange) -> bytes:
        store, name = self._route(key)
        return store.get_range(name, wanted.start, wanted.end)

    def _get_ranges(self, key: str, wanted: Sequence[ByteRange]) -> Sequence[bytes]:
        store, name = self._route(key)
        return store.get_ranges(name, [(one.start, one.end) for one in wanted])

    def _get_if_changed(self, key: str, etag: str) -> FetchedObject | None:
        store, name = self._route(key)
        return store.get_if_changed(name, etag)

    def _stream(self, key: str) -> Iterator[bytes]:
        yield self._get(key).data

    def _head(self, key: str) -> ObjectInfo:
        store, name = self._route(key)
        return replace(store.head(name), key=key)

    def _list(self, folder: str, start_after: str) -> Iterator[ObjectInfo]:
        top = self._whole.get(folder)
        if top is None:
            yield from self._documents.list(folder, start_after=start_after)
            return
        for entry in self._remote.list():
            if self._is_own(entry.key):
                yield replace(entry, key=f"{top}{entry.key}")

    def _list_folders(self, folder: str, start_after: str) -> Iterator[str]:
        yield from self._documents.list_folders(folder, start_after=start_after)

    def _delete(self, keys: Sequence[str]) -> None:
        routed = [self._route(key) for key in keys]
        for store in (self._remote, self._documents):
            store.delete([name for one, name in routed if one is store])
