# SPDX-License-Identifier: Apache-2.0
"""An event file of a run, and what reading it met."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReadFile:
    """How far reading a file came, and what in it is damaged."""

    name: str
    bytes_read: int
    size: int
    records: int
    bad_records: int  # skipped: they do not match their checksum, or are no event
    skipped_bytes: int  # between damaged places and the next valid record
    first_damage: int | None  # the byte where it is
    error: str  # why the file cannot be read; empty when it can
    first_wall_time: float
    last_wall_time: float
    attempt: int  # which start of the training process wrote it, from 0 on

    @classmethod
    def of(cls, status: Sequence[Any]) -> ReadFile:
        """What the native reader tells about a file."""
        name, bytes_read, size, records, bad_records, skipped, first_damage, errno, first, last, attempt = status[:11]
        return cls(
            name=os.fsdecode(name),
            bytes_read=bytes_read,
            size=size,
            records=records,
            bad_records=bad_records,
            skipped_bytes=skipped,
            first_damage=first_damage if bad_records or skipped else None,
            error=os.strerror(errno) if errno else "",
            first_wall_time=first,
            last_wall_time=last,
            attempt=attempt,
        )

    @property
    def is_damaged(self) -> bool:
        """Whether anything that was read was damaged, or nothing could be read. A cut tail may still be completed."""
        return bool(self.bad_records or self.skipped_bytes or self.error)
