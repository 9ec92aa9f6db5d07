# SPDX-License-Identifier: Apache-2.0
"""Packs the columns of a sealed run into one object, so that readers fetch one small object and no event file.

The object is made while a run is sealed, from the event files of the training machine, and only of files that are to
the last byte what the store has. Files that are no longer here are fetched once, up to a limit. A failure costs this
object and nothing else.

`pack_later` adds the object to a sealed run that lacks it: sealed by an earlier version, preempted, or cut short.
Nobody writes to a sealed run, so there is no conflict. The manifest stays as it is: readers ask for the object itself.
If the run is reopened meanwhile, that is announced, and readers use the manifest instead.
"""

from __future__ import annotations

import logging
import os
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from aboard._native import Logdir
from aboard.errors import KeyExists, KeyNotFound, StoreError
from aboard.store.run.claims import announcements_of
from aboard.store.run.columns import ColumnsHeader, OutlinedFile, PackedColumns, PackedLogdir, SealedDocuments
from aboard.store.run.documents import render_manifest
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import EVENTS, RUN, SEALED
from aboard.store.run.run_folder import RunFolder, read_logical
from aboard.upload.scan import LocalFile

END_BYTES = 4096  # by the first and last so many bytes, readers know an event file again
MOST_EVENT_BYTES = 1 << 30  # decoding takes about as much memory
MOST_TAIL_BYTES = 1 << 20  # behind the last whole record
MOST_FETCHED_BYTES = 64 << 20
_PIECE = 1 << 20
_log = logging.getLogger("aboard.upload")


class _NotToBePacked(Exception):
    """Why there is no columns object."""


class _Local(NamedTuple):
    row: FileRow
    path: Path


def packed_columns(
    folder: RunFolder, rows: Iterable[FileRow], found: Iterable[LocalFile], *, most_fetched: int = MOST_FETCHED_BYTES
) -> PackedColumns | None:
    """The columns of a run whose event files are complete; None where there should be none.

    `found` are local files; of what is not among them at most `most_fetched` bytes are fetched.
    """
    events = [row for row in rows if row.path.startswith(f"{EVENTS}/") and not row.gone and not row.link]
    size = sum(row.bytes for row in events)
    if not size or size > MOST_EVENT_BYTES:
        return None
    sources = {one.source: one.path for one in found}
    try:
        with tempfile.TemporaryDirectory(prefix="aboard-packing-") as place:
            return _pack(_gathered(folder, events, sources, Path(place), most_fetched), Path(place))
    except (_NotToBePacked, StoreError, OSError, MemoryError) as error:
        _log.debug("No columns are put for run %s: %s", folder.uid, error)
        return None


def _gathered(
    folder: RunFolder, rows: list[FileRow], sources: Mapping[str, Path], place: Path, most_fetched: int
) -> list[_Local]:
    """All event files under the names that they have in the store."""
    files: list[_Local] = []
    fetched = 0
    for row in rows:
        path = place / row.path
        path.parent.mkdir(parents=True, exist_ok=True)
        local = sources.get(row.source)
        if local is not None and _is_the_same(local, row):
            path.symlink_to(local)
        else:
            fetched += row.bytes
            if fetched > most_fetched:
                raise _NotToBePacked("too much of it is no longer on this machine")
            path.write_bytes(read_logical(folder, row))
            if not _is_the_same(path, row):
                raise _NotToBePacked(f"{row.path} is not what the manifest says of it")
        files.append(_Local(row, path))
    return files


def _is_the_same(path: Path, row: FileRow) -> bool:
    crc, size = 0, 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                crc, size = zlib.crc32(piece, crc), size + len(piece)
    except OSError:
        return False
    return size == row.bytes and crc == row.crc32


def _pack(files: list[_Local], place: Path) -> PackedColumns:
    logdirs: list[PackedLogdir] = []
    packed: list[bytes] = []
    read: dict[str, int] = {}
    for folder in sorted({file.row.path.rpartition("/")[0] for file in files}):
        names = [file.path.name for file in files if file.row.path.rpartition("/")[0] == folder]
        logdir = Logdir(os.fsencode(place / folder))
        logdir.refresh([os.fsencode(name) for name in names])
        data = logdir.pack()
        if data is None:
            raise _NotToBePacked(f"{folder} cannot be read whole")
        for file in logdir.files():
            read[f"{folder}/{os.fsdecode(file.name)}"] = file.bytes_read
        packed.append(data)
        logdirs.append(PackedLogdir(folder, len(data)))
    outlined = [_outlined(file.row, read[file.row.path]) for file in files]
    ends = tuple(_ends(file.path, outline) for file, outline in zip(files, outlined, strict=True))
    return PackedColumns(ColumnsHeader(tuple(outlined), tuple(logdirs)), ends, tuple(packed))


def _outlined(row: FileRow, read: int) -> OutlinedFile:
    """The first bytes, and the last that were read with all that follows."""
    tail = max(read - END_BYTES, 0) // END_BYTES * END_BYTES
    if row.bytes - tail > MOST_TAIL_BYTES:
        raise _NotToBePacked(f"{row.path} has too many bytes behind its last whole record")
    head = END_BYTES if tail > END_BYTES else tail
    return OutlinedFile(row.path, row.bytes, row.crc32 or 0, head, tail)


def _ends(path: Path, outline: OutlinedFile) -> bytes:
    with path.open("rb") as file:
        head = file.read(outline.head)
        file.seek(outline.tail)
        data = head + file.read(outline.bytes - outline.tail)
    if len(data) != outline.kept:
        raise _NotToBePacked(f"{outline.path} was changed meanwhile")
    return data


class PackResult(StrEnum):
    PACKED = "packed"
    THERE = "there already"
    LIVE = "not over"
    NOT_POSSIBLE = "not possible"
    """No event files, too many of them, or not what the manifest says."""


def pack_later(folder: RunFolder) -> PackResult:
    """Put the columns of a run if it is sealed and has none. Raises what the store raises."""
    if folder.store.exists(folder.key(SEALED)):
        return PackResult.THERE
    announced = announcements_of(folder)  # before the documents: what is changed later is announced later
    read = folder.read_manifest()
    if read is None or not read.manifest.sealed:
        return PackResult.LIVE
    try:
        run = folder.store.get(folder.key(RUN)).decode()
    except (KeyNotFound, UnicodeDecodeError):
        run = ""
    columns = packed_columns(folder, read.manifest.files, (), most_fetched=MOST_EVENT_BYTES)
    if columns is None:
        return PackResult.NOT_POSSIBLE
    manifest = render_manifest(replace(read.manifest, columns=None)).decode()
    try:
        data = columns.render(SealedDocuments(manifest, run, announced))
        folder.store.put(folder.key(SEALED), data, create_only=True)
    except KeyExists:
        return PackResult.THERE
    if folder.read_manifest() != read:
        folder.delete([SEALED])
        return PackResult.LIVE
    return PackResult.PACKED
