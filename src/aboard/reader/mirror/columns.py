# SPDX-License-Identifier: Apache-2.0
"""The columns object of a run on its way here: checked before anything of it is used."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from aboard.errors import AccessDenied, DamagedDocument, KeyNotFound, NewerFormat
from aboard.reader.mirror.copies import disk
from aboard.store.run.columns import (
    CHECKSUM_OF_WHOLE,
    LENGTH_BYTES,
    OutlinedFile,
    SealedDocuments,
    header_end,
    parse_header,
)
from aboard.store.run.documents import ColumnsMark
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import SEALED
from aboard.store.run.run_folder import RunFolder


class FetchedColumns:
    """Bytes of the object, in order, in a file aside; `close` checks them, `outlines` has the ends of event files."""

    def __init__(self, aside: Path, where: str) -> None:
        self._aside, self._where = aside, where
        self._size = self._crc32 = 0
        self._file: BinaryIO | None = None  # there is one when something has come
        self._ends: dict[str, tuple[OutlinedFile, bytes]] = {}
        self.places: dict[str, tuple[int, int]] = {}
        """By folder of the run, where what was decoded of it lies."""
        self.documents: SealedDocuments | None = None
        """What the run said of itself, where the object tells."""

    def write(self, data: bytes) -> None:
        with disk(self._aside):
            if self._file is None:
                self._file = self._aside.open("w+b")
            self._file.write(data)
        self._size += len(data)
        self._crc32 = zlib.crc32(data, self._crc32)

    @property
    def is_whole(self) -> bool:
        """Whether it ends with the checksum of all before."""
        return self._crc32 == CHECKSUM_OF_WHOLE

    def mark(self, path: str) -> ColumnsMark:
        """How a manifest names it, if it is what it should be."""
        return ColumnsMark(path, self._size, self._crc32)

    def close(self) -> None:
        """Nothing more comes: read the header; raises DamagedDocument or NewerFormat."""
        if self._file is None:
            raise DamagedDocument(f"{self._where} is empty.")
        with disk(self._aside), self._file as file:
            file.seek(0)
            head = file.read(LENGTH_BYTES)
            end = header_end(head, self._where)
            header = parse_header(head + file.read(max(end - len(head), 0)), self._size, self._where)
            self._ends = {one.path: (one, file.read(one.kept)) for one in header.files}
        self.places = header.places(end)
        self.documents = header.documents

    def outlines(self, rows: Sequence[FileRow]) -> list[tuple[OutlinedFile, bytes]]:
        """For each row its file with both ends; raises DamagedDocument when this is not about just these rows."""
        wanted = {row.path: (row.bytes, row.crc32) for row in rows}
        if {path: (one.bytes, one.crc32) for path, (one, _) in self._ends.items()} != wanted:
            raise DamagedDocument(f"{self._where} is about other event files than the manifest.")
        if self.places.keys() != {row.path.rpartition("/")[0] for row in rows}:
            raise DamagedDocument(f"{self._where} is about other folders than the manifest.")
        return [self._ends[row.path] for row in rows]

    def publish(self, path: Path) -> None:
        """Put it where it is used from."""
        with disk(path):
            self._aside.replace(path)
        self._file = None

    def discard(self) -> None:
        """Forget it, unless it was published."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
                self._aside.unlink(missing_ok=True)


def fetch_sealed(folder: RunFolder, aside: Path) -> FetchedColumns | None:
    """The object that tells all of a sealed run, asked for before anything is known of it; None where there is none.

    What is wrong with it is not told here: the manifest is asked then, which names it if it should be there.
    """
    fetched = FetchedColumns(aside, folder.where(SEALED))
    try:
        for data in folder.store.stream(folder.key(SEALED)):
            fetched.write(data)
        fetched.close()
    except (KeyNotFound, AccessDenied, DamagedDocument, NewerFormat):  # S3 denies what is not there to who may not list
        fetched.discard()
        return None
    except BaseException:
        fetched.discard()
        raise
    if fetched.is_whole and fetched.documents is not None:
        return fetched
    fetched.discard()
    return None
