# SPDX-License-Identifier: Apache-2.0
"""Event files written record by record: names and values that no writer would let through."""

from collections.abc import Iterable
from pathlib import Path

from tensorboard.compat.proto import event_pb2, summary_pb2

from aboard._native import frame_record


def write_event_file(folder: Path, *values: tuple[int, float, summary_pb2.Summary.Value], name: str = "x") -> Path:
    """An event file of (step, wall time, value)."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.1.{name}"
    events = [event_pb2.Event(wall_time=1.0, file_version="brain.Event:2")]
    for step, wall_time, value in values:
        event = event_pb2.Event(step=step, wall_time=wall_time)
        event.summary.value.append(value)
        events.append(event)
    path.write_bytes(b"".join(frame_record(event.SerializeToString()) for event in events))
    return path


def write_scalars(folder: Path, points: Iterable[tuple[str, int, float, float]], name: str = "x") -> Path:
    """An event file of (tag, step, wall time, value); values are doubles, which `simple_value` is not."""
    return write_event_file(
        folder, *((step, wall_time, double_value(tag, value)) for tag, step, wall_time, value in points), name=name
    )


def double_value(tag: str, number: float) -> summary_pb2.Summary.Value:
    """A scalar of double precision, as tf.summary.scalar writes it."""
    value = summary_pb2.Summary.Value(tag=tag)
    value.metadata.plugin_data.plugin_name = "scalars"
    value.tensor.dtype = 2
    value.tensor.double_val.append(number)
    return value


def image_batch(tag: str, width: int, height: int, files: Iterable[bytes]) -> summary_pb2.Summary.Value:
    """Several encoded pictures at one step, as tf.summary.image writes them."""
    value = summary_pb2.Summary.Value(tag=tag)
    value.metadata.plugin_data.plugin_name = "images"
    value.metadata.data_class = summary_pb2.DATA_CLASS_BLOB_SEQUENCE
    value.tensor.dtype = 7
    parts = [str(width).encode(), str(height).encode(), *files]
    value.tensor.tensor_shape.dim.add(size=len(parts))
    value.tensor.string_val.extend(parts)
    return value
