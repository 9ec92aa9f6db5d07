# SPDX-License-Identifier: Apache-2.0
"""What was shipped is what stock TensorBoard reads after a plain download; and how many bytes it took."""

import os
import threading

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from aboard import SummaryWriter
from aboard._native import frame_record
from aboard.store import open_store
from support.processes import succeed
from support.shipping import Trip, append

# The seed's own lines: every append then writes the whole file again.
WORKAROUND = """
    import sys
    try:
        from tensorboard.compat import tf
        delattr(tf.io.gfile.LocalFileSystem, 'append')
    except:
        import tensorflow as tf
        import tensorboard as tb
        tf.io.gfile = tb.compat.tensorflow_stub.io.gfile
        delattr(tf.io.gfile.LocalFileSystem, 'append')
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    writer = EventFileWriter(sys.argv[1], flush_secs=1)
    for step in range(int(sys.argv[2])):
        value = Summary.Value(tag="loss", simple_value=step / 2)
        writer.add_event(Event(step=step, wall_time=1000.0 + step, summary=Summary(value=[value])))
        if step % 5 == 0:
            writer.flush()
    writer.close()
"""


@pytest.fixture
def trip(tmp_path):
    return Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))


def download(trip, folder):
    """As `aws s3 cp --recursive` would."""
    for entry in trip.folder.list("tb"):
        trip.store.download(trip.folder.key(entry.key), folder / entry.key)
    return folder / "tb"


def points(folder):
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(point.step, point.value) for point in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]
    }


@pytest.mark.parametrize("finished", [True, False])
def test_stock_tensorboard_reads_a_plain_download(trip, tmp_path, finished):
    shipper = trip.shipper()
    with SummaryWriter(str(trip.output / "tensorboard" / "train")) as writer:
        for step in range(300):
            writer.add_scalar("loss", step / 4, step)
            writer.add_scalar("acc", -step, step)
            if step % 2:
                writer.flush()
                shipper.ship_once()
    if finished:
        shipper.finish("completed")
    folder = download(trip, tmp_path / "downloaded") / "train"
    assert finished or len(list(folder.iterdir())) > 10
    assert points(folder) == {
        "loss": [(step, step / 4) for step in range(300)],
        "acc": [(step, -step) for step in range(300)],
    }


def test_the_workaround_of_the_seed(trip, tmp_path):
    """The writer truncates the file before each flush; looking all the time finds it in the middle of that."""
    shipper, is_over = trip.shipper(), threading.Event()
    writing = threading.Thread(target=lambda: (succeed(tmp_path, WORKAROUND, trip.output, 4000), is_over.set()))
    writing.start()
    looks = 0
    while writing.is_alive():
        shipper.ship_once()
        looks += 1
    assert is_over.is_set(), "the script failed"
    assert looks > 5
    assert shipper.finish("completed", timeout=60).is_sealed
    trip.check_equal()
    (row,) = trip.manifest().files
    assert "~" not in row.path
    assert points(download(trip, tmp_path / "downloaded")) == {"loss": [(step, step / 2) for step in range(4000)]}
    assert trip.store.traffic.count().bytes_out < 2.5 * row.bytes + 1500 * looks


def test_bytes_sent_for_each_byte_written(trip):
    """2,000 flushes of 8 KB, each shipped on its own: the worst case."""
    rolled_up, highest = [], -1
    put = trip.store.put

    def watched(key, data, **options):
        nonlocal highest
        number = key[-8:]
        if "/tb/" in key and int(number) < highest:
            rolled_up.append(len(data))
        elif "/tb/" in key:
            highest = int(number)
        return put(key, data, **options)

    trip.store.put = watched
    shipper, written = trip.shipper(), 0
    path = trip.output / "tensorboard" / "events.out.tfevents.1794788815.a-machine-name.4711.0"
    for step in range(2000):
        data = b"".join(frame_record(os.urandom(80 + (step * place) % 40)) for place in range(60))
        data += frame_record(os.urandom(8192 - len(data) - 16))
        append(path, data)
        written += len(data)
        shipper.ship_once()
    shipper.finish("completed")
    trip.store.put = put
    trip.check_equal()
    sent = trip.store.traffic.count().bytes_out
    assert rolled_up
    assert (sent - sum(rolled_up)) / written < 1.2
    assert sent / written < 2.3
