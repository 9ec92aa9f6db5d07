# SPDX-License-Identifier: Apache-2.0
"""One run in a store: reads and writes its documents, reads its files, and rebuilds a lost manifest.

Who may write is decided by the claims (docs/decisions/0010). A roll-up may delete segments that an older manifest
names: a reader that finds a key missing reads the manifest again; bytes that are found are always the right ones.
When a manifest is lost or damaged, its rows are made from the objects that are there. Objects that no manifest named
are recognised by their content: what its predecessor holds already is left over from a roll-up, and what its
successor begins with was uploaded twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from aboard.errors import DamagedDocument, KeyExists, KeyNotFound, StoreError
from aboard.model.names import check_uid
from aboard.model.runs import RunRecord
from aboard.store.run import layout
from aboard.store.run.documents import (
    AttemptClaim,
    Manifest,
    Outputs,
    Summary,
    parse_claim,
    parse_manifest,
    parse_outputs,
    parse_run,
    parse_summary,
    render_claim,
    render_manifest,
    render_outputs,
    render_run,
    render_summary,
)
from aboard.store.run.file_rows import FileRow, Segment
from aboard.store.run.layout import EVENTS, LOG, OUTPUT, generation_base, segment_path, split_segment, usual_source
from aboard.store.store import ObjectInfo, Store


class ManifestRead(NamedTuple):
    """A manifest, and the tag that tells whether it is still the same."""

    manifest: Manifest
    etag: str


class RunFolder:
    """The objects of one run. Documents that are not there read as None; damaged ones raise DamagedDocument."""

    def __init__(self, store: Store, uid: str) -> None:
        self.store = store
        self.uid = check_uid(uid)

    def __repr__(self) -> str:
        return f"<run {self.uid} in {self.store.uri}>"

    def key(self, path: str) -> str:
        return f"{self.uid}/{path}"

    def where(self, path: str) -> str:
        """A path in words, for errors."""
        return f"{self.key(path)} in {self.store.uri}"

    def read_run(self) -> RunRecord | None:
        """What people say about the run."""
        data = self._read(layout.RUN)
        return None if data is None else self._own(parse_run(data, self.where(layout.RUN)))

    def create_run(self, run: RunRecord) -> bool:
        """Write `run.json` if there is none yet; whether it was written."""
        try:
            self.store.put(self.key(layout.RUN), render_run(self._own(run)), create_only=True)
        except KeyExists:
            return False
        return True

    def write_run(self, run: RunRecord) -> None:
        """Change `run.json`, which only the server does, and `aboard sync` with edits of `aboard view`."""
        self.store.put(self.key(layout.RUN), render_run(self._own(run)))

    def attempt_numbers(self) -> list[int]:
        """The numbers of all attempts, ascending; one request."""
        names = (entry.key.rpartition("/")[2] for entry in self.store.list(self.key(layout.ATTEMPTS)))
        return sorted(filter(None, map(layout.attempt_number, names)))

    def read_attempt(self, number: int) -> AttemptClaim | None:
        path = layout.attempt_path(number)
        data = self._read(path)
        return None if data is None else parse_claim(data, self.where(path))

    def create_attempt(self, claim: AttemptClaim) -> bool:
        """Take the number of an attempt; False when another has it. A repeated call with the same token is True."""
        try:
            self.store.put(self.key(layout.attempt_path(claim.number)), render_claim(claim), create_only=True)
        except KeyExists:
            return self.is_claimed_by(claim)
        return True

    def is_claimed_by(self, claim: AttemptClaim) -> bool:
        """Whether the attempt of this number is the one of this claim."""
        try:
            found = self.read_attempt(claim.number)
        except DamagedDocument:
            return False
        return found is not None and found.token == claim.token

    def read_manifest(self) -> ManifestRead | None:
        """The manifest, whatever it was before."""
        return self.read_manifest_if_changed("")

    def read_manifest_if_changed(self, etag: str) -> ManifestRead | None:
        """The manifest if it is no longer the one with this tag; None when it still is, or there is none."""
        try:
            fetched = self.store.get_if_changed(self.key(layout.MANIFEST), etag)
        except KeyNotFound:
            return None
        if fetched is None:
            return None
        return ManifestRead(parse_manifest(fetched.data, self.where(layout.MANIFEST)), fetched.etag)

    def write_manifest(self, manifest: Manifest) -> str:
        """Replace the manifest; its tag."""
        return self.store.put(self.key(layout.MANIFEST), render_manifest(manifest))

    def read_outputs(self) -> Outputs | None:
        """The list of files that were shipped whole."""
        data = self._read(layout.OUTPUTS)
        return None if data is None else parse_outputs(data, self.where(layout.OUTPUTS))

    def write_outputs(self, outputs: Outputs) -> None:
        """Replace that list."""
        self.store.put(self.key(layout.OUTPUTS), render_outputs(outputs))

    def read_summary(self) -> Summary | None:
        data = self._read(layout.SUMMARY)
        return None if data is None else parse_summary(data, self.where(layout.SUMMARY))

    def write_summary(self, summary: Summary) -> None:
        self.store.put(self.key(layout.SUMMARY), render_summary(summary))

    def list(self, folder: str = "") -> Iterator[ObjectInfo]:
        """The objects of the run below a folder of it, with keys relative to the run."""
        below = self.key(folder) if folder else self.uid
        for entry in self.store.list(below):
            yield ObjectInfo(entry.key[len(self.uid) + 1 :], entry.size, entry.modified, entry.etag)

    def delete(self, paths: list[str]) -> None:
        """Delete objects of the run; what is not there is no error."""
        self.store.delete([self.key(path) for path in paths])

    def _read(self, path: str) -> bytes | None:
        try:
            return self.store.get(self.key(path))
        except KeyNotFound:
            return None

    def _own(self, run: RunRecord) -> RunRecord:
        if run.uid != self.uid:
            raise DamagedDocument(f"{self.where(layout.RUN)} is that of another run: {run.uid}.")
        return run


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


def rebuild_growing(folder: RunFolder) -> tuple[FileRow, ...]:
    """Event files and logs. Checksums are not known; segments are read to put them in order."""
    return tuple(row for top in (EVENTS, LOG) for row in _growing_row(folder, top))


def rebuild_outputs(folder: RunFolder) -> tuple[FileRow, ...]:
    """All other files; links are lost."""
    return tuple(_whole_row(entry) for entry in folder.list(OUTPUT))


def _growing_row(folder: RunFolder, top: str) -> Iterator[FileRow]:
    entries = {entry.key: entry for entry in folder.list(top)}
    numbers: dict[str, list[int]] = {}
    if not folder.store.can_append:
        for path, number in filter(None, map(split_segment, entries)):
            numbers.setdefault(path, []).append(number)
    segments = {segment_path(path, number) for path, found in numbers.items() for number in found}
    paths = [*numbers, *(path for path in entries if path not in segments)]
    newest = {generation_base(path)[0]: path for path in sorted(paths, key=generation_base)}
    for base, path in newest.items():  # earlier generations were replaced, and not yet deleted
        row = _segmented_row(folder, path, sorted(numbers[path])) if path in numbers else _whole_row(entries[path])
        yield replace(row, source=usual_source(base))


def _segmented_row(folder: RunFolder, path: str, numbers: list[int]) -> FileRow:
    segments = _in_order(folder, path, numbers)
    size = sum(segment.bytes for segment in segments)
    return FileRow(path=path, source="", bytes=size, segments=segments, next_segment=numbers[-1] + 1)


def _whole_row(entry: ObjectInfo) -> FileRow:
    return FileRow(path=entry.key, source=usual_source(entry.key), bytes=entry.size, modified=entry.modified)


def _in_order(folder: RunFolder, path: str, numbers: list[int]) -> tuple[Segment, ...]:
    kept: list[Segment] = []
    before, searched = b"", 0
    for number in numbers:
        data = folder.store.get(folder.key(segment_path(path, number)))
        place = before.find(data, searched) if data else 0
        if place >= 0 and kept and len(data) < len(before):
            searched = place + len(data)
            continue
        if kept and data.startswith(before):
            kept.pop()
        kept.append(Segment(number, len(data)))
        before, searched = data, 1
    return tuple(kept)
