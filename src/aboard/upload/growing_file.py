# SPDX-License-Identifier: Apache-2.0
"""One local file that grows: how much of it is in the store, whether it is still the same file, and what comes next.

A file is the same as long as it begins with the bytes that were shipped. Some programs write the whole file again with
every addition (they truncate it first): while it is shorter than what was shipped, it is waited for.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from aboard.store.run.file_row import FileRow, Segment
from aboard.upload import local_file
from aboard.upload.cutting import cut_anywhere, cut_records, tail_of
from aboard.upload.local_file import SourceChanged
from aboard.upload.scan import Found, Identity

SAMPLE_BYTES = 4096
IN_MEMORY_BYTES = 32 << 20

Look = Literal["same", "short", "replaced"]


class Plan(NamedTuple):
    """Bytes that are about to be sent. Whoever sends a plan again sends the same bytes under the same number."""

    start: int
    end: int
    number: int
    crc32: int
    """Of the whole file up to `end`."""


@dataclass
class GrowingFile:
    """`row` says what is in the store; a plan that was tried may be there too."""

    row: FileRow
    is_event_file: bool
    replaces: FileRow | None = None
    """What the store has of an earlier file of this name, until it has something of this one."""
    plan: Plan | None = None
    done: Identity | None = None
    """The state of the local file in which there was nothing left to send."""
    short_since: float | None = None
    short_checked: Identity | None = None
    given_up: list[int] = field(default_factory=list[int])
    """Numbers of segments that may be in the store, but will never be named."""
    _verified: bool = False
    _head: bytes = b""
    _tail: bytes = b""
    _tail_start: int = 0
    _tail_crc32: int = 0
    """The checksum of everything before `_tail_start`, where the small segments begin."""

    def look(self, file: int) -> Look:
        """Whether an open file begins with what was shipped."""
        size = local_file.identity(file).size
        if size < self.row.bytes:
            known = self._head[:size] if self._verified else b""
            return "short" if local_file.read(file, 0, len(known)) == known else "replaced"
        if not self._verified:
            return "same" if self._verify(file) else "replaced"
        before = self.row.bytes - len(self._tail)
        same = local_file.read(file, 0, len(self._head)) == self._head
        return "same" if same and local_file.read(file, before, self.row.bytes) == self._tail else "replaced"

    def make_plan(self, file: int, *, final: bool) -> Plan | None:
        """What to send next of a file that is the same."""
        start, size = self.row.bytes, local_file.identity(file).size
        if self.plan is not None:
            if self._still_holds(file, self.plan):
                return self.plan
            # Something else may stand under its number by now: that number is given up.
            self.given_up.append(self.plan.number)
            self.row = replace(self.row, next_segment=self.plan.number + 1)
            self.plan = None
        end = cut_records(file, start, size, final=final) if self.is_event_file else cut_anywhere(start, size)
        if end <= start:
            return None
        crc = local_file.checksum(file, start, end, self.row.crc32 or 0)
        self.plan = Plan(start, end, self.row.next_segment, crc)
        return self.plan

    def read_plan(self, file: int, plan: Plan) -> bytes:
        """The bytes of a plan."""
        data = local_file.read(file, plan.start, plan.end)
        if zlib.crc32(data, self.row.crc32 or 0) != plan.crc32:
            raise SourceChanged("The file was rewritten while it was read.")
        return data

    def sent(self, plan: Plan, ends: bytes, found: Found, *, in_segments: bool) -> None:
        """A plan has arrived; `ends` is its data, or enough of both its ends."""
        segments = (*(self.row.segments or ()), Segment(plan.number, plan.end - plan.start)) if in_segments else None
        self.row = replace(
            self.row,
            bytes=plan.end,
            segments=segments,
            next_segment=plan.number + 1 if in_segments else 0,
            crc32=plan.crc32,
            modified=found.modified,
        )
        if len(self._head) < SAMPLE_BYTES:
            self._head = (self._head + ends)[:SAMPLE_BYTES]
        self._tail = (self._tail + ends)[-SAMPLE_BYTES:]
        self._verified = True
        self.plan = None
        if not tail_of(self.row):
            self._start_tail()

    def rolled_up(self, row: FileRow) -> None:
        """The small segments at the end have become one."""
        self.row = row
        self._start_tail()

    def last_bytes(self, file: int, count: int) -> bytes | None:
        """The last of the bytes that are in the store, if the local file still has them."""
        if not self._verified:
            return None
        start = self.row.bytes - count
        before = self._tail_crc32 if start == self._tail_start else local_file.checksum(file, 0, start)
        data = local_file.read(file, start, self.row.bytes)
        return data if zlib.crc32(data, before) == self.row.crc32 else None

    def _start_tail(self) -> None:
        self._tail_start, self._tail_crc32 = self.row.bytes, self.row.crc32 or 0

    def _still_holds(self, file: int, plan: Plan) -> bool:
        if plan.start != self.row.bytes or local_file.identity(file).size < plan.end:
            return False
        return local_file.checksum(file, plan.start, plan.end, self.row.crc32 or 0) == plan.crc32

    def _verify(self, file: int) -> bool:
        """Read all that was shipped once, after a restart."""
        end = self.row.bytes
        self._tail_start = end - sum(segment.bytes for segment in tail_of(self.row))
        self._tail_crc32 = local_file.checksum(file, 0, self._tail_start)
        if local_file.checksum(file, self._tail_start, end, self._tail_crc32) != (self.row.crc32 if end else 0):
            return False
        self._head = local_file.read(file, 0, min(end, SAMPLE_BYTES))
        self._tail = local_file.read(file, max(0, end - SAMPLE_BYTES), end)
        self._verified = True
        return True
