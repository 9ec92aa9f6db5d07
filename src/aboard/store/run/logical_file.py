# SPDX-License-Identifier: Apache-2.0
"""Reads a file of a run by its row, wherever its bytes are kept.

A roll-up may take away segments that an older manifest names. Who then finds a key missing reads the manifest again;
bytes that are found are always the right ones.
"""

from __future__ import annotations

from typing import NamedTuple

from aboard.errors import KeyNotFound, StoreError
from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import segment_path
from aboard.store.run.run_folder import RunFolder


class ManifestOutdated(StoreError):
    """The store no longer has what the manifest named: read the manifest again."""

    code = "ManifestOutdated"
    temporary = True


class Piece(NamedTuple):
    """Bytes `start` to `end` of one object."""

    path: str
    start: int
    end: int


def pieces_of(row: FileRow, start: int = 0, end: int | None = None) -> list[Piece]:
    """The parts of objects that make up a range of a file, in order."""
    stop = row.bytes if end is None else min(end, row.bytes)
    if start >= stop or row.link:
        return []
    if row.segments is None:
        return [Piece(row.path, start, stop)]
    pieces: list[Piece] = []
    begin = 0
    for segment in row.segments:
        first, last = max(start, begin), min(stop, begin + segment.bytes)
        if first < last:
            pieces.append(Piece(segment_path(row.path, segment.number), first - begin, last - begin))
        begin += segment.bytes
    return pieces


def read_piece(folder: RunFolder, piece: Piece) -> bytes:
    """The bytes of one piece, all of them."""
    try:
        data = folder.store.get_range(folder.key(piece.path), piece.start, piece.end)
    except KeyNotFound:
        data = b""
    if len(data) != piece.end - piece.start:
        raise ManifestOutdated(
            f"{folder.where(piece.path)} has not the bytes {piece.start} to {piece.end} that the manifest names.",
            hint="Read the manifest again; if that does not help, the run was changed by hand.",
        )
    return data


def read_logical(folder: RunFolder, row: FileRow, start: int = 0, end: int | None = None) -> bytes:
    """A range of a file, one request for each object that it touches."""
    return b"".join(read_piece(folder, piece) for piece in pieces_of(row, start, end))
