# SPDX-License-Identifier: Apache-2.0
"""The event files of runs and folders, wherever they are, as things of which ranges can be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aboard.control.open_run import RunPlace
from aboard.control.run_files import StoredFile
from aboard.reader.root import Root
from aboard.store.opening import open_store
from aboard.store.run.layout import EVENTS, logdir_of
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

_MARK = "tfevents"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when it was looked at; `read(start, end)` gives bytes of it."""

    folder: str
    """The logdir, or the path below a folder."""
    name: str
    size: int
    read: Callable[[int, int], bytes]


@dataclass(slots=True)
class StoredRunSource:
    """A run in a store. In a folder its files stand as they are; in a bucket its manifest says what it has."""

    run: RunFolder
    _etag: str = ""

    def changed_files(self) -> list[SourceFile] | None:
        """Its event files; None when nothing has changed since they were all copied."""
        root = RunPlace(self.run.store.uri, self.run.uid).root
        if isinstance(root, Path):
            return list(files_below(root))
        found = self.run.read_manifest_if_changed(self._etag)
        if found is None:
            return None
        self._etag = found.etag
        rows = [row for row in found.manifest.files if row.path.startswith(f"{EVENTS}/") and not row.link]
        return [
            SourceFile(logdir_of(row.path), row.path.rpartition("/")[2], row.bytes, StoredFile(self.run, row).read)
            for row in rows
        ]

    def look_again(self) -> None:
        """Not all was copied."""
        self._etag = ""


def files_below(root: Root) -> Iterator[SourceFile]:
    """The event files below a folder or URI."""
    if isinstance(root, Path):
        yield from _files_in_folder(root)
    else:
        yield from _files_in_store(open_store(root.uri, read_only=True))


def _files_in_folder(root: Path) -> Iterator[SourceFile]:
    for folder, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if _MARK in name and path.is_file() and not path.is_symlink():
                below = "" if Path(folder) == root else str(Path(folder).relative_to(root))
                yield SourceFile(below, name, path.stat().st_size, _reading(path))


def _files_in_store(store: Store) -> Iterator[SourceFile]:
    for entry in store.list():
        folder, _, name = entry.key.rpartition("/")
        if _MARK in name:
            yield SourceFile(folder, name, entry.size, partial(store.get_range, entry.key))


def _reading(path: Path) -> Callable[[int, int], bytes]:
    def read(start: int, end: int) -> bytes:
        with path.open("rb") as file:
            return os.pread(file.fileno(), end - start, start)

    return read
