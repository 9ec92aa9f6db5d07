# SPDX-License-Identifier: Apache-2.0
"""aboard's ONNX graph against tensorboardX's, and the places where it says more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tensorboard.compat.proto import types_pb2
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboardX.onnx_graph import load_onnx_graph

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.writer.onnx_graph import onnx_graph
from support.cases import all_cases


def tensor(name: str, shape: list[int | str] | None, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name: str, *shape: int) -> Any:
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


def small_model(weights_as_inputs: bool = False) -> Any:
    inputs = [tensor("x", ["batch", 3])]
    if weights_as_inputs:
        inputs += [tensor("w", [3, 4]), tensor("b", [4])]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], alpha=0.5, transB=0),
        helper.make_node("Transpose", ["h"], ["t"], perm=[1, 0]),
        helper.make_node("Softmax", ["t"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "net", inputs, [tensor("y", [4, "batch"])], initializer=[weight("w", 3, 4), weight("b", 4)]
    )
    return helper.make_model(graph)


def drawn(model: Any) -> dict[str, Any]:
    graph = GraphDef.FromString(onnx_graph(model))
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node), "two nodes share a name"
    return nodes


def model_of(nodes: list[Any], inputs: list[Any], outputs: list[Any], **options: Any) -> Any:
    return helper.make_model(helper.make_graph(nodes, "net", inputs, outputs, **options))


def sizes(shape: Any) -> list[int]:
    return [dim.size for dim in shape.dim]


@pytest.mark.parametrize("weights_as_inputs", [True, False])
def test_same_nodes_as_tensorboardx(tmp_path: Path, weights_as_inputs: bool) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(small_model(weights_as_inputs), path)
    ours, theirs = drawn(path), load_onnx_graph(str(path))
    # tensorboardX draws an output twice under one name: as a variable and as the operation that makes it.
    their_nodes = {node.name: node for node in theirs.node}
    assert set(their_nodes) <= set(ours)
    for name, node in their_nodes.items():
        assert (ours[name].op, list(ours[name].input)) == (node.op, list(node.input))
    assert set(ours) - set(their_nodes) == (set() if weights_as_inputs else {"w", "b"})
    assert {source for node in ours.values() for source in node.input} <= set(ours)
    assert GraphDef.FromString(onnx_graph(path)).versions.producer == theirs.versions.producer


def test_a_path_and_a_loaded_model_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(small_model(), path)
    assert onnx_graph(path) == onnx_graph(str(path)) == onnx_graph(onnx.load(path))


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    onnx_graph(small_model())
    assert capsys.readouterr().out == ""


def test_types_and_shapes_are_what_tensorboard_calls_them() -> None:
    model = model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64)],
        [tensor("x", ["batch", 3], TensorProto.DOUBLE), tensor("scalar", []), tensor("rankless", None)],
        [tensor("y", [2, 3], TensorProto.INT64)],
    )
    nodes = drawn(model)
    assert nodes["x"].attr["dtype"].type == types_pb2.DT_DOUBLE
    assert sizes(nodes["x"].attr["shape"].shape) == [-1, 3]
    assert sizes(nodes["x"].attr["_output_shapes"].list.shape[0]) == [-1, 3]
    assert nodes["y"].attr["dtype"].type == types_pb2.DT_INT64
    assert sizes(nodes["y"].attr["_output_shapes"].list.shape[0]) == [2, 3]
    assert sizes(nodes["scalar"].attr["shape"].shape) == []
    assert "shape" not in nodes["rankless"].attr


@all_cases("name", sorted(set(TensorProto.DataType.keys()) & {
    "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64", "BOOL", "BFLOAT16",
    "UINT16", "COMPLEX128", "UINT32", "UINT64", "INT4", "UINT4",
}))  # fmt: skip
def test_each_data_type_is_the_one_of_the_same_name(name: str) -> None:
    node = drawn(model_of([], [tensor("x", [1], getattr(TensorProto, name))], [tensor("x", [1])]))["x"]
    assert node.attr["dtype"].type == getattr(types_pb2, f"DT_{name}")


def test_a_data_type_that_tensorflow_lacks_is_unknown() -> None:
    node = drawn(model_of([], [tensor("x", [1], TensorProto.FLOAT8E4M3FNUZ)], [tensor("x", [1])]))["x"]
    assert node.attr["dtype"].type == types_pb2.DT_INVALID


def test_a_second_output_stays_connected() -> None:
    split = helper.make_node("Split", ["x"], ["left", "right"], axis=0)
    use = helper.make_node("Relu", ["right"], ["y"])
    nodes = drawn(model_of([split, use], [tensor("x", [2])], [tensor("y", [1]), tensor("right", [1])]))
    assert list(nodes["y"].input) == ["left:1"]
    assert (nodes["right"].op, list(nodes["right"].input)) == ("Variable", ["left:1"])


def test_inputs_and_outputs_that_are_left_out() -> None:
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    dropout = helper.make_node("Unique", ["y"], ["", "indices"])
    silent = helper.make_node("Debug", ["y"], [], name="watch")
    nodes = drawn(model_of([clip, dropout, silent], [tensor("x", [2]), tensor("high", [])], [tensor("indices", [2])]))
    assert list(nodes["y"].input) == ["x", "high"]
    assert nodes["indices"].op == "Unique"
    assert list(nodes["watch"].input) == ["y"]


def test_names_with_a_colon_stay_connected() -> None:
    """As tf2onnx writes them; in a GraphDef "MatMul:0" would mean an output of "MatMul"."""
    first = helper.make_node("Relu", ["x:0"], ["net/Relu:0"])
    second = helper.make_node("Exp", ["net/Relu:0"], ["y:0"])
    nodes = drawn(model_of([first, second], [tensor("x:0", [1])], [tensor("y:0", [1])]))
    assert list(nodes["net/Relu_0"].input) == ["x_0"]
    assert list(nodes["y_0"].input) == ["net/Relu_0"]


def parameters(**attributes: Any) -> str:
    node = helper.make_node("Any", ["x"], ["y"], **attributes)
    return drawn(model_of([node], [tensor("x", [1])], [tensor("y", [1])]))["y"].attr["parameters"].s.decode()


def test_attributes_are_text() -> None:
    assert parameters(axis=1) == "axis = 1"
    assert parameters(alpha=0.1, mode="linear") == "alpha = 0.1, mode = linear"
    assert parameters(pads=[0, 1], scales=[1.5], names=["a", "b"]) == ("names = [a, b], pads = [0, 1], scales = [1.5]")
    assert parameters(body=helper.make_graph([], "inner", [], [])) == "body = graph inner"
    assert parameters() == ""


def test_a_large_tensor_is_not_copied_into_the_log() -> None:
    assert parameters(value=weight("", 2)) == "value = FLOAT[2] [1.0, 1.0]"
    assert parameters(value=weight("", 100, 100)) == "value = FLOAT[100, 100]"


def test_weights_in_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(small_model(), path, save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "weights").unlink()
    assert sizes(drawn(path)["w"].attr["shape"].shape) == [3, 4]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"absent\.onnx"):
        onnx_graph(tmp_path / "absent.onnx")
    with pytest.raises(InvalidValue, match="no ONNX file"):
        onnx_graph(tmp_path)


@pytest.mark.parametrize("content", [b"", b"this is no model", b"\xff" * 40, bytes(100)])
def test_a_file_that_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(InvalidValue):
        onnx_graph(path)


@pytest.mark.parametrize("model", [None, 3, b"bytes", object()])
def test_an_object_that_is_no_model(model: Any) -> None:
    with pytest.raises(InvalidType, match="ModelProto"):
        onnx_graph(model)


def test_missing_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackage, match="pip install onnx"):
        onnx_graph("net.onnx")
