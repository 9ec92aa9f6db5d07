# SPDX-License-Identifier: Apache-2.0
"""The columns object of a run on its way here: checked against the manifest before anything of it is used."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from pathlib import Path

from aboard.errors import DamagedDocument
from aboard.reader.remote.copy_folder import disk
from aboard.store.run.columns_object import OutlinedFile, header_end, parse_header
from aboard.store.run.file_row import FileRow
from aboard.store.run.manifest import ColumnsMark


class FetchedColumns:
    """Bytes of the object, in order, in a file aside; `outlines` says of the event files what the object has."""

    def __init__(self, aside: Path, mark: ColumnsMark, where: str) -> None:
        self._aside, self._mark, self._where = aside, mark, where
        self._size = self._crc32 = 0
        with disk(aside):
            self._file = aside.open("wb")
        self.places: dict[str, tuple[int, int]] = {}
        """By folder of the run, where what was decoded of it lies."""

    def write(self, data: bytes) -> None:
        """Take what comes next."""
        with disk(self._aside):
            self._file.write(data)
        self._size += len(data)
        self._crc32 = zlib.crc32(data, self._crc32)

    def outlines(self, rows: Sequence[FileRow]) -> list[tuple[OutlinedFile, bytes]]:
        """For each row its file with both ends; raises DamagedDocument when this is not about just these rows."""
        with disk(self._aside):
            self._file.close()
        if (self._size, self._crc32) != (self._mark.bytes, self._mark.crc32):
            raise DamagedDocument(f"{self._where} is not what the manifest says of it.")
        with disk(self._aside), self._aside.open("rb") as file:
            head = file.read(8)
            end = header_end(head, self._where)
            header = parse_header(head + file.read(max(end - len(head), 0)), self._size, self._where)
            ends = {one.path: (one, file.read(one.kept)) for one in header.files}
        self.places = header.places(end)
        wanted = {row.path: (row.bytes, row.crc32) for row in rows}
        if {path: (one.bytes, one.crc32) for path, (one, _) in ends.items()} != wanted:
            raise DamagedDocument(f"{self._where} is about other event files than the manifest.")
        if self.places.keys() != {row.path.rpartition("/")[0] for row in rows}:
            raise DamagedDocument(f"{self._where} is about other folders than the manifest.")
        return [ends[row.path] for row in rows]

    def publish(self, path: Path) -> None:
        """Put it where it is used from."""
        with disk(path):
            self._aside.replace(path)

    def discard(self) -> None:
        """Forget it, unless it was published."""
        with contextlib.suppress(OSError):
            self._file.close()
            self._aside.unlink(missing_ok=True)
