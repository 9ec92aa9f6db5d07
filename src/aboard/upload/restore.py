# SPDX-License-Identifier: Apache-2.0
"""Restores the output folder of a run from its store: event files in one piece again, checkpoints, links, times.

Files are fetched in pieces, several at a time, and appear when they are whole. A file that exists is left alone unless
the store has more or newer content, and a partial download is continued: an interrupted restore can be repeated.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from aboard.errors import AboardError, DamagedDocument, KeyNotFound, StorageUnavailable
from aboard.foundation.files import ASIDE_PREFIX
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import LOG, OUTPUT, usual_source
from aboard.store.run.run_folder import (
    ManifestOutdated,
    Piece,
    RunFolder,
    pieces_of,
    read_piece,
    rebuild_growing,
    rebuild_outputs,
)
from aboard.store.store import Store
from aboard.upload import local_file
from aboard.upload.local_file import SourceChanged, SourceUnreadable

PIECE_BYTES = 8 << 20
PIECES_AT_ONCE = 8
AHEAD = 2
_SAME_TIME = 1e-5


class WrongContent(Exception):
    """What was fetched is not what the row describes."""


class FileFetcher:
    """Downloads files of one run; a context manager, because it has threads."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(PIECES_AT_ONCE, thread_name_prefix="aboard-fetch")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def is_there(self, row: FileRow, target: Path) -> bool:
        """Whether a local file has all that the store has: the same, or more, or something newer."""
        try:
            with local_file.opened(target) as file:
                identity = local_file.identity(file)
                age = identity.modified_ns / 1e9 - (row.modified or 0)
                if row.modified is not None and identity.size == row.bytes and abs(age) < _SAME_TIME:
                    return True
                if identity.size < row.bytes and row.is_growing:
                    return False
                is_newer = row.modified is not None and age > 0
                if is_newer or row.crc32 is None or identity.size < row.bytes:
                    return is_newer
                return local_file.checksum(file, 0, row.bytes) == row.crc32
        except (SourceChanged, SourceUnreadable):
            return False

    def fetch(self, row: FileRow, target: Path) -> None:
        """Fetch a file; raises WrongContent or ManifestOutdated when the store has something else by now."""
        part = target.parent / f"{ASIDE_PREFIX}restore-{_digest(row)}"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._fill(row, part)
            if row.modified is not None:
                os.utime(part, (row.modified, row.modified))
            part.replace(target)
        except OSError as error:
            if isinstance(error, AboardError):
                raise
            raise StorageUnavailable(f"{target} cannot be written: {error.strerror}.") from None

    def _fill(self, row: FileRow, part: Path) -> None:
        with part.open("ab") as file:
            start = file.tell()
            if start > row.bytes:
                start = 0
                file.truncate(0)
            for data in self._in_order(_cut(pieces_of(row, start))):
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with local_file.opened(part) as done:
            is_right = local_file.identity(done).size == row.bytes
            if is_right and row.crc32 is not None:
                is_right = local_file.checksum(done, 0, row.bytes) == row.crc32
        if not is_right:
            part.unlink()
            raise WrongContent(f"{self._folder.where(row.path)} has not the content that was written down for it.")

    def _in_order(self, pieces: Iterator[Piece]) -> Iterator[bytes]:
        """The bytes of all pieces, some of them fetched ahead."""
        ahead: deque[Future[bytes]] = deque()
        for piece in pieces:
            ahead.append(self._threads.submit(read_piece, self._folder, piece))
            if len(ahead) > AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _cut(pieces: list[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        for start in range(piece.start, piece.end, PIECE_BYTES):
            yield Piece(piece.path, start, min(piece.end, start + PIECE_BYTES))


def _digest(row: FileRow) -> str:
    """Another content of the same file must not be continued."""
    return hashlib.sha256(repr((row.path, row.bytes, row.crc32, row.modified)).encode()).hexdigest()[:16]


FILES_AT_ONCE = 4
TRIES = 3
_Document = TypeVar("_Document")


@dataclass(frozen=True)
class Restored:
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
        with FileFetcher(self._folder) as fetching, ThreadPoolExecutor(FILES_AT_ONCE) as threads:
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

    def _fetch(self, fetching: FileFetcher, row: FileRow) -> int | None:
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
