# SPDX-License-Identifier: Apache-2.0
"""Growing local files (event files, logs), and how they are cut into segments.

A file is the same as long as it begins with the bytes that were uploaded. Some programs truncate a file and write all
of it again with every addition: while it is shorter than what was uploaded, the uploader waits for it.

Event files are cut after whole records, so that every segment is an event file. Sizes follow from the bytes sent: each
byte is sent once in its segment and once more in a roll-up, and with every segment goes a manifest that names all of
them. Six small segments for each large one keep that manifest shortest.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from aboard._native import record_boundary
from aboard.store.run.file_rows import FileRow, Segment
from aboard.store.run.layout import EVENTS, generation_base, generation_of, generation_path, path_of, segment_path
from aboard.upload import local_file
from aboard.upload.local_file import SourceChanged, SourceUnreadable, opened
from aboard.upload.scan import Identity, LocalFile

SEGMENT_BYTES = 8 << 20
LARGE_BYTES = 4 << 20
FEWEST_SMALL = 32
SMALL_PER_LARGE = 6
NOT_A_RECORD_BYTES = 4 << 20
LAST_BYTES = 512 << 10


def cut_records(file: int, start: int, size: int, *, final: bool) -> int:
    """Where the next segment of an event file ends; at `start` when nothing can be sent yet.

    Bytes that are no record go with the next record; alone when there are 4 MB of them, or when the file is complete.
    """
    try:
        end, damaged = record_boundary(file, start, start + SEGMENT_BYTES, size)
    except OSError as error:
        raise SourceUnreadable(f"The file cannot be read: {error.strerror}.") from None
    if end > start:
        return end
    if final or (damaged and size - start >= NOT_A_RECORD_BYTES):
        return cut_anywhere(start, size)
    return start


def cut_anywhere(start: int, size: int) -> int:
    """Where the next segment of a text ends."""
    return min(size, start + SEGMENT_BYTES)


def tail_of(row: FileRow) -> tuple[Segment, ...]:
    """The small segments at the end that were never rolled up; a roll-up leaves a gap in the numbers behind it."""
    segments = row.segments or ()
    following = row.next_segment
    for place in range(len(segments) - 1, -1, -1):
        segment = segments[place]
        if segment.bytes >= LARGE_BYTES or following != segment.number + 1:
            return segments[place + 1 :]
        following = segment.number
    return segments


def to_roll_up(row: FileRow, *, final: bool) -> tuple[Segment, ...]:
    """The segments at the end that should become one, if it is time; none or at least two.

    At the end of a file it is time for all small ones, and for earlier roll-ups up to half a megabyte, so that small
    files end as one object.
    """
    segments, tail = row.segments or (), tail_of(row)
    if final:
        place, size = len(segments) - len(tail), sum(segment.bytes for segment in tail)
        while place and size + segments[place - 1].bytes <= LAST_BYTES:
            place, size = place - 1, size + segments[place - 1].bytes
        tail = segments[place:]
    else:
        enough = max(FEWEST_SMALL, SMALL_PER_LARGE * (len(segments) - len(tail)))
        if len(tail) < enough and sum(segment.bytes for segment in tail) < SEGMENT_BYTES:
            return ()
    return tail if len(tail) > 1 else ()


SAMPLE_BYTES = 4096
IN_MEMORY_BYTES = 32 << 20

Look = Literal["same", "short", "replaced"]


class SegmentPlan(NamedTuple):
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
    plan: SegmentPlan | None = None
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

    def make_plan(self, file: int, *, final: bool) -> SegmentPlan | None:
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
        self.plan = SegmentPlan(start, end, self.row.next_segment, crc)
        return self.plan

    def read_plan(self, file: int, plan: SegmentPlan) -> bytes:
        data = local_file.read(file, plan.start, plan.end)
        if zlib.crc32(data, self.row.crc32 or 0) != plan.crc32:
            raise SourceChanged("The file was rewritten while it was read.")
        return data

    def sent(self, plan: SegmentPlan, ends: bytes, found: LocalFile, *, in_segments: bool) -> None:
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

    def _still_holds(self, file: int, plan: SegmentPlan) -> bool:
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


class GrowingFiles:
    """Growing files by source; no two share a path."""

    def __init__(self, rows: Sequence[FileRow], plans: Mapping[str, SegmentPlan], *, in_segments: bool) -> None:
        self._in_segments = in_segments
        self._by_source = {row.source: _known(row, plans.get(row.path)) for row in rows}
        self._garbage: list[str] = []

    def __iter__(self) -> Iterator[GrowingFile]:
        return iter(self._by_source.values())

    def rows(self) -> tuple[FileRow, ...]:
        """What the manifest should name: of a replaced file the old content, as long as there is none of the new."""
        shown = (one.row if one.row.bytes else one.replaces for one in self)
        return tuple(row for row in shown if row is not None)

    def journaled(self) -> tuple[FileRow, ...]:
        """The same, and the files of which nothing but a plan is known."""
        return (*self.rows(), *(one.row for one in self if one.plan and not one.row.bytes and not one.replaces))

    def known(self, source: str) -> GrowingFile | None:
        """The file from this source, if it was seen before."""
        return self._by_source.get(source)

    def of(self, found: LocalFile, local: set[str]) -> GrowingFile:
        """The file that was found; `local` are all sources that this machine has."""
        known = self._by_source.get(found.source)
        if known is None:
            known = self._adopted(found, local) or self._new(found)
            self._by_source[found.source] = known
        return known

    def replace(self, found: LocalFile) -> GrowingFile:
        """Another file has come in the place of one: it gets a path of its own."""
        old = self._by_source[found.source]
        self._garbage += self._abandoned(old)
        new = self._new(found, old)
        self._by_source[found.source] = new
        return new

    def take_garbage(self) -> list[str]:
        """Paths of objects that no manifest names from now on; each is told once."""
        for one in self:
            self._garbage += self._abandoned(one)
            if one.row.bytes and one.replaces:
                self._garbage += one.replaces.objects()
                one.replaces = None
        taken, self._garbage = self._garbage, []
        return taken

    def _abandoned(self, one: GrowingFile) -> list[str]:
        numbers = [*one.given_up]
        one.given_up.clear()
        return [segment_path(one.row.path, number) for number in numbers]

    def _new(self, found: LocalFile, old: GrowingFile | None = None) -> GrowingFile:
        """A file with a path that no manifest has ever named with other content."""
        taken = {path for one in self for path in (one.row.path, one.replaces.path if one.replaces else "")}
        base = path_of(found.source, is_event_file=found.kind == "events")
        generation = generation_of(old.row.path, base) + 1 if old else 1
        while generation_path(base, generation) in taken:
            generation += 1
        row = FileRow(
            path=generation_path(base, generation), source=found.source, segments=() if self._in_segments else None
        )
        replaces = (old.row if old.row.bytes else old.replaces) if old else None
        return GrowingFile(row, found.kind == "events", replaces=replaces)

    def _adopted(self, found: LocalFile, local: set[str]) -> GrowingFile | None:
        """A file that was shipped from another place, such as another folder of an earlier attempt's machine."""
        path = path_of(found.source, is_event_file=found.kind == "events")
        others = [one for one in self if one.row.source not in local]
        old = next((one for one in others if generation_base(one.row.path)[0] == path), None)
        if old is None:
            return None
        if old.row.crc32 is None:  # found without a manifest: its source is a guess
            del self._by_source[old.row.source]
            return self._new(found, GrowingFile(replace(old.row, source=found.source), old.is_event_file))
        moved = GrowingFile(replace(old.row, source=found.source), old.is_event_file)
        try:
            with opened(found.path) as file:
                if moved.look(file) != "same":
                    return None
        except (SourceChanged, SourceUnreadable):
            return None
        del self._by_source[old.row.source]
        return moved


def _known(row: FileRow, plan: SegmentPlan | None) -> GrowingFile:
    return GrowingFile(row, row.path.startswith(f"{EVENTS}/"), plan=plan if row.segments is not None else None)
