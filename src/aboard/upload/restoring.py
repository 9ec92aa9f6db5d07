# SPDX-License-Identifier: Apache-2.0
"""Brings the output folder of a run back from its store: event files in one piece again, checkpoints, links, times.

Files appear when they are whole. What is there already is left alone unless the store has more or newer, and a file
that was begun is continued: a restore that was interrupted can simply be made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from aboard.errors import DamagedDocument, KeyNotFound, StorageUnavailable
from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import LOG, OUTPUT, usual_source
from aboard.store.run.logical_file import ManifestOutdated
from aboard.store.run.rebuilding import rebuild_growing, rebuild_outputs
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store
from aboard.upload.fetching import Fetching, WrongContent

FILES_AT_ONCE = 4
TRIES = 3
_Document = TypeVar("_Document")


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    files: int
    bytes: int
    """Fetched; what was there already is not counted."""
    kept: int
    """Files that were there already."""
    problems: tuple[str, ...] = ()
    """What could not be restored, and why."""


def restore(store: Store, uid: str, into: str | os.PathLike[str]) -> Restored:
    """Make `into` what the output folder of a run was. Raises when the store or the folder fails."""
    return _Restore(RunFolder(store, uid), Path(into).absolute()).run()


class _Restore:
    def __init__(self, folder: RunFolder, into: Path) -> None:
        self._folder = folder
        self._into = into
        self._problems: list[str] = []
        self._kept: list[Path] = []

    def run(self) -> Restored:
        try:
            self._into.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageUnavailable(f"{self._into} cannot be created: {error.strerror}.") from None
        rows = self._rows()
        with Fetching(self._folder) as fetching, ThreadPoolExecutor(FILES_AT_ONCE) as threads:
            files = [row for row in rows if not row.link]
            done = list(threads.map(self._fetch, [fetching] * len(files), files))
        for row in rows:
            if row.link:
                self._link(row)
        fetched = [count for count in done if count is not None]
        return Restored(len(fetched), sum(fetched), len(self._kept), tuple(self._problems))

    def _rows(self) -> list[FileRow]:
        """What belongs into the folder now: no logs, and nothing that training has deleted."""
        read = self._readable(self._folder.read_manifest)
        growing = read.manifest.files if read else rebuild_growing(self._folder)
        outputs = self._readable(self._folder.read_outputs)
        others = rebuild_outputs(self._folder) if outputs is None else outputs.files
        rows = (*growing, *others)
        return [row for row in rows if not row.gone and not row.source.startswith(f"{LOG}/")]

    def _readable(self, read: Callable[[], _Document | None]) -> _Document | None:
        try:
            return read()
        except DamagedDocument as error:
            self._problems.append(error.message)
            return None

    def _target(self, row: FileRow) -> Path | None:
        """Where a file belongs; what was elsewhere on the other machine goes to the usual place."""
        source = row.source if row.source.startswith(f"{OUTPUT}/") else usual_source(row.path)
        target = self._into / source.partition("/")[2]
        within = os.path.realpath(self._into)
        if os.path.commonpath([within, os.path.realpath(target.parent)]) != within:
            self._problems.append(f"{target} was not restored: a link leads out of {self._into}.")
            return None
        return target

    def _fetch(self, fetching: Fetching, row: FileRow) -> int | None:
        target = self._target(row)
        if target is None:
            return None
        for tries_left in reversed(range(TRIES)):
            if fetching.is_there(row, target):
                self._kept.append(target)
                return None
            try:
                fetching.fetch(row, target)
                return row.bytes
            except (ManifestOutdated, WrongContent) as error:
                again = self._again(row)
                if again is None or not tries_left:
                    self._problems.append(f"{target} was not restored: {error}")
                    return None
                row = again
        return None

    def _again(self, row: FileRow) -> FileRow | None:
        """The newest row of a file that changed while it was fetched, or before the list could be put."""
        read = self._readable(self._folder.read_manifest)
        outputs = self._readable(self._folder.read_outputs)
        rows = [*(read.manifest.files if read else ()), *(outputs.files if outputs else ())]
        found = next((one for one in rows if one.source == row.source), None)
        if found is None or found != row or row.segments is not None:
            return found
        try:
            there = self._folder.store.head(self._folder.key(row.path))
        except KeyNotFound:
            return None
        return replace(row, bytes=there.size, crc32=None, modified=there.modified)

    def _link(self, row: FileRow) -> None:
        target = self._target(row)
        if target is None or target.is_symlink() or target.exists():
            return
        within = os.path.realpath(self._into)
        leads_to = os.path.realpath(target.parent / row.link)
        if Path(row.link).is_absolute() or os.path.commonpath([within, leads_to]) != within:
            self._problems.append(f"{target} was not restored: the link leads out of {self._into}.")
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(row.link)
        except OSError as error:
            self._problems.append(f"{target} was not restored: {error.strerror}.")
