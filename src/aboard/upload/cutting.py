# SPDX-License-Identifier: Apache-2.0
"""Where growing files are cut into segments, and when small segments become one.

Event files are cut behind whole records, so that every segment is an event file. Sizes follow from what is sent: each
byte goes once in its segment and once more in a roll-up, and with every segment goes a manifest that names all of them.
Six small segments for each large one keep that manifest shortest.
"""

from __future__ import annotations

from aboard._native import record_boundary
from aboard.store.run.file_row import FileRow, Segment
from aboard.upload.local_file import SourceUnreadable

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
