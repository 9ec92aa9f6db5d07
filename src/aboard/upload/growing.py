# SPDX-License-Identifier: Apache-2.0
"""The lane of growing files: uploads event files and logs in segments, and writes the manifest that names them.

A round plans, writes the journal, sends, puts the manifest, and only then deletes what the manifest no longer names. So
a reader with any manifest that was ever put finds the bytes that it names, or a key missing.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from aboard.errors import AboardError, AccessDenied, KeyNotFound, PositionMismatch, StoreError
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store.run.claims import HEARTBEAT_SECONDS, announce, announcements_of, withdraw_columns
from aboard.store.run.columns import PackedColumns, SealedDocuments
from aboard.store.run.documents import ColumnsMark, Manifest, OutputsMark, render_manifest
from aboard.store.run.file_rows import FileRow, Segment
from aboard.store.run.layout import COLUMNS, RUN, SEALED, segment_path
from aboard.store.run.run_folder import RunFolder, read_logical
from aboard.upload import local_file
from aboard.upload.local_file import SourceChanged, SourceUnreadable
from aboard.upload.recovery import Journal, StoredState, unnamed_objects, write_journal
from aboard.upload.retries import FailedFiles, UploadProblems, is_about_one_file
from aboard.upload.scan import LocalFile
from aboard.upload.segments import IN_MEMORY_BYTES, SAMPLE_BYTES, GrowingFile, GrowingFiles, SegmentPlan, to_roll_up


class SegmentSender:
    """Sends bytes of growing files to a store: as segments, or appended where a store can append."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.in_segments = not folder.store.can_append

    def send(self, growing: GrowingFile, plan: SegmentPlan, file: int) -> bytes:
        """Send what was planned; returns the data, or both ends of it where it is too large for memory."""
        if plan.end - plan.start > IN_MEMORY_BYTES:
            return self._send_large(growing, plan, file)
        data = growing.read_plan(file, plan)
        if self.in_segments:
            self._put(segment_path(growing.row.path, plan.number), data)
        else:
            self._append(growing.row.path, data, plan, file)
        return data

    def roll_up(self, row: FileRow, last: tuple[Segment, ...], data: bytes) -> FileRow:
        """Put the last segments once more as one object, under the number of the first of them; the new row."""
        self._put(segment_path(row.path, last[0].number), data)
        return replace(row, segments=(*(row.segments or ())[: -len(last)], Segment(last[0].number, len(data))))

    def _send_large(self, growing: GrowingFile, plan: SegmentPlan, file: int) -> bytes:
        """One record of many megabytes."""
        before = growing.row.crc32 or 0

        def checked() -> Iterator[bytes]:
            crc = before
            for piece in local_file.pieces(file, plan.start, plan.end):
                crc = zlib.crc32(piece, crc)
                yield piece
            if crc != plan.crc32:
                raise SourceChanged("The file was rewritten while it was read.")

        if self.in_segments:
            key = self.folder.key(segment_path(growing.row.path, plan.number))
            self.folder.store.put_stream(key, checked(), size=plan.end - plan.start)
        else:
            position = plan.start
            for piece in checked():
                part = plan._replace(start=position, end=position + len(piece))
                self._append(growing.row.path, piece, part, file)
                position += len(piece)
        head = local_file.read(file, plan.start, plan.start + SAMPLE_BYTES)
        return head + local_file.read(file, plan.end - SAMPLE_BYTES, plan.end)

    def _put(self, path: str, data: bytes) -> None:
        self.folder.store.put(self.folder.key(path), data)

    def _append(self, path: str, data: bytes, plan: SegmentPlan, file: int) -> None:
        """Append, and where the end is not as expected, find out what is there."""
        store, key = self.folder.store, self.folder.key(path)
        try:
            store.append(key, data, plan.start)
        except PositionMismatch as mismatch:
            there = mismatch.size - plan.start
            if 0 < there <= len(data) and store.get_range(key, plan.start, mismatch.size) == data[:there]:
                store.append(key, data[there:], mismatch.size)  # an append whose answer was lost
            else:
                store.put_stream(key, local_file.pieces(file, 0, plan.end), size=plan.end)


class ManifestWriter:
    """The manifest of one attempt in one store, and the journal beside the local files."""

    def __init__(
        self,
        folder: RunFolder,
        standing: StoredState,
        journal: Path,
        conditions: UploadProblems,
        monotonic: Callable[[], float],
    ) -> None:
        self._folder = folder
        self._manifest = standing.manifest
        """The newest, which may still have to be put."""
        self.known = standing.manifest
        """The newest that the store has for certain."""
        self._is_put = standing.is_put
        self._is_sealed = standing.manifest.sealed
        self._journal = journal
        self._conditions = conditions
        self._monotonic = monotonic
        self._last_put = float("-inf")
        self._garbage = list(standing.garbage)
        self._columns_due: bytes | None = None
        """What the manifest names and the store may not have yet."""
        self._journaled = (0, 0)
        """Serial and amount of garbage in the journal: it need not be written twice for one manifest."""
        self.ended: RunState | None = None
        """How the run ended; kept in the journal, so that a later uploader can seal it."""

    def write_journal(self, files: GrowingFiles) -> None:
        """Note what is about to be sent. A full disk costs certainty after a crash, and nothing else."""
        journal = Journal(
            store=self._folder.store.uri,
            attempt=self._manifest.attempt,
            serial=self._manifest.serial + 1,
            files=files.journaled(),
            plans={one.row.path: one.plan for one in files if one.plan},
            garbage=tuple(self._garbage),
            status=self.ended,
        )
        self._journaled = journal.serial, len(journal.garbage)
        try:
            write_journal(self._journal, journal)
        except OSError as error:
            self._conditions.wrong(str(self._journal), f"The journal cannot be written: {error.strerror}.")
        else:
            self._conditions.well(str(self._journal), "the journal is written again.")

    def discard(self, paths: list[str]) -> None:
        """Delete these when the next manifest is put."""
        self._garbage += paths

    def set_outputs(self, mark: OutputsMark | None) -> None:
        """Which list of outputs belongs to the next manifest."""
        if mark != self._manifest.outputs:
            self._change(replace(self._manifest, outputs=mark))

    def put(self, files: GrowingFiles, *, status: RunState = RunState.RUNNING) -> None:
        """Put the manifest if it says anything new or a sign of life is due, then delete what it no longer names."""
        self._put(files, replace(self._manifest, files=files.rows(), status=status, sealed=False, columns=None))

    def seal(self, files: GrowingFiles, status: RunState, packed: PackedColumns | None) -> None:
        """The same for the last manifest of a run, and then the columns: who finds them knows that the run is over."""
        sealed = replace(self._manifest, files=files.rows(), status=status, sealed=True)
        if packed is not None:
            data = packed.render(self._documents(sealed))
            self._columns_due = data
            sealed = replace(sealed, columns=ColumnsMark(SEALED, len(data), zlib.crc32(data)))
        self._put(files, sealed)
        self._put_columns()

    def _documents(self, sealed: Manifest) -> SealedDocuments:
        """Copies of what is in the store. Announcements come first: what is changed later is announced later."""
        announced = announcements_of(self._folder)
        try:
            run = self._folder.store.get(self._folder.key(RUN)).decode()
        except (KeyNotFound, UnicodeDecodeError):
            run = ""  # readers ask for it, and tell what is wrong with it
        manifest = replace(sealed, serial=sealed.serial + 1, alive=now(), columns=None)
        return SealedDocuments(render_manifest(manifest).decode(), run, announced)

    def _put_columns(self) -> None:
        if self._columns_due is None:
            return
        try:
            self._folder.store.put(self._folder.key(SEALED), self._columns_due)
        except StoreError as error:
            if error.temporary:
                raise
        self._columns_due = None  # event files tell the same

    def _put(self, files: GrowingFiles, wanted: Manifest) -> None:
        if wanted != self._manifest and not self._rests(wanted):
            if not wanted.sealed:
                withdraw_columns(self._folder, self._manifest)
                self._columns_due = None
            self._change(wanted)
        if not self._is_put or self._is_sign_due():
            self._put_now(files)
        self._delete_garbage()

    def sweep(self) -> None:
        """Delete what crashes left behind, found by listing."""
        rows = self._manifest.files
        tops = {row.path.partition("/")[0] for row in rows}
        self._garbage += unnamed_objects(rows, [entry.key for top in sorted(tops) for entry in self._folder.list(top)])
        self._garbage += [entry.key for entry in self._folder.list(COLUMNS)]
        self._delete_garbage()

    def _rests(self, wanted: Manifest) -> bool:
        """A sealed run stays so until there is something to ship, or another end to tell."""
        is_told = wanted.status in (RunState.RUNNING, self._manifest.status)
        return self._is_sealed and not wanted.sealed and is_told and wanted.files == self._manifest.files

    def _is_sign_due(self) -> bool:
        return not self._manifest.sealed and self._monotonic() - self._last_put >= HEARTBEAT_SECONDS

    def _put_now(self, files: GrowingFiles) -> None:
        if self._journaled != (self._manifest.serial + 1, len(self._garbage)):
            self.write_journal(files)
        self._change(replace(self._manifest, serial=self._manifest.serial + 1, alive=now()))
        self._folder.write_manifest(self._manifest)
        reopened, self._is_sealed = self._is_sealed and not self._manifest.sealed, self._manifest.sealed
        self._is_put, self.known = True, self._manifest
        self._last_put = self._monotonic()
        if reopened:
            announce(self._folder)

    def _change(self, manifest: Manifest) -> None:
        self._manifest, self._is_put = manifest, False

    def _delete_garbage(self) -> None:
        named = {path for row in self._manifest.files for path in row.objects()}
        if self._manifest.columns:
            named.add(self._manifest.columns.path)
        paths = [path for path in dict.fromkeys(self._garbage) if path not in named]
        if not paths:
            return
        try:
            self._folder.delete(paths)
        except AccessDenied as error:
            self._conditions.wrong(self._folder.store.uri, f"Objects that are no longer needed stay: {error.message}")
        self._garbage.clear()


AT_ONCE = 4
REWRITING_SECONDS = 10.0


class _Work(NamedTuple):
    found: LocalFile
    growing: GrowingFile
    plan: SegmentPlan


class GrowingLane:
    """Everything about the growing files of one run and one store."""

    def __init__(
        self,
        files: GrowingFiles,
        keeper: ManifestWriter,
        delivery: SegmentSender,
        conditions: UploadProblems,
        monotonic: Callable[[], float],
    ) -> None:
        self.files = files
        self.keeper = keeper
        self._delivery = delivery
        self._conditions = conditions
        self._monotonic = monotonic
        self._resting = FailedFiles(conditions, monotonic)

    @property
    def in_segments(self) -> bool:
        """Whether files are kept in segments, and not as they are."""
        return self._delivery.in_segments

    def round(self, found: Sequence[LocalFile], *, final: bool, status: RunState) -> bool:
        """Send at most one segment of each file, and put the manifest; whether there was more when `found` was made."""
        work = self._plan(found, final=final)
        if work:
            self.keeper.write_journal(self.files)
        error = self._send_all(work)
        if error is None:
            error = self._roll_up_all(found, final=False)
        self._put_manifest(status, error)
        return any(one.plan.end < one.found.identity.size for one in work if one.growing.plan is None)

    def compact(self, found: Sequence[LocalFile], status: RunState) -> None:
        """Leave no small segments, now that the files are complete."""
        self._put_manifest(status, self._roll_up_all(found, final=True))

    def left(self, found: Sequence[LocalFile]) -> dict[str, int]:
        """Bytes that the store should have and does not, by source; half a record is not among them."""
        sizes = {one.source: one.identity.size for one in found}
        known = {source: self.files.known(source) for source in sizes}
        left = {source: size - (one.row.bytes if (one := known[source]) else 0) for source, size in sizes.items()}
        awaited = {one.source for one in found if (file := known[one.source]) and file.done == one.identity}
        return {source: count for source, count in left.items() if count > 0 and source not in awaited}

    def _put_manifest(self, status: RunState, error: AboardError | None) -> None:
        """Name what has arrived, whatever went wrong with the rest."""
        self.keeper.discard(self.files.take_garbage())
        self.keeper.put(self.files, status=status)
        if error is not None:
            raise error

    def _plan(self, found: Sequence[LocalFile], *, final: bool) -> list[_Work]:
        local = {one.source for one in found}
        work: list[_Work] = []
        for one in found:
            growing = self.files.of(one, local)
            is_complete = one.identity.size == growing.row.bytes
            is_done = growing.done == one.identity and (is_complete or not final)
            if is_done or (self._resting.has(one) and not final):
                continue
            try:
                with local_file.opened(one.path) as file:
                    planned = self._plan_one(one, growing, file, final=final)
            except SourceChanged:
                continue
            except SourceUnreadable as error:
                self._resting.add(one, str(error))
                continue
            except AboardError as error:
                if not is_about_one_file(error):
                    raise
                self._resting.add(one, str(error))
                continue
            if planned:
                work.append(planned)
        return work

    def _plan_one(self, found: LocalFile, growing: GrowingFile, file: int, *, final: bool) -> _Work | None:
        look = growing.look(file)
        if look == "short":
            if self._is_awaited(found, growing, file, final=final):
                return None
            look = "replaced"
        growing.short_since = None
        if look == "replaced":
            growing = self.files.replace(found)
            self._conditions.note(str(found.path), "it was replaced by another file, which is shipped from its start.")
            growing.look(file)
        plan = growing.make_plan(file, final=final)
        if plan is not None:
            return _Work(found, growing, plan)
        if local_file.identity(file) == found.identity:
            growing.done = found.identity
        return None

    def _is_awaited(self, found: LocalFile, growing: GrowingFile, file: int, *, final: bool) -> bool:
        """Whether a file that is shorter than what was shipped may become longer again, with the same beginning."""
        if growing.short_checked == found.identity:
            return True
        now = self._monotonic()
        growing.short_since = growing.short_since or now
        if not final and now - growing.short_since < REWRITING_SECONDS:
            return True
        start = 0
        for piece in local_file.pieces(file, 0, found.identity.size):
            if read_logical(self._delivery.folder, growing.row, start, start + len(piece)) != piece:
                return False
            start += len(piece)
        growing.short_checked, growing.short_since = found.identity, None
        return True

    def _send_all(self, work: list[_Work]) -> AboardError | None:
        stop = threading.Event()
        if len(work) < 2:
            errors = [self._send(one, stop) for one in work]
        else:
            with ThreadPoolExecutor(min(AT_ONCE, len(work)), thread_name_prefix="aboard-ship") as threads:
                errors = list(threads.map(self._send, work, [stop] * len(work)))
        return next((error for error in errors if error is not None), None)

    def _send(self, work: _Work, stop: threading.Event) -> AboardError | None:
        """Send one plan; the error, if it is one of the store: then nothing more is begun."""
        if stop.is_set():
            return None
        try:
            with local_file.opened(work.found.path) as file:
                ends = self._delivery.send(work.growing, work.plan, file)
        except SourceChanged:
            return None
        except SourceUnreadable as error:
            self._resting.add(work.found, str(error))
            return None
        except AboardError as error:
            if not is_about_one_file(error):
                stop.set()
                return error
            self._resting.add(work.found, str(error))
            return None
        work.growing.sent(work.plan, ends, work.found, in_segments=self._delivery.in_segments)
        self._resting.well(work.found)
        return None

    def _roll_up_all(self, found: Sequence[LocalFile], *, final: bool) -> AboardError | None:
        local = {one.source: one for one in found}
        for growing in self.files:
            one = local.get(growing.row.source)
            last = to_roll_up(growing.row, final=final)
            # What only the store has would have to be fetched first: that can wait for the end.
            if not last or (self._resting.has(one) if one else not final):
                continue
            try:
                self._roll_up(growing, last, one)
            except AboardError as error:
                if not is_about_one_file(error):
                    return error
                if one:
                    self._resting.add(one, str(error))
        return None

    def _roll_up(self, growing: GrowingFile, last: tuple[Segment, ...], local: LocalFile | None) -> None:
        row, size = growing.row, sum(segment.bytes for segment in last)
        data = _last_bytes(growing, local, size) if local else None
        if data is None:
            data = read_logical(self._delivery.folder, row, row.bytes - size)
        growing.rolled_up(self._delivery.roll_up(row, last, data))
        self.keeper.discard([segment_path(row.path, segment.number) for segment in last[1:]])


def _last_bytes(growing: GrowingFile, local: LocalFile, count: int) -> bytes | None:
    try:
        with local_file.opened(local.path) as file:
            return growing.last_bytes(file, count)
    except (SourceChanged, SourceUnreadable):
        return None
