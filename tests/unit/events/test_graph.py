# SPDX-License-Identifier: Apache-2.0
"""What aboard builds by hand is what protobuf reads, field by field."""

from __future__ import annotations

import pytest
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE
from tensorboard.plugins.graph import graph_util

from aboard.events.graph import (
    UNKNOWN_SIZE,
    GraphNode,
    graph_def,
    graph_events,
    node_name,
    output_reference,
    run_metadata,
)


def only_node(node: GraphNode) -> NodeDef:
    (parsed,) = GraphDef.FromString(graph_def([node])).node
    return parsed


def test_all_fields_of_a_node() -> None:
    node = only_node(
        GraphNode(
            name="net/layer",
            op="MatMul",
            inputs=("input/x", "net/weight:1"),
            device="/device:GPU:1",
            output_shapes=((2, 3), (), (UNKNOWN_SIZE, 2**40, 0)),
            attributes="größe",
            parameters="axis = 1",
            data_type=DT_DOUBLE,
            shape=(4, UNKNOWN_SIZE),
        )
    )
    assert (node.name, node.op, node.device) == ("net/layer", "MatMul", "/device:GPU:1")
    assert list(node.input) == ["input/x", "net/weight:1"]
    assert set(node.attr) == {"attr", "parameters", "dtype", "shape", "_output_shapes"}
    assert node.attr["attr"].s.decode() == "größe"
    assert node.attr["parameters"].s == b"axis = 1"
    assert node.attr["dtype"].type == DT_DOUBLE
    assert [dim.size for dim in node.attr["shape"].shape.dim] == [4, -1]
    shapes = node.attr["_output_shapes"].list.shape
    assert [[dim.size for dim in shape.dim] for shape in shapes] == [[2, 3], [], [-1, 2**40, 0]]


def test_a_bare_node_has_no_attributes() -> None:
    node = only_node(GraphNode(name="n", op="o"))
    assert node == NodeDef(name="n", op="o")


def test_empty_text_and_shape_are_written_as_empty() -> None:
    node = only_node(GraphNode(name="n", op="o", attributes="", shape=(), output_shapes=((),)))
    assert node.attr["attr"].WhichOneof("value") == "s"
    assert node.attr["shape"].WhichOneof("value") == "shape"
    assert len(node.attr["_output_shapes"].list.shape) == 1


def test_the_graph_keeps_the_order_and_names_its_version() -> None:
    graph = GraphDef.FromString(graph_def(GraphNode(name=name, op="o") for name in ("b", "a", "c")))
    assert [node.name for node in graph.node] == ["b", "a", "c"]
    assert graph.versions.producer == 22


def test_an_empty_graph_is_valid() -> None:
    assert not GraphDef.FromString(graph_def([])).node


def test_tensorboard_can_combine_the_graph_with_another() -> None:
    graph = GraphDef.FromString(graph_def([GraphNode(name="a", op="o", attributes="x")]))
    combined = graph_util.merge_graph_defs([graph, graph])
    assert [node.name for node in combined.node] == ["graph_1/a", "graph_2/a"]


def test_run_metadata_names_the_devices() -> None:
    metadata = RunMetadata.FromString(run_metadata(["/device:CPU:0", "/device:GPU:0"]))
    assert [stats.device for stats in metadata.step_stats.dev_stats] == ["/device:CPU:0", "/device:GPU:0"]
    assert [stats.device for stats in RunMetadata.FromString(run_metadata()).step_stats.dev_stats] == ["/device:CPU:0"]


def test_the_events_of_a_graph() -> None:
    graph, metadata = graph_def([]), run_metadata()
    first, second = map(Event.FromString, graph_events(graph, metadata, 3.0))
    assert (first.graph_def, first.wall_time, first.step) == (graph, 3.0, 0)
    assert second.tagged_run_metadata == TaggedRunMetadata(tag="step1", run_metadata=metadata)
    assert second.wall_time == 3.0
    assert graph_events(graph, None, 3.0) == graph_events(graph, metadata, 3.0)[:1]
    (_, other) = graph_events(graph, metadata, 3.0, "epoch 2")
    assert Event.FromString(other).tagged_run_metadata.tag == "epoch 2"


@pytest.mark.parametrize(("text", "name"), [("model/MatMul:0", "model/MatMul_0"), ("^x", "_x"), ("a/b.c", "a/b.c")])
def test_node_names_have_no_marks_with_a_meaning(text: str, name: str) -> None:
    assert node_name(text) == name


def test_the_first_output_is_referred_to_by_the_name_alone() -> None:
    assert [output_reference("split", index) for index in range(2)] == ["split", "split:1"]
