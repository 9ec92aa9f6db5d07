# SPDX-License-Identifier: Apache-2.0
"""What is known of the local copy of one event file: its length, its content, and what of it was given back."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

Part = tuple[int, int]
Skipped = tuple[int, int, int]
"""Where a record begins, and the part of it that is not here."""
UNKNOWN_CRC = -1  # of a copy that is not what it should be, and is shown all the same


@dataclass(slots=True)
class CopiedFile:
    """The beginning of a file of a store on this machine."""

    path: str
    """Its key, relative to the root; that of its source where a store keeps it in segments."""
    size: int = 0
    crc32: int = 0
    mark: str = ""
    """The etag of the object it was copied from; empty where a manifest tells."""
    absent: list[Part] = field(default_factory=list[Part])
    """Parts whose space was given back, in order."""
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    """Parts of large records that were never fetched, in order."""

    @property
    def on_disk(self) -> int:
        """Bytes that it takes."""
        return self.size - sum(end - begin for begin, end in self.missing)

    @property
    def missing(self) -> list[Part]:
        """All that is not here."""
        return [*self.absent, *((begin, end) for _, begin, end in self.skipped)]

    @property
    def absent_end(self) -> int:
        """Where the last absent part ends; 0 when all is there."""
        return self.absent[-1][1] if self.absent else 0

    def lacks(self, begin: int, end: int) -> bool:
        """Whether something of a range is not here."""
        return any(first < end and begin < last for first, last in self.missing)

    def filled(self, begin: int, end: int) -> None:
        """Note that a range is there again."""
        self.absent = [part for each in self.absent for part in _without(each, (begin, end))]
        self.skipped = [
            (record, *part) for record, first, last in self.skipped for part in _without((first, last), (begin, end))
        ]

    def give_back(self, begin: int, end: int) -> None:
        """Note that a range is no longer here."""
        self.absent = [(begin, end)]
        self.skipped = [one for one in self.skipped if one[1] < begin or one[2] > end]

    def grown(self, data: bytes) -> None:
        """Note that it has become longer."""
        if self.crc32 != UNKNOWN_CRC:
            self.crc32 = zlib.crc32(data, self.crc32)
        self.size += len(data)

    def to_json(self) -> list[Any]:
        """As it stands in a document."""
        return [self.path, self.size, self.crc32, self.mark, self.absent, self.skipped]

    @classmethod
    def from_json(cls, values: list[Any]) -> CopiedFile:
        """The opposite; raises ValueError or TypeError for anything else."""
        path, size, crc32, mark, absent, skipped = values
        parts = [(int(begin), int(end)) for begin, end in absent]
        records = [(int(record), int(begin), int(end)) for record, begin, end in skipped]
        return cls(str(path), int(size), int(crc32), str(mark), parts, records)


def _without(part: Part, taken: Part) -> list[Part]:
    (first, last), (begin, end) = part, taken
    return [(a, b) for a, b in ((first, min(last, begin)), (max(first, end), last)) if a < b]
