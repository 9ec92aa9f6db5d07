# SPDX-License-Identifier: Apache-2.0
"""The event files and profiles of runs and folders, wherever they are, as things of which ranges can be read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aboard.control.open_run import RunPlace
from aboard.control.run_files import StoredFile
from aboard.errors import DamagedDocument
from aboard.events.file_names import is_profile
from aboard.reader.root import Root
from aboard.store.opening import open_store
from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import EVENTS, OUTPUT, logdir_of
from aboard.store.run.manifest import Manifest
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

_MARK = "tfevents"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when it was looked at; `read(start, end)` gives bytes of it."""

    folder: str
    """The logdir, or the path below a folder."""
    name: str
    """Of profiles with the folders between the logdir and the file."""
    size: int
    read: Callable[[int, int], bytes]


@dataclass(slots=True)
class StoredRunSource:
    """A run in a store. In a folder its files stand as they are; in a bucket its manifest says what it has."""

    run: RunFolder
    _etag: str = ""
    _profiles: list[SourceFile] = field(default_factory=list[SourceFile])

    def changed_files(self) -> list[SourceFile] | None:
        """Its event files and profiles; None when nothing has changed since they were all copied."""
        root = RunPlace(self.run.store.uri, self.run.uid).root
        if isinstance(root, Path):
            with contextlib.suppress(DamagedDocument):
                self._manifest()
            return [*files_below(root), *self._profiles]
        found = self._manifest()
        if found is None:
            return None
        rows = [row for row in found.files if row.path.startswith(f"{EVENTS}/") and not row.link]
        return [
            *(SourceFile(logdir_of(row.path), row.path.rpartition("/")[2], row.bytes, self._read(row)) for row in rows),
            *self._profiles,
        ]

    def _manifest(self) -> Manifest | None:
        """The manifest, if it has changed; the profiles are then those that belong to it."""
        found = self.run.read_manifest_if_changed(self._etag)
        if found is None:
            return None
        outputs = self.run.read_outputs()
        self._etag = found.etag
        self._profiles = [
            SourceFile(*place, row.bytes, self._read(row))
            for row in (outputs.files if outputs else ())
            if not row.link and not row.gone and (place := _profile_place(row.path))
        ]
        return found.manifest

    def _read(self, row: FileRow) -> Callable[[int, int], bytes]:
        return StoredFile(self.run, row).read

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
            below = "" if Path(folder) == root else str(Path(folder).relative_to(root))
            if (_MARK in name or is_profile(f"{below}/{name}")) and path.is_file() and not path.is_symlink():
                yield SourceFile(below, name, path.stat().st_size, _reading(path))


def _files_in_store(store: Store) -> Iterator[SourceFile]:
    for entry in store.list():
        folder, _, name = entry.key.rpartition("/")
        if _MARK in name or is_profile(entry.key):
            yield SourceFile(folder, name, entry.size, partial(store.get_range, entry.key))


def _profile_place(path: str) -> tuple[str, str] | None:
    """The logdir that a profile among the outputs of a run belongs to, and its path below that."""
    if not is_profile(path):
        return None
    below = path.removeprefix(f"{OUTPUT}/").removeprefix("tensorboard/")
    folder, plugins, name = f"/{below}".rpartition("/plugins/profile/")
    if plugins:
        return folder.strip("/"), f"plugins/profile/{name}"
    folder, _, name = below.rpartition("/")
    return folder, name


def _reading(path: Path) -> Callable[[int, int], bytes]:
    def read(start: int, end: int) -> bytes:
        with path.open("rb") as file:
            return os.pread(file.fileno(), end - start, start)

    return read
