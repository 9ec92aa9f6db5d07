# SPDX-License-Identifier: Apache-2.0
"""Copies an event file without the insides of its large records, which are fetched when somebody looks at them.

Records are found by going from header to header, so what lies behind a large one can only be asked for once that one
was met. That costs a round trip for each of them, and is worth it from about a megabyte on; smaller pictures are
fetched with everything else, as large stretches in parallel are quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aboard._native import hop_records
from aboard.reader.remote.copy_folder import NewCopy
from aboard.reader.remote.fetching import PIECE_BYTES
from aboard.reader.remote.large_fields import large_field

_WORTH_SKIPPING = 1 << 20
_SHORT_WINDOW = 256 << 10  # behind a large record there is most often another one
_LONG_WINDOW = 4 * PIECE_BYTES
_HEADER_BYTES, _OVERHEAD_BYTES = 12, 16
_LONGEST_RECORD = 1 << 29  # as for the reader

Read = Callable[[int, int], Iterator[bytes]]
"""The bytes of a range, in order."""


def copy_skimmed(read: Read, size: int, copy: NewCopy) -> None:
    """Copy `size` bytes that `read` hands out. Where anything is unclear, everything from there on is copied."""
    if size <= PIECE_BYTES:
        _copy_all(read, 0, size, copy)
        return
    position = record = 0  # what is to be fetched next, and where the record begins that was met last
    window, known = PIECE_BYTES, b""  # the bytes from `record` to `position`
    while position < size:
        data = b"".join(read(position, min(position + window, size)))
        copy.write(data)
        known = known + data if record <= position else data[record - position :]
        position += len(data)
        if record > position:
            continue
        hopped, length, longest = hop_records(known)
        record, known = record + hopped, known[hopped:]
        if length < 0 and len(known) >= _HEADER_BYTES:  # damaged, and the reader will search for what follows
            _copy_all(read, position, size, copy)
            return
        end = record + length + _OVERHEAD_BYTES
        is_large = end - position > _WORTH_SKIPPING and length < _LONGEST_RECORD and end <= size
        field = large_field(known[_HEADER_BYTES:], length) if length >= 0 and is_large else None
        if field is not None:
            behind = record + _HEADER_BYTES + field[1]
            copy.skip(record, position, behind)
            position, record, known = behind, end, b""
        met_large = field is not None or longest >= _WORTH_SKIPPING
        window = _SHORT_WINDOW if met_large else min(window * 4, _LONG_WINDOW)


def _copy_all(read: Read, begin: int, end: int, copy: NewCopy) -> None:
    for data in read(begin, end):
        copy.write(data)
