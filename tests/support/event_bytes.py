# SPDX-License-Identifier: Apache-2.0
"""Event files made of bytes, for what no writer would write: millions of tags, names that are no text, any value."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from aboard._native import frame_record

VERSION = frame_record(b"\x09" + struct.pack("<d", 1.0) + b"\x1a\x0dbrain.Event:2")


def scalar_value(tag: bytes, value: float) -> bytes:
    """A Summary.Value with a simple_value."""
    content = b"\x0a" + varint(len(tag)) + tag + b"\x15" + struct.pack("<f", value)
    return b"\x0a" + varint(len(content)) + content


def summary_record(values: Iterable[bytes], step: int = 0, wall_time: float = 1.0) -> bytes:
    """A record with an event whose summary has these values."""
    summary = b"".join(values)
    event = b"\x09" + struct.pack("<d", wall_time) + b"\x10" + varint(step) + b"\x2a" + varint(len(summary)) + summary
    return frame_record(event)


def varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def write_event_file(folder: Path, records: Iterable[bytes], name: str = "events.out.tfevents.1.host") -> Path:
    """An event file with its version record in front."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with path.open("wb") as file:
        file.write(VERSION)
        file.writelines(records)
    return path


def write_many_tags(folder: Path, count: int, *, per_record: int = 1000) -> None:
    """One point of each of `count` scalar tags."""
    values = (scalar_value(b"group%d/tag%d" % (number % 1000, number), 1.0) for number in range(count))
    write_event_file(
        folder,
        (
            summary_record(next(values) for _ in range(min(per_record, count - start)))
            for start in range(0, count, per_record)
        ),
    )
