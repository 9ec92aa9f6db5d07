# SPDX-License-Identifier: Apache-2.0
"""What a repair has done: what is in the copy, what was dropped, what was left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from aboard.exchange.diagnosis import Diagnosis

_MOST_LISTED = 1000  # files that are named; all are counted


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in the copy, and why; `missed` if it should be there."""

    path: str
    reason: str
    missed: bool


@dataclass(frozen=True, slots=True)
class Shortened:
    """An event file that lost damaged parts."""

    path: str
    records: int  # kept
    dropped_bytes: int


@dataclass(slots=True)
class Repair:
    """What was copied, what was dropped, and what a second look at the copy found."""

    out: Path
    event_files: int = 0
    records: int = 0
    bytes: int = 0  # of event files
    dropped: Counter[str] = field(default_factory=Counter[str])  # places, by code
    dropped_bytes: int = 0
    shortened_files: int = 0
    shortened: list[Shortened] = field(default_factory=list[Shortened])
    other_files: int = 0
    other_files_not_wanted: int = 0
    links: int = 0
    left_out_in_all: int = 0
    missed: int = 0
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    check: Diagnosis = field(default_factory=Diagnosis)
    is_confirmed: bool = False  # the copy was read again and has all that was written

    @property
    def is_complete(self) -> bool:
        """Whether all that can be saved is in the copy."""
        return self.is_confirmed and self.missed == 0

    def leave_out(self, path: Path | str, reason: str, *, missed: bool) -> None:
        """Note something that is not in the copy."""
        self.left_out_in_all += 1
        self.missed += missed
        if len(self.left_out) < _MOST_LISTED:
            self.left_out.append(LeftOut(str(path), reason, missed))

    def shorten(self, file: Shortened) -> None:
        """Note an event file that lost damaged parts."""
        self.shortened_files += 1
        if len(self.shortened) < _MOST_LISTED:
            self.shortened.append(file)
