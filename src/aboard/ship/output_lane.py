# SPDX-License-Identifier: Apache-2.0
"""Ships the files that are not logs: checkpoints, pictures, whatever training leaves in its output folder.

A file goes whole, when nobody has written to it for a second, and in one piece: what is changed while it is read is not
put at all, and the store keeps what it had. What training deletes stays in the store and is marked as gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from aboard.errors import AboardError
from aboard.ship import local_file
from aboard.ship.conditions import Conditions
from aboard.ship.failures import RestingFiles, is_about_one_file
from aboard.ship.local_file import Snapshot, SourceChanged, SourceUnreadable
from aboard.ship.scan import Found, Identity, Scan
from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import generation_path, path_of
from aboard.store.run.manifest import OutputsMark
from aboard.store.run.outputs import Outputs
from aboard.store.run.run_folder import RunFolder

QUIET_SECONDS = 1.0
RESTLESS_SECONDS = 30.0
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


class OutputLane:
    """Everything about the files of one run that are shipped whole, and `outputs.json`."""

    def __init__(
        self, folder: RunFolder, outputs: Outputs, conditions: Conditions, monotonic: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._rows = {row.source: row for row in outputs.files}
        self._outputs = outputs
        self._conditions = conditions
        self._monotonic = monotonic
        self._resting = RestingFiles(conditions, monotonic)
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

    def _is_shipped(self, found: Found) -> bool:
        row = self._rows.get(found.source)
        if row is None or row.link or row.modified is None or row.bytes != found.identity.size:
            return False
        return abs(row.modified - found.modified) < _SAME_TIME

    def _is_ready(self, found: Found, *, final: bool) -> bool:
        self._seen.add(found.source)
        if self._is_shipped(found):
            self._waiting.pop(found.source, None)
            return False
        now = self._monotonic()
        waiting = self._waiting.setdefault(found.source, _Waiting(found.identity, now, now))
        if waiting.identity != found.identity:
            waiting.identity, waiting.since = found.identity, now
        if final:
            return True
        if self._resting.has(found):
            return False
        # A file that is written all the time is shipped too, now and then, as long as that is cheap.
        is_overdue = now - waiting.waiting_since >= RESTLESS_SECONDS and found.identity.size <= SMALL_BYTES
        return now - waiting.since >= QUIET_SECONDS or is_overdue

    def _send_all(self, ready: Sequence[Found]) -> None:
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

    def _send(self, found: Found, stop: threading.Event) -> AboardError | None:
        """Put one file; the error, if it is one of the store: then nothing more is begun."""
        if stop.is_set():
            return None
        try:
            row = self._put(found, self._row_for(found))
        except SourceChanged:
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
            self._waiting.pop(found.source, None)
        self._resting.well(found)
        return None

    def _put(self, found: Found, row: FileRow) -> FileRow:
        with local_file.opened(found.path) as file:
            snapshot = Snapshot(file)
            key, size = self._folder.key(row.path), snapshot.identity.size
            if size <= SMALL_BYTES:
                self._folder.store.put(key, b"".join(snapshot))
            else:
                self._folder.store.put_stream(key, snapshot, size=size)
        modified = snapshot.identity.modified_ns / 1e9
        return replace(row, bytes=size, crc32=snapshot.crc32, modified=modified, gone=False, link="")

    def _row_for(self, found: Found) -> FileRow:
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

    def _note_links(self, links: Iterable[Found]) -> None:
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
