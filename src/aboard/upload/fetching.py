# SPDX-License-Identifier: Apache-2.0
"""Fetches files of a run in pieces, several at a time, into local files that appear when they are whole."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from aboard.errors import AboardError, StorageUnavailable
from aboard.store.keys import ASIDE_PREFIX
from aboard.store.run.file_row import FileRow
from aboard.store.run.logical_file import Piece, pieces_of, read_piece
from aboard.store.run.run_folder import RunFolder
from aboard.upload import local_file
from aboard.upload.local_file import SourceChanged, SourceUnreadable

PIECE_BYTES = 8 << 20
PIECES_AT_ONCE = 8
AHEAD = 2
_SAME_TIME = 1e-5


class WrongContent(Exception):
    """What was fetched is not what the row describes."""


class Fetching:
    """Fetches for one run; a context manager, because it has threads."""

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
