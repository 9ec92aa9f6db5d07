# SPDX-License-Identifier: Apache-2.0
"""`columns/<serial>`: what was decoded of a sealed run's event files, so that readers need not fetch those.

It can be dropped and made again; the event files stay the truth. Eight bytes say how long the header is, then come the
header (JSON), both ends of each event file, and for each logdir what `Logdir.pack` made of it. The manifest names the
object with its length and checksum; the header says which event files it is about. Since version 2 the header also has
copies of the run's documents, so that one request tells all of a sealed run, and the last four bytes are the checksum
of all others.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from aboard.errors import DamagedDocument, InvalidValue
from aboard.foundation.documents import fields_of, parse_document, render_document
from aboard.model.documents import DocumentFields

FORMAT = "aboard-columns"
LENGTH_BYTES = 8
CHECKSUM_BYTES = 4
CHECKSUM_OF_WHOLE = 0x2144DF1C  # what CRC-32 makes of anything that ends with its own CRC-32
_VERSION = (2, 0)


class OutlinedFile(NamedTuple):
    """An event file of which the object has all before `head` and all from `tail` on."""

    path: str
    bytes: int
    crc32: int
    head: int
    tail: int

    @property
    def kept(self) -> int:
        """Bytes of it that are in the object."""
        return self.head + self.bytes - self.tail


class PackedLogdir(NamedTuple):
    """What was decoded of the event files in one folder of the run."""

    folder: str
    bytes: int


@dataclass(frozen=True)
class SealedDocuments:
    """What `manifest.json` and `run.json` said when a run was sealed, and which announcements had been made of it."""

    manifest: str
    """Without its mark of the columns, which cannot hold their own checksum."""
    run: str = ""
    """Empty where it could not be read."""
    announced: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnsHeader:
    """What an object of columns holds, in the order in which it does."""

    files: tuple[OutlinedFile, ...]
    logdirs: tuple[PackedLogdir, ...]
    documents: SealedDocuments | None = None
    """None in objects of version 1."""

    @property
    def bytes(self) -> int:
        """Of all that follows the header."""
        return sum(file.kept for file in self.files) + sum(logdir.bytes for logdir in self.logdirs)

    def places(self, start: int) -> dict[str, tuple[int, int]]:
        """Where each logdir lies when what follows the header begins at `start`."""
        at = start + sum(file.kept for file in self.files)
        places: dict[str, tuple[int, int]] = {}
        for logdir in self.logdirs:
            places[logdir.folder] = (at, at + logdir.bytes)
            at += logdir.bytes
        return places


@dataclass(frozen=True)
class PackedColumns:
    """All of an object but the documents, which are known last."""

    header: ColumnsHeader
    ends: tuple[bytes, ...]
    """The kept bytes of each file."""
    packed: tuple[bytes, ...]
    """Those of each logdir."""

    def render(self, documents: SealedDocuments) -> bytes:
        """The bytes of the object."""
        fields = {
            "files": [list(file) for file in self.header.files],
            "logdirs": [list(one) for one in self.header.logdirs],
            "manifest": documents.manifest,
            "run": documents.run,
            "announced": list(documents.announced),
        }
        document = render_document(FORMAT, fields, _VERSION)
        data = b"".join([len(document).to_bytes(LENGTH_BYTES, "little"), document, *self.ends, *self.packed])
        return data + zlib.crc32(data).to_bytes(CHECKSUM_BYTES, "little")


def header_end(data: bytes, where: str) -> int:
    """Where the header of an object ends, from its first bytes; raises DamagedDocument."""
    if len(data) < LENGTH_BYTES:
        raise DamagedDocument(f"{where} is cut off.")
    return LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")


def parse_header(data: bytes, size: int, where: str) -> ColumnsHeader:
    """The header from the beginning of an object of `size` bytes; raises DamagedDocument."""
    end = header_end(data, where)
    if end > len(data):
        raise DamagedDocument(f"{where} is cut off.")
    document = parse_document(data[LENGTH_BYTES:end], FORMAT, where, newest=_VERSION[0])
    with fields_of(where):
        fields = DocumentFields(document, "the header of columns")
        files = tuple(_file(_values(entry)) for entry in fields.entries("files"))
        logdirs = tuple(_logdir(_values(entry)) for entry in fields.entries("logdirs"))
        documents = _documents(fields)
    header = ColumnsHeader(files, logdirs, documents)
    expected = end + header.bytes + (CHECKSUM_BYTES if documents else 0)
    if expected != size:
        raise DamagedDocument(f"{where} has {size} bytes, and its header speaks of {expected}.")
    return header


def _documents(fields: DocumentFields) -> SealedDocuments | None:
    manifest, run = fields.anything("manifest"), fields.anything("run")
    if not isinstance(manifest, str):
        return None
    announced = tuple(str(name) for name in fields.entries("announced"))
    return SealedDocuments(manifest, run if isinstance(run, str) else "", announced)


def _values(entry: object) -> Sequence[object]:
    return cast("list[object]", entry) if isinstance(entry, list) else ()


def _file(values: Sequence[object]) -> OutlinedFile:
    match values:
        case [str(path), int(size), int(crc32), int(head), int(tail)] if 0 <= head <= tail <= size:
            return OutlinedFile(path, size, crc32, head, tail)
        case _:
            raise InvalidValue(f"'files' holds {values!r}, which is not a path, a length, a checksum and two places")


def _logdir(values: Sequence[object]) -> PackedLogdir:
    match values:
        case [str(folder), int(size)] if size >= 0:
            return PackedLogdir(folder, size)
        case _:
            raise InvalidValue(f"'logdirs' holds {values!r}, which is not a folder and a length")
