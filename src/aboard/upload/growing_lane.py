# SPDX-License-Identifier: Apache-2.0
"""Ships the files that grow, event files and logs, and keeps the manifest.

A round plans, writes the journal, sends, puts the manifest, and only then deletes what the manifest no longer names. So
whoever holds any manifest that was ever put finds the bytes that it names, or a key missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from aboard.errors import AboardError
from aboard.model.run_states import RunState
from aboard.store.run.file_row import Segment
from aboard.store.run.layout import segment_path
from aboard.store.run.logical_file import read_logical
from aboard.upload import local_file
from aboard.upload.conditions import Conditions
from aboard.upload.cutting import to_roll_up
from aboard.upload.delivery import Delivery
from aboard.upload.failures import RestingFiles, is_about_one_file
from aboard.upload.growing_file import GrowingFile, Plan
from aboard.upload.growing_files import GrowingFiles
from aboard.upload.local_file import SourceChanged, SourceUnreadable
from aboard.upload.manifest_keeper import ManifestKeeper
from aboard.upload.scan import Found

AT_ONCE = 4
REWRITING_SECONDS = 10.0


class _Work(NamedTuple):
    found: Found
    growing: GrowingFile
    plan: Plan


class GrowingLane:
    """Everything about the growing files of one run and one store."""

    def __init__(
        self,
        files: GrowingFiles,
        keeper: ManifestKeeper,
        delivery: Delivery,
        conditions: Conditions,
        monotonic: Callable[[], float],
    ) -> None:
        self.files = files
        self.keeper = keeper
        self._delivery = delivery
        self._conditions = conditions
        self._monotonic = monotonic
        self._resting = RestingFiles(conditions, monotonic)

    @property
    def in_segments(self) -> bool:
        """Whether files are kept in segments, and not as they are."""
        return self._delivery.in_segments

    def round(self, found: Sequence[Found], *, final: bool, status: RunState) -> bool:
        """Send at most one segment of each file, and put the manifest; whether there was more when `found` was made."""
        work = self._plan(found, final=final)
        if work:
            self.keeper.write_journal(self.files)
        error = self._send_all(work)
        if error is None:
            error = self._roll_up_all(found, final=False)
        self._put_manifest(status, error)
        return any(one.plan.end < one.found.identity.size for one in work if one.growing.plan is None)

    def compact(self, found: Sequence[Found], status: RunState) -> None:
        """Leave no small segments, now that the files are complete."""
        self._put_manifest(status, self._roll_up_all(found, final=True))

    def left(self, found: Sequence[Found]) -> dict[str, int]:
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

    def _plan(self, found: Sequence[Found], *, final: bool) -> list[_Work]:
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

    def _plan_one(self, found: Found, growing: GrowingFile, file: int, *, final: bool) -> _Work | None:
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

    def _is_awaited(self, found: Found, growing: GrowingFile, file: int, *, final: bool) -> bool:
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

    def _roll_up_all(self, found: Sequence[Found], *, final: bool) -> AboardError | None:
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

    def _roll_up(self, growing: GrowingFile, last: tuple[Segment, ...], local: Found | None) -> None:
        row, size = growing.row, sum(segment.bytes for segment in last)
        data = _last_bytes(growing, local, size) if local else None
        if data is None:
            data = read_logical(self._delivery.folder, row, row.bytes - size)
        growing.rolled_up(self._delivery.roll_up(row, last, data))
        self.keeper.discard([segment_path(row.path, segment.number) for segment in last[1:]])


def _last_bytes(growing: GrowingFile, local: Found, count: int) -> bytes | None:
    try:
        with local_file.opened(local.path) as file:
            return growing.last_bytes(file, count)
    except (SourceChanged, SourceUnreadable):
        return None
