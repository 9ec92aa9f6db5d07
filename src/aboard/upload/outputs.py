# SPDX-License-Identifier: Apache-2.0
"""Ships the files that are not logs: checkpoints, pictures, whatever training leaves in its output folder.

A file goes whole, when nobody has written to it for a second, and in one piece: what is changed while it is read is not
put at all, and the store keeps what it had. A file that is replaced more often than that is kept open until the version
that was opened has rested; one that is rewritten in place all the time is copied. What training deletes stays in the
store and is marked as gone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from aboard.errors import AboardError
from aboard.store.run.documents import Outputs, OutputsMark
from aboard.store.run.file_rows import FileRow
from aboard.store.run.layout import generation_path, path_of
from aboard.store.run.run_folder import RunFolder
from aboard.upload import local_file
from aboard.upload.local_file import HeldFile, Snapshot, SourceChanged, SourceUnreadable
from aboard.upload.retries import FailedFiles, UploadProblems, is_about_one_file
from aboard.upload.scan import Identity, LocalFile, Scan

QUIET_SECONDS = 1.0
RESTLESS_SECONDS = 10.0
NO_COPY_SECONDS = 60.0
MOST_HELD = 64  # files that are replaced all the time; each takes a descriptor
SMALL_BYTES = 8 << 20
LIST_SECONDS = 10.0
AT_ONCE = 4
_SAME_TIME = 1e-5  # floating-point seconds are good for a microsecond


@dataclass
class _Waiting:
    """A file that differs from what the store has."""

    identity: Identity
    since: float
    """When it was first seen in this state."""
    waiting_since: float
    """When it was first seen to differ at all."""
    largest: int = 0
    """The largest size it was seen with."""
    held: HeldFile | None = None
    """A version that was replaced, or is about to be."""
    taken: Literal["resting", "held", "copied", "last"] = "resting"
    """Which content is put, once it is ready; the last one is put whatever it is."""
    copied: float = float("-inf")
    """When it was last tried to copy it."""

    def is_overdue(self, now: float) -> bool:
        """Whether it waits so long that it is copied; large ones wait longer, because each copy costs as much."""
        pause = self.identity.size // SMALL_BYTES
        return now - self.waiting_since >= RESTLESS_SECONDS + pause and now - self.copied >= pause

    def release(self) -> None:
        if self.held is not None:
            self.held.close()
            self.held = None


class OutputLane:
    """Everything about the files of one run that are shipped whole, and `outputs.json`."""

    def __init__(
        self, folder: RunFolder, outputs: Outputs, conditions: UploadProblems, monotonic: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._rows = {row.source: row for row in outputs.files}
        self._outputs = outputs
        self._conditions = conditions
        self._monotonic = monotonic
        self._resting = FailedFiles(conditions, monotonic)
        self._waiting: dict[str, _Waiting] = {}
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        self._unlisted = 0
        """Bytes shipped since the list was put."""
        self._list_put = float("-inf")
        self._is_listed = True

    @property
    def mark(self) -> OutputsMark | None:
        """What the manifest should say about the list in the store."""
        if not self._outputs.serial:
            return None
        rows = [row for row in self._outputs.files if not row.link]
        return OutputsMark(self._outputs.serial, len(rows), sum(row.bytes for row in rows))

    def ship(self, scan: Scan, *, final: bool = False) -> None:
        """Ship what is ready; with `final` everything that can be read. Raises when the store fails."""
        found = [one for one in scan.files if one.kind in {"output", "link"}]
        self._note_links(one for one in found if one.kind == "link")
        self._note_gone(scan)
        ready = [one for one in found if one.kind == "output" and self._is_ready(one, final=final)]
        try:
            self._send_all(ready)
        finally:
            self._put_list(final=final)

    def left(self, scan: Scan) -> dict[str, int]:
        """Bytes that the store does not have yet, by source."""
        files = [one for one in scan.files if one.kind == "output" and not self._is_shipped(one)]
        return {one.source: one.identity.size for one in files}

    def _is_shipped(self, found: LocalFile) -> bool:
        row = self._rows.get(found.source)
        if row is None or row.link or row.modified is None or row.bytes != found.identity.size:
            return False
        return abs(row.modified - found.modified) < _SAME_TIME

    def _is_ready(self, found: LocalFile, *, final: bool) -> bool:
        self._seen.add(found.source)
        if self._is_shipped(found):
            self._forget_waiting(found.source)
            return False
        now = self._monotonic()
        waiting = self._waiting.setdefault(found.source, _Waiting(found.identity, now, now))
        waiting.largest = max(waiting.largest, found.identity.size)
        if waiting.identity != found.identity:
            is_replaced = waiting.identity.inode != found.identity.inode
            waiting.identity, waiting.since = found.identity, now
            if is_replaced:
                self._hold(found, waiting, now)
        if final or now - waiting.since >= QUIET_SECONDS:
            waiting.release()
            waiting.taken = "last" if final else "resting"
            return final or not self._resting.has(found)
        if self._resting.has(found):
            return False
        if waiting.held is not None:
            if (seconds := waiting.held.seconds_unchanged(now)) is not None:
                waiting.taken = "held"
                return seconds >= QUIET_SECONDS
            waiting.release()
        waiting.taken = "copied"
        return waiting.is_overdue(now)

    def _hold(self, found: LocalFile, waiting: _Waiting, now: float) -> None:
        """Keep the version that has the name now, unless an earlier one is kept that nobody writes to."""
        if waiting.held is not None and waiting.held.seconds_unchanged(now) is not None:
            return
        waiting.release()
        if sum(one.held is not None for one in self._waiting.values()) < MOST_HELD:
            with contextlib.suppress(SourceChanged, SourceUnreadable):
                waiting.held = HeldFile(found.path, now)

    def _send_all(self, ready: Sequence[LocalFile]) -> None:
        small = [one for one in ready if one.identity.size <= SMALL_BYTES]
        large = [one for one in ready if one.identity.size > SMALL_BYTES]
        stop = threading.Event()
        errors: list[AboardError | None] = []
        if small:
            with ThreadPoolExecutor(min(AT_ONCE, len(small)), thread_name_prefix="aboard-ship") as threads:
                errors += threads.map(self._send, small, [stop] * len(small))
        errors += [self._send(one, stop) for one in large]
        if error := next((error for error in errors if error is not None), None):
            raise error

    def _send(self, found: LocalFile, stop: threading.Event) -> AboardError | None:
        """Put one file; the error, if it is one of the store: then nothing more is begun."""
        if stop.is_set():
            return None
        try:
            row = self._put(found, self._row_for(found))
        except SourceChanged:
            if self._monotonic() - self._waiting[found.source].waiting_since >= NO_COPY_SECONDS:
                self._conditions.wrong(
                    str(found.path),
                    "The file is written all the time and could not be copied whole. The store keeps the last whole "
                    "copy; the file is uploaded when it rests for a second, or when the run ends.",
                )
            return None
        except SourceUnreadable as error:
            self._resting.add(found, str(error))
            return None
        except AboardError as error:
            if not is_about_one_file(error):
                stop.set()
                return error
            self._resting.add(found, str(error))
            return None
        with self._lock:
            self._rows[found.source] = row
            self._unlisted += row.bytes
            self._is_listed = False
            self._forget_waiting(found.source)
        self._resting.well(found)
        self._conditions.well(str(found.path), "it is shipped now.")
        return None

    def _put(self, found: LocalFile, row: FileRow) -> FileRow:
        with self._content(found) as content:
            key, size = self._folder.key(row.path), content.identity.size
            if size <= SMALL_BYTES:
                self._folder.store.put(key, b"".join(content))
            else:
                self._folder.store.put_stream(key, content, size=size)
        return replace(row, bytes=size, crc32=content.crc32, modified=content.modified, gone=False, link="")

    @contextlib.contextmanager
    def _content(self, found: LocalFile) -> Generator[Snapshot]:
        """What is put of a file: what it is, a version that was kept, or a copy."""
        waiting = self._waiting[found.source]
        if waiting.held is not None:
            yield Snapshot(waiting.held.descriptor)
        elif waiting.taken == "copied":
            waiting.copied = self._monotonic()
            with local_file.settled_copy(found.path, waiting.largest) as copy:
                yield copy
        else:
            with local_file.opened(found.path) as file:
                content = Snapshot(file)
                if waiting.taken == "resting" and content.identity != found.identity:
                    raise SourceChanged("The file was written after it had rested.")
                yield content

    def _forget_waiting(self, source: str) -> None:
        if waiting := self._waiting.pop(source, None):
            waiting.release()

    def _row_for(self, found: LocalFile) -> FileRow:
        with self._lock:
            if known := self._rows.get(found.source):
                return known
            taken = {row.path for row in self._rows.values()}
            base, generation = path_of(found.source, is_event_file=False), 1
            while generation_path(base, generation) in taken:
                generation += 1
            row = FileRow(path=generation_path(base, generation), source=found.source)
            self._rows[found.source] = row  # takes the path; not listed before it is shipped
            return row

    def _note_links(self, links: Iterable[LocalFile]) -> None:
        for found in links:
            self._seen.add(found.source)
            row = self._row_for(found)
            if row.link != found.link:
                self._rows[found.source] = FileRow(path=row.path, source=row.source, link=found.link)
                self._is_listed = False

    def _note_gone(self, scan: Scan) -> None:
        """Mark what training deleted: seen by this process, and no longer there although its folder is."""
        if not scan.has_output:
            return
        local = {one.source for one in scan.files}
        for source in self._waiting.keys() - local:
            self._forget_waiting(source)
        for source in self._seen - local:
            self._seen.discard(source)
            row = self._rows.get(source)
            if row and row.link:
                del self._rows[source]
                self._is_listed = False
            elif row and row.modified is not None and not row.gone:
                self._rows[source] = replace(row, gone=True)
                self._is_listed = False

    def _put_list(self, *, final: bool) -> None:
        """Put the list when it is not much larger than what was shipped since, or after ten seconds."""
        if self._is_listed:
            return
        with self._lock:
            rows = tuple(row for row in self._rows.values() if row.link or row.modified is not None)
            unlisted = self._unlisted
        wanted = replace(self._outputs, serial=self._outputs.serial + 1, files=rows)
        is_small = len(rows) * 150 <= max(unlisted, 16_384)
        if not (final or is_small or self._monotonic() - self._list_put >= LIST_SECONDS):
            return
        self._folder.write_outputs(wanted)
        self._outputs, self._is_listed = wanted, True
        self._unlisted, self._list_put = 0, self._monotonic()
