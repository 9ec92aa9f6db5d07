# SPDX-License-Identifier: Apache-2.0
"""The event files and profiles of runs and folders, wherever they are, as things of which ranges can be read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aboard.errors import DamagedDocument
from aboard.events.file_names import is_profile
from aboard.folder_files import opened_file, opened_folder, read_all
from aboard.reader.root import Root
from aboard.services.open_run import RunPlace
from aboard.services.run_files import StoredFile
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
        place = RunPlace(self.run.store.uri, self.run.uid)
        if not place.is_remote:
            with contextlib.suppress(DamagedDocument):
                self._manifest()
            return [*files_below(place.root, place.within), *self._profiles]
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


def files_below(root: Root, within: Path | None) -> Iterator[SourceFile]:
    """The event files below a folder or URI; `within`, a folder at or above `root`, is the one no link leads out of."""
    if isinstance(root, Path):
        yield from _files_in_folder(root, within or root)
    else:
        yield from _files_in_store(open_store(root.uri, read_only=True))


def _files_in_folder(root: Path, within: Path) -> Iterator[SourceFile]:
    way = root.relative_to(within)
    try:
        with opened_folder(within, way.as_posix()) as top:
            for folder, folders, names, descriptor in os.fwalk(".", dir_fd=top):
                folders.sort()
                below = Path(folder)
                for name in sorted(names):
                    if not (_MARK in name or is_profile((below / name).as_posix())):
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        state = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                        if stat.S_ISREG(state.st_mode):
                            read = partial(_read_range, within, (way / below / name).as_posix())
                            yield SourceFile("" if folder == "." else below.as_posix(), name, state.st_size, read)
    except FileNotFoundError:
        return  # nothing was logged yet


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


def _read_range(within: Path, key: str, start: int, end: int) -> bytes:
    with opened_file(within, key) as (file, _):
        return read_all(file, start, end - start)
