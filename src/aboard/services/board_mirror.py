# SPDX-License-Identifier: Apache-2.0
"""A folder with what a board shows, for programs that must read a real one.

Its files are copies, so nothing that reads them can harm a run. They grow in place and are never replaced: stock
TensorBoard does not notice that another file stands under a name that it knows.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, InvalidValue, StorageUnavailable
from aboard.events.file_names import is_profile
from aboard.model.board import Board
from aboard.model.name_template import BOARD_FIELDS, NameTemplate
from aboard.model.selected_run import SelectedRun
from aboard.services.board_columns import run_columns
from aboard.services.board_folders import short_names
from aboard.services.board_selection import BoardSelection
from aboard.services.mirror_names import MirrorNames, safe_path
from aboard.services.mirror_sources import SourceFile, StoredRunSource, files_below
from aboard.services.open_folders import OpenFolders
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

_PIECE = 4 << 20
LOGS = "logs"
"""The folder with the copies, below that of the mirror."""


class BoardMirror:
    """The mirror of one board; `refresh` is called by one thread of one process at a time."""

    def __init__(
        self,
        place: Path,
        board: Board,
        catalog: Catalog,
        folders: OpenFolders,
        stores: Callable[[], Mapping[str, Store]],
        *,
        default_template: str,
        most_bytes: int,
    ) -> None:
        self.logs = place / LOGS
        self.problems: list[str] = []
        """What could not be copied the last time."""
        self.selected: list[SelectedRun] = []
        self._board, self._catalog, self._folders, self._stores = board, catalog, folders, stores
        self._template = NameTemplate(board.template or default_template, BOARD_FIELDS)
        self.logs.mkdir(parents=True, exist_ok=True)
        self._names = MirrorNames(place / "names.json", self._template)
        self._sources: dict[str, StoredRunSource] = {}
        self._most_bytes, self._bytes = most_bytes, 0
        self._sizes: dict[Path, int] = {}

    def refresh(self) -> None:
        """Copy what is new. What cannot be read now is told in `problems`, and copied later."""
        self.problems = []
        selection = BoardSelection(self._board, self._catalog)
        self.selected = selection.resolve()
        stores = self._stores()
        shown = [run for run in self.selected if run.store in stores]
        self._sources = {run.uid: self._source(run, stores[run.store]) for run in shown}
        columns = run_columns(shown, self._template, self._catalog.selected)
        found = {run.uid: files for run in shown if (files := self._changed(run)) is not None}
        logdirs = {(uid, file.folder) for uid, files in found.items() for file in files}
        names = self._names.give(sorted(logdirs), columns)
        for uid, files in found.items():
            copied = [self._copy(file, self.logs / names[f"{uid}/{file.folder}"]) for file in files]
            if not all(copied):
                self._sources[uid].look_again()
        for folder in self._names.drop({run.uid for run in shown}):
            self._remove(self.logs / folder)
        self._copy_folders(selection.folders)

    @property
    def has_profiles(self) -> bool:
        """Whether a profiler left something in what it shows."""
        return any(is_profile(path.as_posix()) for path in self._sizes)

    def _remove(self, folder: Path) -> None:
        """The files of a run that left; runs whose names begin with its name are below the same folder."""
        with contextlib.suppress(OSError):
            for file in [*folder.iterdir(), *(folder / "plugins").rglob("*")]:
                if file.is_file():
                    file.unlink()
                    self._bytes -= self._sizes.pop(file, 0)
            shutil.rmtree(folder / "plugins", ignore_errors=True)
            folder.rmdir()

    def _source(self, run: SelectedRun, store: Store) -> StoredRunSource:
        known = self._sources.get(run.uid)
        return known if known is not None and known.run.store is store else StoredRunSource(RunFolder(store, run.uid))

    def _changed(self, run: SelectedRun) -> list[SourceFile] | None:
        try:
            return self._sources[run.uid].changed_files()
        except (AboardError, OSError) as error:
            self.problems.append(f"{run.name}: {error}")
            return None

    def _copy_folders(self, uris: Sequence[str]) -> None:
        prefixes = short_names(list(uris)) if uris else {}
        for uri, prefix in prefixes.items():
            try:
                for file in files_below(*self._folders.check(uri)):
                    parts = "/".join(part for part in (prefix, file.folder) if part)
                    self._copy(file, self.logs / safe_path(parts) if parts else self.logs)
            except (AboardError, OSError) as error:
                self.problems.append(f"{uri}: {error}")

    def _copy(self, file: SourceFile, folder: Path) -> bool:
        """Whether all that the source has is there now."""
        target = folder / safe_path(file.name)
        self._bytes += file.size - self._sizes.get(target, 0)
        self._sizes[target] = file.size
        if self._bytes > self._most_bytes:
            hint = "a board in the server reads the files where they are, and has no such limit"
            raise InvalidValue(f"its runs have more than {self._most_bytes >> 20:,} MB of event files", hint=hint)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                return _append(copy, file)
            finally:
                os.close(copy)
        except AboardError as error:
            self.problems.append(f"{file.name}: {error}")
        except OSError as error:
            if error.errno is not None and shutil.disk_usage(self.logs).free < _PIECE:
                raise StorageUnavailable(f"{self.logs} is full", hint="make room, or stop boards") from error
            self.problems.append(f"{file.name}: {error.strerror}")
        return False


def _append(copy: int, file: SourceFile) -> bool:
    """A source that has become shorter was written anew; what is here stays, as readers have read it."""
    have = os.fstat(copy).st_size
    while have < file.size:
        data = file.read(have, min(file.size, have + _PIECE))
        if not data:
            return False
        view = memoryview(data)
        while view:
            # Where it belongs, and not at the end: a server that slept may write what another has written meanwhile.
            written = os.pwrite(copy, view, have)
            view, have = view[written:], have + written
    return True
