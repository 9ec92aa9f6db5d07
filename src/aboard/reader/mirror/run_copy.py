# SPDX-License-Identifier: Apache-2.0
"""The copy of one run that has a manifest: which tells what there is, so that nothing is ever listed.

One GET tells all of a sealed run, and nothing is asked of it again. Of others, a conditional GET tells whether there is
anything new.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aboard.errors import DamagedDocument, InvalidValue, KeyNotFound, NewerFormat
from aboard.model.runs import RunRecord
from aboard.reader.mirror.columns import FetchedColumns, fetch_sealed
from aboard.reader.mirror.copies import UNKNOWN_CRC, CopiedFile, CopyFolder, NewCopy, disk
from aboard.reader.mirror.fetching import ObjectRange, RangeFetcher, copy_skimmed
from aboard.reader.mirror.polling import ProblemLog
from aboard.store.run import layout
from aboard.store.run.columns import OutlinedFile
from aboard.store.run.documents import ColumnsMark, Manifest, Summary, parse_manifest, parse_run, parse_summary
from aboard.store.run.file_rows import FileRow
from aboard.store.run.run_folder import ManifestOutdated, Piece, RunFolder, pieces_of, read_piece, rebuild_growing
from aboard.store.uri import join_key

_NONE = "none"  # in place of a document that is not there, which is not asked for again
_TRIES = 3  # to read a manifest again whose objects a roll-up has replaced


@dataclass(slots=True)
class _Known:
    """What was read of a run's documents, as it was read."""

    manifest: str = ""
    etag: str = ""
    run: str = ""
    summary: str = ""
    announced: list[str] = field(default_factory=list[str])

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class RunCopy:
    """One run: `look` asks for what is new, `fetch` copies it. Both are called by one thread at a time."""

    def __init__(
        self, folder: RunFolder, above: str, copies: CopyFolder, fetching: RangeFetcher, problems: ProblemLog
    ) -> None:
        self.uid = folder.uid
        self.key = join_key(above, folder.uid)
        self._folder, self._copies, self._fetching, self._problems = folder, copies, fetching, problems
        self._known = _Known()
        self._files: list[CopiedFile] = []
        self._manifest: Manifest | None = None
        self._rows: tuple[FileRow, ...] = ()
        self.is_copied = False
        """Whether all that the manifest names is here."""
        self._columns: dict[str, tuple[int, int]] = {}
        """By folder, where in the columns of this run those of its event files are."""
        self._sealed: FetchedColumns | None = None
        """Columns that were fetched before the manifest, and have not been used yet."""
        self._sealed_was_asked = False
        self.described: RunRecord | None = None
        self.summary: Summary | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing can come any more unless the run is announced again."""
        return self.is_copied and self._manifest is not None and self._manifest.sealed

    @property
    def manifest(self) -> Manifest | None:
        """The manifest as far as it could be read."""
        return self._manifest

    def resume(self, document: dict[str, Any]) -> None:
        """Go on from what an earlier process has copied."""
        known = _Known(**{name: document[name] for name in _Known.__slots__})
        self._files = self._copies.adopt(document["files"])
        self._known = known
        self._columns = {folder: (begin, end) for folder, (begin, end) in document.get("columns", {}).items()}
        self._copies.keep_columns(self.key, self._columns)
        with contextlib.suppress(DamagedDocument, InvalidValue):
            self._take_manifest(parse_manifest(known.manifest.encode()) if known.manifest else None)
            self.described = parse_run(known.run.encode()) if known.run else None
            self.summary = parse_summary(known.summary.encode()) if known.summary else None
        there = {file.path: file.size for file in self._files}
        self.is_copied = all(there.get(self._path(row)) == row.bytes for row in self._rows)
        if not self.is_copied:
            self._known.etag = ""

    @property
    def has_summary(self) -> bool:
        """Whether it was asked for its summary."""
        return bool(self._known.summary)

    def is_announced(self, announcements: Collection[str]) -> bool:
        """Whether somebody said, since it was last looked at, that there is something new."""
        return any(one not in self._known.announced for one in announcements)

    def look(self, announcements: Collection[str], *, with_summary: bool) -> bool:
        """Ask whether there is anything new; True when `fetch` has something to do. Asks nothing of what is done."""
        if self.is_done and not self.is_announced(announcements):
            if with_summary and not self.has_summary:
                self._read_summary()
                self.keep()
            return False
        told = list(announcements)  # before the manifest: what comes between the two is asked again
        if self._tells_all(told):
            if with_summary:
                self._read_summary()
            return True
        wants_run = not self._known.run or self.is_announced(told)
        reading = self._fetching.submit(self._read_run) if wants_run else None  # at the same time
        try:
            changed = self._read_manifest()
        finally:
            if reading is not None:
                reading.result()
        if with_summary and (changed or not self.has_summary):
            self._read_summary()
        self._known.announced = told
        return changed or not self.is_copied

    def _tells_all(self, announced: list[str]) -> bool:
        """Whether one object told all: that of a sealed run of which nothing was announced since it was sealed."""
        if self._sealed_was_asked or self._known.manifest or self._files:
            return False
        self._sealed_was_asked = True
        sealed = self._sealed = fetch_sealed(self._folder, self._copies.aside(self.key))
        documents = sealed.documents if sealed else None
        if sealed is None or documents is None or not set(announced) <= set(documents.announced):
            return False
        try:
            manifest = parse_manifest(documents.manifest.encode(), self._folder.where(layout.MANIFEST))
            described = parse_run(documents.run.encode(), self._folder.where(layout.RUN)) if documents.run else None
        except DamagedDocument:
            return False
        self._known.manifest, self._known.announced = documents.manifest, announced
        self._take_manifest(replace(manifest, columns=sealed.mark(layout.SEALED)))
        if described is None:
            self._read_run()
        else:
            self._known.run, self.described = documents.run, described
        return True

    def fetch(self) -> None:
        """Copy what is new. Raises what the store raises; what was copied before stays."""
        if self.described is not None and self.described.deleted is not None:
            self._show([])
            self._unused_sealed()
            return
        for tries_left in reversed(range(_TRIES)):
            try:
                self._copy(self._rows)
                break
            except ManifestOutdated:
                if not tries_left:
                    raise
                self._known.etag = ""
                self._read_manifest()
        self.is_copied = True
        self.keep()

    def fetch_part(self, file: CopiedFile, begin: int, end: int) -> None:
        """Copy a part again that was given back."""
        for tries_left in reversed(range(_TRIES)):
            row = next((row for row in self._rows if self._path(row) == file.path), None)
            if row is None:
                raise KeyNotFound(f"There is no {file.path} any more in {self._folder.store.uri}.")
            try:
                at = begin
                for data in self._read(row, begin, end):
                    self._copies.fill(file, at, data)
                    at += len(data)
                return
            except ManifestOutdated:
                if not tries_left:
                    raise
                self._known.etag = ""
                self._read_manifest()

    def has(self, file: CopiedFile) -> bool:
        return any(one is file for one in self._files)

    def keep(self) -> None:
        """Write down what there is, for the next process."""
        known = {"kind": "run", **self._known.to_json(), "columns": self._columns}
        self._copies.keep_unit(self.key, known, self._files)

    def drop(self) -> None:
        self._drop_columns()
        self._copies.drop_unit(self.key, self._files)
        self._files = []

    def _read_manifest(self) -> bool:
        """Whether it is another one than before."""
        where = self._folder.where(layout.MANIFEST)
        try:
            fetched = self._folder.store.get_if_changed(self._folder.key(layout.MANIFEST), self._known.etag)
        except KeyNotFound:
            changed = self._read_without_manifest()
            if self._rows:
                self._problems.note(where, f"{where} is missing, so the files of the run have to be listed")
            return changed
        if fetched is None:
            return False
        self._known.etag = fetched.etag
        try:
            manifest = parse_manifest(fetched.data, where)
        except DamagedDocument as error:
            self._problems.note(where, error)
            return self._read_without_manifest()
        self._problems.solved(where)
        self._known.manifest = fetched.data.decode()
        self._take_manifest(manifest)
        return True

    def _read_without_manifest(self) -> bool:
        """What is there must be listed then."""
        before = self._rows
        self._known.manifest, self._manifest = "", None
        self._rows = tuple(row for row in rebuild_growing(self._folder) if row.path.startswith(f"{layout.EVENTS}/"))
        return self._rows != before

    def _take_manifest(self, manifest: Manifest | None) -> None:
        self._manifest = manifest
        files = manifest.files if manifest else ()
        self._rows = tuple(
            row for row in files if row.path.startswith(f"{layout.EVENTS}/") and not row.gone and not row.link
        )

    def _read_run(self) -> None:
        where = self._folder.where(layout.RUN)
        try:
            data = self._folder.store.get(self._folder.key(layout.RUN))
            self.described = parse_run(data, where)
            self._known.run = data.decode()
            self._problems.solved(where)
        except (KeyNotFound, DamagedDocument) as error:
            self._problems.note(where, error)

    def _read_summary(self) -> None:
        where = self._folder.where(layout.SUMMARY)
        try:
            data = self._folder.store.get(self._folder.key(layout.SUMMARY))
            self.summary = parse_summary(data, where)
            self._known.summary = data.decode()
        except KeyNotFound:
            self._known.summary = _NONE
        except DamagedDocument as error:
            self._known.summary = _NONE
            self._problems.note(where, error)

    def _copy(self, rows: Sequence[FileRow]) -> None:
        if not self._files and self._copy_columns(rows):
            return
        new: list[NewCopy] = []
        try:
            kept = [file for row in rows if (file := self._continued(row)) is not None]
            there = {file.path for file in kept}
            new.extend(self._copied_anew(row) for row in rows if self._path(row) not in there)
            # All at once: whoever reads one file before an earlier one has to begin anew with both.
            self._show(kept + [copy.publish() for copy in new])
            times = {self._path(row): row.modified for row in rows}
            for copy in new:
                self._copies.stamp(copy.file, times[copy.file.path])
        except BaseException:
            for copy in new:
                copy.discard()
            raise

    def _copy_columns(self, rows: Sequence[FileRow]) -> bool:
        """Take what was decoded where the run was trained, and only the ends of its event files; whether there was."""
        mark = self._columns_mark()
        if mark is None:
            self._unused_sealed()
            return False
        try:
            fetched = self._fetched(mark)
        except (ManifestOutdated, NewerFormat):
            return False  # somebody deleted it, or it was made by a newer aboard
        except DamagedDocument as error:
            self._problems.note(mark.path, error)
            return False
        try:
            outlines = fetched.outlines(rows)
            self._drop_columns()
            fetched.publish(self._copies.columns_path(self.key))
        except DamagedDocument as error:
            self._problems.note(mark.path, error)
            return False
        finally:
            fetched.discard()
        self._columns = {join_key(self.key, folder): place for folder, place in fetched.places.items()}
        self._copies.keep_columns(self.key, self._columns)
        self._show(self._outlined(rows, outlines))
        for row, file in zip(rows, self._files, strict=True):
            self._copies.stamp(file, row.modified)
        return True

    def _columns_mark(self) -> ColumnsMark | None:
        """The columns to use. Those that were put later are named by no manifest, and fit its event files or do not."""
        if self._manifest is None or not self._manifest.sealed:
            return None
        if self._manifest.columns is None and self._sealed is not None:
            return self._sealed.mark(layout.SEALED)
        return self._manifest.columns

    def _fetched(self, mark: ColumnsMark) -> FetchedColumns:
        """The columns that a manifest names, unless they are here already."""
        sealed, self._sealed = self._sealed, None
        if sealed is not None and sealed.mark(mark.path) == mark:
            return sealed
        fetched = FetchedColumns(self._copies.aside(self.key), self._folder.where(mark.path))
        try:
            for data in self._fetching.in_order([ObjectRange(mark.path, 0, mark.bytes)], self._read_range):
                fetched.write(data)
            fetched.close()
            if fetched.mark(mark.path) != mark:
                if fetched.is_whole:  # the run went on and was sealed again
                    raise ManifestOutdated(self._folder.where(mark.path))
                raise DamagedDocument(f"{self._folder.where(mark.path)} is not what the manifest says of it.")
        except BaseException:
            fetched.discard()
            raise
        return fetched

    def _unused_sealed(self) -> None:
        if self._sealed is not None:
            self._sealed.discard()
            self._sealed = None

    def _outlined(self, rows: Sequence[FileRow], outlines: list[tuple[OutlinedFile, bytes]]) -> list[CopiedFile]:
        """Files of which only the ends are here. Columns speak of all of them, so all must appear at once."""
        staged = self._copies.aside(f"{self.key}/")
        new: list[NewCopy] = []
        try:
            for row, (outline, ends) in zip(rows, outlines, strict=True):
                aside = staged / row.path
                with disk(aside):
                    aside.parent.mkdir(parents=True, exist_ok=True)
                new.append(self._copies.new_file(self._path(row), aside=aside))
                new[-1].outline(outline, ends)
            return self._copies.publish_together(self.key, staged, new)
        except BaseException:
            for copy in new:
                copy.discard()
            shutil.rmtree(staged, ignore_errors=True)
            raise

    def _drop_columns(self) -> None:
        self._copies.drop_columns(self.key, self._columns)
        self._columns = {}

    def _show(self, files: list[CopiedFile]) -> None:
        paths = {file.path for file in files}
        if any(file.path not in paths for file in self._files):
            self._drop_columns()
        for file in self._files:
            if file.path not in paths:
                self._copies.delete(file)
        self._files = files

    def _continued(self, row: FileRow) -> CopiedFile | None:
        """The copy with what came since; None when there is none that the file begins with."""
        file = next((file for file in self._files if file.path == self._path(row)), None)
        if file is None or file.size > row.bytes:
            return None
        if file.size == row.bytes:
            return file
        for data in self._read(row, file.size, row.bytes):
            self._copies.append(file, data)
        self._copies.stamp(file, row.modified)
        return file if row.crc32 is None or file.crc32 in (row.crc32, UNKNOWN_CRC) else None

    def _copied_anew(self, row: FileRow) -> NewCopy:
        copy = self._copies.new_file(self._path(row))
        try:
            copy_skimmed(lambda begin, end: self._read(row, begin, end), row.bytes, copy)
        except BaseException:
            copy.discard()
            raise
        if row.crc32 is not None and copy.file.crc32 not in (row.crc32, UNKNOWN_CRC):
            self._problems.note(row.path, f"{self._folder.where(row.path)} is not what the manifest says of it")
            copy.file.crc32 = UNKNOWN_CRC  # it was told; whole records in it are shown
        return copy

    def _read(self, row: FileRow, begin: int, end: int) -> Iterator[bytes]:
        ranges = (ObjectRange(piece.path, piece.start, piece.end) for piece in pieces_of(row, begin, end))
        return self._fetching.in_order(ranges, self._read_range)

    def _read_range(self, one: ObjectRange) -> bytes:
        return read_piece(self._folder, Piece(*one))

    def _path(self, row: FileRow) -> str:
        return f"{self.key}/{row.path}"
