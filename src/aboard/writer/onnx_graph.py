# SPDX-License-Identifier: Apache-2.0
"""Draws an ONNX model: its inputs, weights and operations as a GraphDef."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.events.graph import UNKNOWN_SIZE, GraphNode, Shape, graph_def, node_name, output_reference

# onnx is optional, and its messages are generated at run time.
Onnx = Any
ModelProto = Any
OnnxGraph = Any

# ONNX and TensorFlow number their data types differently: for instance, 11 is a double there and 2 here.
_TENSORFLOW_TYPE = {
    "FLOAT": 1, "DOUBLE": 2, "INT32": 3, "UINT8": 4, "INT16": 5, "INT8": 6, "STRING": 7, "COMPLEX64": 8,
    "INT64": 9, "BOOL": 10, "BFLOAT16": 14, "UINT16": 17, "COMPLEX128": 18, "FLOAT16": 19, "UINT32": 22,
    "UINT64": 23, "FLOAT8E5M2": 24, "FLOAT8E4M3FN": 25, "INT4": 29, "UINT4": 30,
}  # fmt: skip
_UNKNOWN_TYPE = 0

_MOST_ELEMENTS_SHOWN = 16
_NOT_THE_VALUE = {"name", "type", "doc_string", "ref_attr_name"}


def onnx_graph(model: str | os.PathLike[str] | ModelProto) -> bytes:
    """The serialized GraphDef of an ONNX model, given as the path of its file or as the loaded ModelProto."""
    onnx = _import_onnx()
    graph = _graph_of(onnx, model)
    if not graph.node and not graph.output:
        raise InvalidValue("the ONNX model has an empty graph: nothing to draw")
    return graph_def(_GraphReader(onnx, graph).nodes())


def _graph_of(onnx: Onnx, model: object) -> OnnxGraph:
    if isinstance(model, str | os.PathLike):
        return _load(onnx, os.fspath(cast("str | os.PathLike[str]", model))).graph
    graph: OnnxGraph = getattr(model, "graph", None)
    if not hasattr(graph, "node"):
        raise InvalidType(f"an ONNX graph is the path of a file or a ModelProto, not {type(model).__name__}")
    return graph


def _import_onnx() -> Onnx:
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise MissingPackage("add_onnx_graph needs the package onnx", hint="pip install onnx") from error


def _load(onnx: Onnx, path: str) -> ModelProto:
    if not Path(path).is_file():
        raise InvalidValue(f"there is no ONNX file {path!r}")
    try:
        # Weights kept in other files are not drawn, so they need not be there.
        return onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf, text and JSON parsers each raise something of their own
        raise InvalidValue(f"{path!r} is not an ONNX model: {error}") from error


class _GraphReader:
    def __init__(self, onnx: Onnx, graph: OnnxGraph) -> None:
        self._onnx = onnx
        self._graph = graph
        self._described = {value.name: value for value in (*graph.value_info, *graph.output)}
        self._reference_to: dict[str, str] = {}
        for node in graph.node:
            name = node_name(_first_output(node))
            for index, output in enumerate(node.output):
                self._reference_to[output] = output_reference(name, index)

    def nodes(self) -> Iterator[GraphNode]:
        yield from self._variables()
        for node in self._graph.node:
            yield self._operation(node)

    def _variables(self) -> Iterator[GraphNode]:
        """What no operation has as its own name: inputs, weights, and outputs that are a second output."""
        drawn = {_first_output(node) for node in self._graph.node}
        for value in (*self._graph.input, *self._graph.output):
            if value.name not in drawn:
                drawn.add(value.name)
                source = self._reference_to.get(value.name)
                data_type, shape = self._tensor_type(value)
                yield _variable(value.name, data_type, shape, () if source is None else (source,))
        # Since version 4 of the format a weight is not an input as well.
        for tensor in self._graph.initializer:
            if tensor.name not in drawn:
                drawn.add(tensor.name)
                yield _variable(tensor.name, self._data_type(tensor.data_type), tuple(tensor.dims))

    def _operation(self, node: Any) -> GraphNode:
        data_type, shape = self._tensor_type(self._described.get(_first_output(node)))
        return GraphNode(
            name=node_name(_first_output(node)),
            op=node.op_type,
            # An optional input that is not given has an empty name.
            inputs=tuple(self._reference_to.get(name, node_name(name)) for name in node.input if name),
            parameters=", ".join(self._attribute(attribute) for attribute in node.attribute),
            data_type=data_type,
            shape=shape,
            output_shapes=self._output_shapes(node),
        )

    def _output_shapes(self, node: Any) -> tuple[Shape, ...] | None:
        shapes = [self._tensor_type(self._described.get(output))[1] for output in node.output]
        known = tuple(shape for shape in shapes if shape is not None)
        # Shapes go by position, so one that is missing would shift the others.
        return known if known and len(known) == len(shapes) else None

    def _tensor_type(self, value: Any | None) -> tuple[int | None, Shape | None]:
        if value is None or value.type.WhichOneof("value") != "tensor_type":
            return None, None
        tensor_type = value.type.tensor_type
        shape = None
        if tensor_type.HasField("shape"):
            shape = tuple(
                size.dim_value if size.HasField("dim_value") else UNKNOWN_SIZE for size in tensor_type.shape.dim
            )
        return self._data_type(tensor_type.elem_type), shape

    def _data_type(self, onnx_type: int) -> int:
        return _TENSORFLOW_TYPE.get(self._type_name(onnx_type), _UNKNOWN_TYPE)

    def _type_name(self, onnx_type: int) -> str:
        names = self._onnx.TensorProto.DataType
        return names.Name(onnx_type) if onnx_type in names.values() else str(onnx_type)

    def _attribute(self, attribute: Any) -> str:
        values = (value for field, value in attribute.ListFields() if field.name not in _NOT_THE_VALUE)
        return " = ".join([attribute.name, *map(self._value, values)])

    def _value(self, value: Any) -> str:
        match value:
            case bytes():
                return value.decode("utf-8", "replace")
            case float():
                return f"{value:g}"
            case self._onnx.TensorProto():
                return self._tensor(value)
            case self._onnx.GraphProto():
                return f"graph {value.name}"
            case Sequence():
                return f"[{', '.join(self._value(item) for item in cast('Sequence[Any]', value))}]"
            case _:
                return str(value).strip()

    def _tensor(self, tensor: Any) -> str:
        # The content of a large one would make the log as large as the model.
        summary = f"{self._type_name(tensor.data_type)}{list(tensor.dims)}"
        elsewhere = tensor.data_location == self._onnx.TensorProto.EXTERNAL
        if elsewhere or math.prod(tensor.dims) > _MOST_ELEMENTS_SHOWN:
            return summary
        return f"{summary} {self._onnx.numpy_helper.to_array(tensor).tolist()}"


def _first_output(node: Any) -> str:
    """The name of the first output that is used, by which a node goes: no other name is unique."""
    return next((output for output in node.output if output), node.name)


def _variable(name: str, data_type: int | None, shape: Shape | None, inputs: tuple[str, ...] = ()) -> GraphNode:
    return GraphNode(
        name=node_name(name),
        op="Variable",
        inputs=inputs,
        data_type=data_type,
        shape=shape,
        output_shapes=None if shape is None else (shape,),
    )
