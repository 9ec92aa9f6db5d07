# SPDX-License-Identifier: Apache-2.0
"""Ranges of bytes that are close together are fetched together and cut apart again."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import NamedTuple

DEFAULT_GAP = 64 * 1024  # fetching this much for nothing is cheaper than a request of its own


class ByteRange(NamedTuple):
    """Bytes from `start` up to, not including, `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def merge(wanted: Sequence[ByteRange], gap: int) -> list[ByteRange]:
    """The fewest ranges that cover all of `wanted`, where holes of up to `gap` bytes are fetched too."""
    merged: list[ByteRange] = []
    for one in sorted(one for one in wanted if one.length):
        if merged and one.start <= merged[-1].end + max(gap, 0):
            merged[-1] = ByteRange(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged


def cut(wanted: Sequence[ByteRange], fetched: Sequence[ByteRange], content: Sequence[bytes]) -> list[bytes]:
    """The bytes of each of `wanted` out of the content of the merged ranges."""
    starts = [one.start for one in fetched]
    pieces: list[bytes] = []
    for one in wanted:
        place = bisect.bisect_right(starts, one.start) - 1
        if not one.length or place < 0:
            pieces.append(b"")
            continue
        offset = one.start - starts[place]
        pieces.append(content[place][offset : offset + one.length])
    return pieces
