# SPDX-License-Identifier: Apache-2.0
"""A model's graph as TensorBoard reads it: GraphDef, RunMetadata and the two events that carry them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aboard._native import Message
from aboard.events.event import GRAPH_DEF, TAGGED_RUN_METADATA, event, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

Shape = tuple[int, ...]

UNKNOWN_SIZE = -1
"""The size of a dimension that only a batch decides; TensorBoard draws it as a question mark."""

DEFAULT_RUN_TAG = "step1"
DEFAULT_DEVICE = "/device:CPU:0"

# The graph version that the peers write. TensorBoard refuses nothing for it, but a reader may ask for one.
_PRODUCER_VERSION = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One box of the graph. A field that is `None` is left out; an empty text or shape is written."""

    name: str
    """Slashes make the levels that TensorBoard folds and unfolds."""
    op: str
    inputs: tuple[str, ...] = ()
    """Names of the nodes this one reads; `output_reference` names an output other than the first."""
    device: str = ""
    output_shapes: tuple[Shape, ...] | None = None
    """One shape per output: TensorBoard writes them on the edges that leave the node."""
    attributes: str | None = None
    """Text written as the attribute `attr`, the name that torch uses."""
    parameters: str | None = None
    """Text written as the attribute `parameters`, the name that ONNX and OpenVINO graphs use."""
    data_type: int | None = None
    """A TensorFlow DataType number."""
    shape: Shape | None = None


def graph_def(nodes: Iterable[GraphNode]) -> bytes:
    """A serialized GraphDef of `nodes`."""
    graph = Message()
    for node in nodes:
        graph.message(1, _node_def(node))
    versions = Message()
    versions.varint(1, _PRODUCER_VERSION)
    graph.message(4, versions)
    return bytes(graph)


def run_metadata(devices: Iterable[str] = (DEFAULT_DEVICE,)) -> bytes:
    """A serialized RunMetadata that names devices and has no timings, for nothing was measured."""
    step_stats = Message()
    for device in devices:
        device_step_stats = Message()
        device_step_stats.string(1, device)
        step_stats.message(1, device_step_stats)
    metadata = Message()
    metadata.message(1, step_stats)
    return bytes(metadata)


def tagged_run_metadata(tag: str, run_metadata: bytes) -> bytes:
    """A serialized TaggedRunMetadata; TensorBoard offers `tag` in its list of session runs."""
    tagged = Message()
    tagged.string(1, tag)
    tagged.bytes(2, run_metadata)
    return bytes(tagged)


def graph_events(
    graph: bytes, run_metadata: bytes | None, wall_time: float, tag: str = DEFAULT_RUN_TAG
) -> tuple[bytes, ...]:
    """The serialized events that log one graph, in the order to write them: the graph, then its metadata if any."""
    graph_event = event(GRAPH_DEF, graph, wall_time=wall_time)
    if run_metadata is None:
        return (graph_event,)
    tagged = tagged_run_metadata(tag, run_metadata)
    return graph_event, event(TAGGED_RUN_METADATA, tagged, wall_time=wall_time)


def node_name(text: str) -> str:
    """`text` as a node name that an input can refer to."""
    # In an input, "name:1" means the second output of "name" and "^name" an order without data.
    return text.replace(":", "_").replace("^", "_")


def output_reference(name: str, index: int) -> str:
    """How an input refers to output number `index` of the node `name`."""
    return f"{name}:{index}" if index else name


def _node_def(node: GraphNode) -> Message:
    message = Message()
    message.string(1, node.name)
    message.string(2, node.op)
    for name in node.inputs:
        message.string(3, name)
    if node.device:
        message.string(4, node.device)
    for name, value in _attribute_values(node):
        entry = Message()
        entry.string(1, name)
        entry.message(2, value)
        message.message(5, entry)
    return message


def _attribute_values(node: GraphNode) -> Iterable[tuple[str, Message]]:
    if node.attributes is not None:
        yield "attr", _text_value(node.attributes)
    if node.parameters is not None:
        yield "parameters", _text_value(node.parameters)
    if node.data_type is not None:
        value = Message()
        value.varint(6, node.data_type)
        yield "dtype", value
    if node.shape is not None:
        value = Message()
        value.message(7, _tensor_shape(node.shape))
        yield "shape", value
    if node.output_shapes is not None:
        yield "_output_shapes", _shapes_value(node.output_shapes)


def _text_value(text: str) -> Message:
    value = Message()
    value.bytes(2, utf8(text))
    return value


def _shapes_value(shapes: tuple[Shape, ...]) -> Message:
    shape_list = Message()
    for shape in shapes:
        shape_list.message(7, _tensor_shape(shape))
    value = Message()
    value.message(1, shape_list)
    return value


def _tensor_shape(shape: Shape) -> Message:
    message = Message()
    for size in shape:
        dimension = Message()
        dimension.varint(1, size)
        message.message(2, dimension)
    return message
