# SPDX-License-Identifier: Apache-2.0
"""Event files made record by record, by TensorBoard's own messages, and damaged on purpose."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from aboard._native import frame_record

NOON = 1_700_000_000.0


def record(event: Event) -> bytes:
    return frame_record(event.SerializeToString())


def version(wall_time: float = NOON) -> bytes:
    return record(Event(wall_time=wall_time, file_version="brain.Event:2"))


def scalar(tag: str = "loss", step: int = 0, wall_time: float = NOON, value: float = 0.5) -> bytes:
    event = Event(wall_time=wall_time, step=step)
    event.summary.value.add(tag=tag, simple_value=value)
    return record(event)


def session_start(step: int, wall_time: float = NOON) -> bytes:
    return record(Event(wall_time=wall_time, step=step, session_log=SessionLog(status=SessionLog.START)))


def scalars(steps: Iterable[int], wall_time: float = NOON, tag: str = "loss") -> bytes:
    """A header and points, one second apart."""
    points = (scalar(tag, step, wall_time + second) for second, step in enumerate(steps))
    return version(wall_time) + b"".join(points)


def flipped(data: bytes, *places: int) -> bytes:
    """The same with one bit turned at each place."""
    changed = bytearray(data)
    for place in places:
        changed[place] ^= 1
    return bytes(changed)


def write(path: Path, data: bytes, *, age: float = 7200) -> Path:
    """A file that was last written some seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    then = time.time() - age
    os.utime(path, (then, then))
    return path
