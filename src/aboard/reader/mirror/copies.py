# SPDX-License-Identifier: Apache-2.0
"""The copy of one store: a tree of event files as a folder of runs would hold them, and what is known of each file.

A file appears in the tree when it is whole, and then only grows: whoever reads the tree sees what a folder would show.
Parts that were decoded may be given back to the disk; they read as zeros, and the file is marked before it happens.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import threading
import weakref
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from aboard._native import punch_hole
from aboard.errors import StorageUnavailable
from aboard.store.run.columns import OutlinedFile

Part = tuple[int, int]
Skipped = tuple[int, int, int]
"""Where a record begins, and the part of it that is not here."""
UNKNOWN_CRC = -1  # of a copy that is not what it should be, and is shown all the same


@dataclass(slots=True)
class CopiedFile:
    """The beginning of a file of a store on this machine."""

    path: str
    """Its key, relative to the root; that of its source where a store keeps it in segments."""
    size: int = 0
    crc32: int = 0
    mark: str = ""
    """The etag of the object it was copied from; empty where a manifest tells."""
    absent: list[Part] = field(default_factory=list[Part])
    """Parts whose space was given back, in order."""
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    """Parts of large records that were never fetched, in order."""

    @property
    def on_disk(self) -> int:
        """Bytes that it takes."""
        return self.size - sum(end - begin for begin, end in self.missing)

    @property
    def missing(self) -> list[Part]:
        return [*self.absent, *((begin, end) for _, begin, end in self.skipped)]

    @property
    def absent_end(self) -> int:
        """Where the last absent part ends; 0 when all is there."""
        return self.absent[-1][1] if self.absent else 0

    def lacks(self, begin: int, end: int) -> bool:
        """Whether something of a range is not here."""
        return any(first < end and begin < last for first, last in self.missing)

    def filled(self, begin: int, end: int) -> None:
        """Note that a range is there again."""
        self.absent = [part for each in self.absent for part in _without(each, (begin, end))]
        self.skipped = [
            (record, *part) for record, first, last in self.skipped for part in _without((first, last), (begin, end))
        ]

    def give_back(self, begin: int, end: int) -> None:
        """Note that a range is no longer here."""
        self.absent = [(begin, end)]
        self.skipped = [one for one in self.skipped if one[1] < begin or one[2] > end]

    def grown(self, data: bytes) -> None:
        """Note that it has become longer."""
        if self.crc32 != UNKNOWN_CRC:
            self.crc32 = zlib.crc32(data, self.crc32)
        self.size += len(data)

    def to_json(self) -> list[Any]:
        """As it stands in a document."""
        return [self.path, self.size, self.crc32, self.mark, self.absent, self.skipped]

    @classmethod
    def from_json(cls, values: list[Any]) -> CopiedFile:
        """The opposite; raises ValueError or TypeError for anything else."""
        path, size, crc32, mark, absent, skipped = values
        parts = [(int(begin), int(end)) for begin, end in absent]
        records = [(int(record), int(begin), int(end)) for record, begin, end in skipped]
        return cls(str(path), int(size), int(crc32), str(mark), parts, records)


def _without(part: Part, taken: Part) -> list[Part]:
    (first, last), (begin, end) = part, taken
    return [(a, b) for a, b in ((first, min(last, begin)), (max(first, end), last)) if a < b]


_BLOCK = 4096
_CHANGES_OF_UNITS = "aboard-copy"


class CopyFolder:
    """Local files of one store. Safe on threads as long as each file is made longer by one thread at a time."""

    def __init__(self, place: Path, lock: int, uri: str, *, temporary: bool = False) -> None:
        self.place = place
        self.tree = place / "tree"
        self._units, self._aside, self._columns = place / "units", place / "aside", place / "columns"
        # Also when nobody closes it: the next one to open this URI should find what is here.
        self._release = weakref.finalize(self, _release, lock, place if temporary else None)
        self._changing = threading.RLock()
        self._files: dict[str, CopiedFile] = {}
        self._folders: dict[str, dict[str, CopiedFile]] = {}  # the same, by folder
        self._packed: dict[str, tuple[Path, int, int]] = {}
        self._can_punch = True
        shutil.rmtree(self._aside, ignore_errors=True)  # of a process that was killed
        for folder in (self.tree, self._units, self._aside, self._columns):
            folder.mkdir(parents=True, exist_ok=True)
        (place / "uri").write_text(uri, "utf-8")

    def close(self) -> None:
        """Let others use it."""
        self._release()

    @property
    def on_disk(self) -> int:
        """Bytes that event files and columns take."""
        with self._changing:
            packed = sum(end - begin for _, begin, end in self._packed.values())
            return packed + sum(file.on_disk for file in self._files.values())

    def local(self, path: str) -> Path:
        return self.tree / path

    def file(self, path: str) -> CopiedFile | None:
        return self._files.get(path)

    def files_in(self, folder: str) -> list[CopiedFile]:
        """The files directly in a folder of the tree."""
        with self._changing:
            return list(self._folders.get(folder, {}).values())

    def folders_with_gaps(self) -> set[str]:
        """Folders in which something is not here."""
        with self._changing:
            return {_folder_of(file) for file in self._files.values() if file.missing}

    def stamp(self, file: CopiedFile, modified: float | None) -> None:
        """Give a copy the time of what it is a copy of."""
        if modified is not None:
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(self.local(file.path), (modified, modified))

    def units(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What was kept of each unit (a run, or a folder of objects); its files are known from now on."""
        for path in sorted(self._units.glob("*.json")):
            document = _read(path)
            if document is None:
                path.unlink(missing_ok=True)
                continue
            yield document["unit"], document

    def adopt(self, rows: list[list[Any]]) -> list[CopiedFile]:
        """Take over the files that a unit says it has, those of which this is true."""
        adopted: list[CopiedFile] = []
        for row in rows:
            file = CopiedFile.from_json(row)
            try:
                is_true = self.local(file.path).stat().st_size == file.size
            except OSError:
                is_true = False
            if is_true:
                self._know(file)
                adopted.append(file)
            else:
                self.local(file.path).unlink(missing_ok=True)
        return adopted

    def keep_unit(self, unit: str, document: dict[str, Any], files: list[CopiedFile]) -> None:
        """Write down what is known of a unit."""
        with self._changing:
            rows = [file.to_json() for file in files]
        content = {"format": _CHANGES_OF_UNITS, "version": 1, "unit": unit, **document, "files": rows}
        path = self._unit_path(unit)
        aside = self._aside / f"{path.name}.{threading.get_ident()}"
        with disk(path):
            aside.write_text(json.dumps(content, separators=(",", ":")), "utf-8")
            aside.replace(path)

    def drop_unit(self, unit: str, files: list[CopiedFile]) -> None:
        self._unit_path(unit).unlink(missing_ok=True)
        for file in files:
            self.delete(file)

    def delete(self, file: CopiedFile) -> None:
        """Delete a copy, and the folders that become empty."""
        with self._changing:
            self._files.pop(file.path, None)
            self._folders.get(_folder_of(file), {}).pop(file.path, None)
        path = self.local(file.path)
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            for above in path.parents:
                if above == self.tree:
                    break
                above.rmdir()

    def columns_path(self, unit: str) -> Path:
        return self._columns / _digest(unit)

    def keep_columns(self, unit: str, places: Mapping[str, tuple[int, int]]) -> None:
        """Note where in the columns of a unit those of each folder are."""
        path = self.columns_path(unit)
        with self._changing:
            self._packed |= {folder: (path, begin, end) for folder, (begin, end) in places.items()}

    def drop_columns(self, unit: str, folders: Iterable[str]) -> None:
        with self._changing:
            for folder in folders:
                self._packed.pop(folder, None)
        self.columns_path(unit).unlink(missing_ok=True)

    def packed(self, folder: str) -> tuple[Path, int, int] | None:
        """Where what was decoded of a folder elsewhere lies, if that is known."""
        return self._packed.get(folder)

    def new_file(self, path: str, mark: str = "", aside: Path | None = None) -> NewCopy:
        """Begin a copy that appears when it is published."""
        return NewCopy(self, CopiedFile(path, mark=mark), aside or self.aside(path))

    def publish_together(self, folder: str, staged: Path, copies: list[NewCopy]) -> list[CopiedFile]:
        """Let copies that were made below `staged` appear below a folder, in one moment where nothing is there yet."""
        target = self.local(folder)
        with disk(target):
            for copy in copies:
                copy.finish()
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with self._changing:
                    staged.rename(target)
                    for copy in copies:
                        self._know(copy.file)
            except OSError:
                if not target.exists():
                    raise
                for copy in copies:
                    self.take_in(copy)
                shutil.rmtree(staged, ignore_errors=True)
        return [copy.file for copy in copies]

    def aside(self, name: str) -> Path:
        """Where something is written before it is put in its place."""
        return self._aside / _digest(name)

    def append(self, file: CopiedFile, data: bytes) -> None:
        with disk(self.local(file.path)), self.local(file.path).open("r+b") as opened:
            opened.seek(file.size)
            opened.write(data)
        with self._changing:
            file.grown(data)

    def fill(self, file: CopiedFile, begin: int, data: bytes) -> None:
        with self._changing, disk(self.local(file.path)):
            with self.local(file.path).open("r+b") as opened:
                opened.seek(begin)
                opened.write(data)
            file.filled(begin, begin + len(data))

    def give_back(self, file: CopiedFile, until: int) -> bool:
        """Give the space of what lies before `until` back, but for the bytes by which the file is known again.

        What is known of the file must be kept between `absent` being set and the space being given back.
        """
        begin, end = _BLOCK, (until - _BLOCK) // _BLOCK * _BLOCK
        if not self._can_punch or end <= begin or file.absent == [(begin, end)]:
            return False
        with self._changing:
            file.give_back(begin, end)
        return True

    def punch(self, file: CopiedFile) -> None:
        """Give back what is absent."""
        with self._changing, disk(self.local(file.path)), self.local(file.path).open("r+b") as opened:
            for begin, end in file.absent:
                error = punch_hole(opened.fileno(), begin, end)
                if error:
                    self._can_punch = False  # the bytes are still there, so nothing is wrong with the file
                    file.absent = []
                    return

    def take_in(self, new: NewCopy) -> None:
        """Let a new copy appear."""
        target = self.local(new.file.path)
        with self._changing, disk(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            new.aside.replace(target)
            self._know(new.file)

    def _know(self, file: CopiedFile) -> None:
        self._files[file.path] = file
        self._folders.setdefault(_folder_of(file), {})[file.path] = file

    def _unit_path(self, unit: str) -> Path:
        return self._units / f"{_digest(unit)}.json"


class NewCopy:
    """A file that is being copied."""

    def __init__(self, folder: CopyFolder, file: CopiedFile, aside: Path) -> None:
        self._folder, self.file, self.aside = folder, file, aside
        with disk(aside):
            self._opened: BinaryIO = aside.open("wb")

    def write(self, data: bytes) -> None:
        with disk(self.aside):
            self._opened.write(data)
        self.file.grown(data)

    def outline(self, file: OutlinedFile, ends: bytes) -> None:
        """Take both ends of a file, as if it had been copied, read, and its space given back."""
        self.write(ends[: file.head])
        if file.head < file.tail:
            with disk(self.aside):
                self._opened.seek(file.tail)
            self.file.size = file.tail
            self.file.give_back(file.head, file.tail)
        self.write(ends[file.head :])
        self.file.crc32 = file.crc32

    def skip(self, record: int, begin: int, end: int) -> None:
        """Leave out a part of the record that begins at `record`; what comes next belongs behind it."""
        with disk(self.aside):
            self._opened.seek(end)
        self.file.size, self.file.crc32 = end, UNKNOWN_CRC
        self.file.skipped.append((record, begin, end))

    def finish(self) -> None:
        with disk(self.aside):
            self._opened.close()

    def publish(self) -> CopiedFile:
        """Let it appear, in place of what was there before."""
        self.finish()
        self._folder.take_in(self)
        return self.file

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._opened.close()
        self.aside.unlink(missing_ok=True)


def _folder_of(file: CopiedFile) -> str:
    return file.path.rpartition("/")[0] or "."


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _release(lock: int, temporary: Path | None) -> None:
    if lock >= 0:
        os.close(lock)
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)


def _read(path: Path) -> dict[str, Any] | None:
    """A document, or None when it is torn or of another version: everything is fetched again then."""
    try:
        document = json.loads(path.read_bytes())
        is_known = document["format"] == _CHANGES_OF_UNITS and document["version"] == 1
        return document if is_known and isinstance(document["unit"], str) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def disk(path: Path) -> Generator[None]:
    """What the disk refuses is told as such."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageUnavailable):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageUnavailable(
            f"{path} cannot be written: {error.strerror or error}",
            hint="make room there, or set ABOARD_HOME to a folder on another disk" if full else "",
        ) from error
