# SPDX-License-Identifier: Apache-2.0
"""The mirror of a board: a folder with copies of what it shows, for programs that must read real files.

The files are copies, so nothing that reads them can harm a run. They grow in place and are never replaced, because
stock TensorBoard does not notice another file under a name that it knows. Sources are read in ranges, wherever they
are. Folder names follow the board's template; a folder keeps the name it was made with.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, DamagedDocument, InvalidValue, StorageUnavailable
from aboard.events.event import is_profile
from aboard.foundation.files import opened_file, opened_folder, read_all
from aboard.model.boards import BoardRecord
from aboard.model.selections import SelectedRun
from aboard.model.templates import (
    BOARD_FIELDS,
    DistinctNames,
    NameRequest,
    NameTemplate,
    TemplateField,
    TemplateValue,
    short_form,
)
from aboard.reader.grouping import group_logdirs
from aboard.reader.roots import Root
from aboard.services.boards.folders import OpenFolders, short_names
from aboard.services.boards.selection import BoardSelection, logdir_columns, run_columns
from aboard.services.runs.files import StoredFile
from aboard.services.runs.open_runs import RunLocation
from aboard.store.opening import open_store
from aboard.store.run.documents import Manifest
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import EVENTS, OUTPUT, logdir_of
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
        place = RunLocation(self.run.store.uri, self.run.uid)
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


@dataclass(frozen=True, slots=True)
class SourceRunFiles:
    """A run of a read-only source, whose files stand as they are."""

    place: RunLocation

    def changed_files(self) -> list[SourceFile]:
        """Its event files and profiles."""
        files = list(files_below(self.place.root, self.place.within))
        if self.place.source_path != ".":
            return files
        # In the source itself lie the other runs, too.
        folders = {tuple(filter(None, file.folder.split("/"))) for file in files}
        own = group_logdirs(folders, split_root=True).get((), ())
        return [file for file in files if tuple(filter(None, file.folder.split("/"))) in own]

    def look_again(self) -> None:
        """Nothing is remembered."""


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


_FORMAT, _VERSION = "aboard-mirror-names", 1
_LONGEST_PART = 200  # bytes; file systems take 255
_NOT_SAFE = re.compile(r"[\x00-\x1f\x7f\\]")


class MirrorNames:
    """Names of logdirs, kept in a file beside the mirror so that the next server process gives the same ones."""

    def __init__(self, file: Path, template: NameTemplate) -> None:
        self._file, self._template = file, template
        self._apart = template.lacks(("run", "path"))
        self._distinct = DistinctNames()
        self._given: dict[str, str] = _read(file)

    def give(
        self, logdirs: Iterable[tuple[str, str]], columns: Mapping[str, Mapping[str, TemplateValue]]
    ) -> dict[str, str]:
        """The folder of each logdir, by `uid/logdir`. `logdirs` are pairs of uid and logdir."""
        wishes: dict[str, NameRequest] = {}
        for uid, logdir in logdirs:
            own = logdir_columns(columns.get(uid, {}), logdir)
            apart = "_".join(short_form(own.get(column)) for column in self._apart)
            wishes[f"{uid}/{logdir}"] = NameRequest(
                self._template.render(lambda field, own=own: _value(field, own)), apart
            )
        taken = set(self._given.values())
        new = {key: name for key, name in self._distinct.give(wishes).items() if key not in self._given}
        for key, name in sorted(new.items()):
            folder, number = safe_path(name), 2
            while folder in taken:
                folder, number = f"{safe_path(name)}_{number}", number + 1
            taken.add(folder)
            self._given[key] = folder
        if new:
            self._write()
        return {key: self._given[key] for key in wishes}

    def drop(self, kept: Collection[str]) -> list[str]:
        """Forget the runs whose uids are not among these; the folders that they had."""
        left = [key for key in self._given if key.partition("/")[0] not in kept]
        folders = [self._given.pop(key) for key in left]
        if folders:
            self._write()
        return folders

    def _write(self) -> None:
        document = {"format": _FORMAT, "version": _VERSION, "names": self._given}
        aside = self._file.with_suffix(".new")
        aside.write_text(json.dumps(document), "utf-8")
        aside.replace(self._file)


def safe_path(name: str) -> str:
    """A relative path that leads nowhere but downwards."""
    parts = [_NOT_SAFE.sub("_", part) for part in name.split("/")]
    kept = [part.encode()[:_LONGEST_PART].decode("utf-8", "ignore") for part in parts if part not in ("", ".", "..")]
    return "/".join(kept) or "run"


def _value(field: TemplateField, columns: Mapping[str, TemplateValue]) -> TemplateValue:
    if not field.group:
        return columns.get(field.key)
    statistic = f".{field.statistic}" if field.statistic else ""
    return columns.get(f"{field.group}.{field.key}{statistic}")


def _read(file: Path) -> dict[str, str]:
    try:
        document = json.loads(file.read_text("utf-8"))
        is_known = document["format"] == _FORMAT and document["version"] == _VERSION
        return {str(key): safe_path(str(name)) for key, name in document["names"].items()} if is_known else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # then some runs may get another folder; nothing is lost


_PIECE = 4 << 20
LOGS = "logs"
"""The folder with the copies, below that of the mirror."""


class BoardMirror:
    """The mirror of one board; `refresh` is called by one thread of one process at a time."""

    def __init__(
        self,
        place: Path,
        board: BoardRecord,
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
        self._sources: dict[str, StoredRunSource | SourceRunFiles] = {}
        self._most_bytes, self._bytes = most_bytes, 0
        self._sizes: dict[Path, int] = {}

    def refresh(self) -> None:
        """Copy what is new. What cannot be read now is told in `problems`, and copied later."""
        self.problems = []
        selection = BoardSelection(self._board, self._catalog)
        self.selected = selection.resolve()
        stores = self._stores()
        self._sources = {run.uid: source for run in self.selected if (source := self._source(run, stores)) is not None}
        shown = [run for run in self.selected if run.uid in self._sources]
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

    def _source(self, run: SelectedRun, stores: Mapping[str, Store]) -> StoredRunSource | SourceRunFiles | None:
        if run.source_path is not None:
            return self._run_in_source(run, run.source_path)
        store, known = stores.get(run.store), self._sources.get(run.uid)
        if store is None:
            return None
        is_same = isinstance(known, StoredRunSource) and known.run.store is store
        return known if is_same else StoredRunSource(RunFolder(store, run.uid))

    def _run_in_source(self, run: SelectedRun, path: str) -> SourceRunFiles | None:
        try:
            root, within = self._folders.check(run.store)
        except AboardError as error:
            self.problems.append(f"{run.name}: {error}")
            return None
        return SourceRunFiles(RunLocation(str(root), run.uid, path, str(within or "")))

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
