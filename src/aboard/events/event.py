# SPDX-License-Identifier: Apache-2.0
"""`Event`: the envelope of every record, with a wall time, a step and one content."""

from __future__ import annotations

from aboard._native import Message

FILE_VERSION, GRAPH_DEF, SUMMARY, SESSION_LOG, TAGGED_RUN_METADATA = 3, 4, 5, 7, 8
SESSION_START = b"\x08\x01"  # a SessionLog whose status is START


def event(field: int, content: bytes, *, wall_time: float, step: int = 0) -> bytes:
    """An event that holds `content` in one of the fields named above."""
    message = Message()
    message.double(1, wall_time)
    if step:
        message.varint(2, step)
    message.bytes(field, content)
    return bytes(message)
