# SPDX-License-Identifier: Apache-2.0
"""`FileWriter` and `RecordWriter`: the low-level doors, for protobuf objects and for bytes."""

import pytest
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

from aboard import FileWriter, RecordWriter, SummaryWriter
from aboard.errors import InvalidType
from support.reading import event_files, points, raw_events, raw_values, scalars


@pytest.fixture
def writer(tmp_path):
    writer = FileWriter(tmp_path)
    yield writer
    writer.close()


def summary(value=1.0):
    return Summary(value=[Summary.Value(tag="t", simple_value=value)])


@pytest.mark.parametrize("form", [lambda message: message, lambda message: message.SerializeToString()])
def test_summary(writer, tmp_path, form):
    writer.add_summary(form(summary(2.5)), 7, 100.5)
    writer.flush()
    event = raw_events(tmp_path)[1]
    assert (event.step, event.wall_time, event.summary) == (7, 100.5, summary(2.5))


def test_event_object_gets_step_and_time(writer, tmp_path):
    writer.add_event(Event(summary=summary()), 3, 9.5)
    writer.add_event(Event(summary=summary(), step=4))
    writer.flush()
    _, first, second = raw_events(tmp_path)
    assert (first.step, first.wall_time) == (3, 9.5)
    assert second.step == 4
    assert second.wall_time > 1e9


def test_event_bytes_stay_as_they_are(writer, tmp_path):
    event = Event(wall_time=1.25, step=-3, summary=summary())
    writer.add_event(event.SerializeToString())
    writer.flush()
    assert raw_events(tmp_path)[1] == event


@pytest.mark.parametrize("form", [lambda message: message, lambda message: message.SerializeToString()])
def test_graphs(writer, tmp_path, form):
    graph = GraphDef(node=[NodeDef(name="a", op="Add")])
    writer.add_graph((form(graph), form(RunMetadata())), 5.0)
    writer.add_onnx_graph(form(graph))
    writer.add_openvino_graph(form(graph))
    writer.flush()
    graphs = [event.graph_def for event in raw_events(tmp_path) if event.graph_def]
    assert graphs == [graph.SerializeToString()] * 3
    assert [event.tagged_run_metadata.tag for event in raw_events(tmp_path)].count("step1") == 1
    assert {p.plugin for p in points(tmp_path)} == {"graphs", "graph_tagged_run_metadata"}


def test_use_metadata(writer, tmp_path):
    with writer.use_metadata(global_step=8, walltime=2.0):
        writer.add_summary(summary())
        writer.add_event(Event(summary=summary()))
        writer.add_summary(summary(), 1)
    writer.add_summary(summary())
    writer.flush()
    assert [step for step, _ in raw_values(tmp_path)] == [8, 8, 1, 0]


def test_reopen_after_close_goes_on_in_a_new_file(writer, tmp_path):
    """tensorboardX fails here, for its queue is gone."""
    writer.add_summary(summary(1), 1)
    writer.close()
    writer.reopen()
    writer.add_summary(summary(2), 2)
    writer.close()
    assert len(event_files(tmp_path)) == 2
    assert sorted(scalars(tmp_path)) == [("t", 1, 1), ("t", 2, 2)]


def test_get_logdir(writer, tmp_path):
    assert writer.get_logdir() == str(tmp_path)


def test_the_file_writer_of_a_summary_writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.file_writer.add_summary(summary(), 1)
        writer._get_file_writer().add_summary(summary(), 2)
    assert [step for step, _ in raw_values(tmp_path)] == [1, 2]


@pytest.mark.parametrize("call", ["add_event", "add_summary", "add_onnx_graph"])
def test_other_objects_are_refused(writer, call):
    with pytest.raises(InvalidType, match="must be serialized bytes or a protobuf message, got 5"):
        getattr(writer, call)(5)


def test_records_read_back(tmp_path):
    records = [b"", b"one", bytes(100_000), memoryview(b"view"), bytearray(b"array")]
    path = tmp_path / "records"
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
        writer.flush()
        assert path.stat().st_size == sum(len(record) + 16 for record in records)
    reader = PyRecordReader_New(str(path))
    for record in records:
        reader.GetNext()
        assert reader.record() == bytes(record)


def test_a_record_must_be_bytes(tmp_path):
    """bytes(5) would be five zeros."""
    with RecordWriter(tmp_path / "records") as writer:
        for wrong in (5, "text"):
            with pytest.raises(TypeError, match="bytes-like"):
                writer.write(wrong)  # pyright: ignore[reportArgumentType] (wrong on purpose)
    assert (tmp_path / "records").stat().st_size == 0


def test_a_closed_record_writer(tmp_path):
    writer = RecordWriter(tmp_path / "records")
    writer.close()
    writer.close()
    writer.flush()
    with pytest.raises(ValueError, match=r"records is closed"):
        writer.write(b"x")
