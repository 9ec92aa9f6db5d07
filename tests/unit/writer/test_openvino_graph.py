# SPDX-License-Identifier: Apache-2.0
"""aboard's OpenVINO graph against tensorboardX's, and what a bad file leads to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboardX.openvino_graph import load_openvino_graph

from aboard.errors import InvalidValue
from aboard.writer.openvino_graph import openvino_graph

MODEL = """<?xml version="1.0"?>
<net name="model" version="11">
  <layers>
    <layer id="0" name="image" type="Parameter" version="opset1">
      <data shape="?,3" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="weight" type="Const" version="opset1">
      <output><port id="0"><dim>3</dim><dim>4</dim></port></output>
    </layer>
    <layer id="2" name="dense/MatMul" type="MatMul" version="opset1">
      <data transpose_a="false" transpose_b="true"/>
      <input><port id="0"/><port id="1"/></input>
      <output><port id="2"><dim>1..8</dim><dim>4</dim></port></output>
    </layer>
    <layer id="3" name="halves" type="Split" version="opset1">
      <input><port id="0"/></input>
      <output><port id="1"><dim>2</dim></port><port id="2"><dim>2</dim></port></output>
    </layer>
    <layer id="4" name="result" type="Result" version="opset1"><input><port id="0"/></input></layer>
  </layers>
  <edges>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
    <edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
  </edges>
</net>
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "model.xml"
    path.write_text(text, encoding="utf-8")
    return path


def drawn(path: Path) -> dict[str, Any]:
    graph = GraphDef.FromString(openvino_graph(path))
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node), "two nodes share a name"
    return nodes


def shapes(node: Any) -> list[list[int]]:
    return [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def test_same_edges_as_tensorboardx(tmp_path: Path) -> None:
    path = written(tmp_path, MODEL)
    theirs = load_openvino_graph(str(path))
    # tensorboardX writes a node per edge, so that a layer with two inputs is there twice under one name.
    their_edges = {(source, node.name) for node in theirs.node for source in node.input}
    our_edges = {(source.partition(":")[0], node.name) for node in drawn(path).values() for source in node.input}
    assert our_edges == their_edges
    assert GraphDef.FromString(openvino_graph(str(path))).versions == GraphDef(versions={"producer": 22}).versions


def test_each_layer_is_one_node(tmp_path: Path) -> None:
    nodes = drawn(written(tmp_path, MODEL))
    assert {name: node.op for name, node in nodes.items()} == {
        "image": "Parameter",
        "weight": "Const",
        "dense/MatMul": "MatMul",
        "halves": "Split",
        "result": "Result",
    }
    assert list(nodes["dense/MatMul"].input) == ["image", "weight"]
    assert list(nodes["result"].input) == ["halves:1"]


def test_parameters_and_shapes(tmp_path: Path) -> None:
    nodes = drawn(written(tmp_path, MODEL))
    assert nodes["dense/MatMul"].attr["parameters"].s == b"transpose_a = false, transpose_b = true"
    assert nodes["weight"].attr["parameters"].s == b""
    assert shapes(nodes["image"]) == [[-1, 3]]
    assert shapes(nodes["dense/MatMul"]) == [[-1, 4]]
    assert shapes(nodes["halves"]) == [[2], [2]]
    assert "_output_shapes" not in nodes["result"].attr


def test_layers_of_one_name_stay_apart(tmp_path: Path) -> None:
    text = MODEL.replace('name="weight"', 'name="image"')
    nodes = drawn(written(tmp_path, text))
    assert list(nodes["dense/MatMul"].input) == ["image_0", "image_1"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no xml",
        "<net><layers/></net>",
        "<net><edges/></net>",
        "<html/>",
        MODEL[:200],
        MODEL.replace('name="image"', ""),
        MODEL.replace('from-layer="0"', 'from-layer="77"'),
        MODEL.replace('to-layer="4"', 'to-layer="77"'),
        MODEL.replace('to-port="1"', 'to-port="one"'),
        MODEL.replace('version="1.0"', 'version="1.0" encoding="no-such-encoding"'),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidValue, match=r"model\.xml"):
        openvino_graph(written(tmp_path, text))


def test_a_doctype_is_refused_before_its_entities_are_read(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    doctype = f'<!DOCTYPE net [<!ENTITY e0 "expansion">{entities}]>'
    text = MODEL.replace("<net ", f"{doctype}<net ", 1).replace('name="image"', 'name="&e11;"')
    with pytest.raises(InvalidValue, match="DOCTYPE"):
        openvino_graph(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"there is no OpenVINO file .*absent\.xml"):
        openvino_graph(tmp_path / "absent.xml")
    with pytest.raises(InvalidValue):
        openvino_graph(tmp_path)
