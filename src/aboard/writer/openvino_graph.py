# SPDX-License-Identifier: Apache-2.0
"""Draws an OpenVINO model from the XML file of its intermediate representation."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from aboard.errors import InvalidValue
from aboard.events.graph import UNKNOWN_SIZE, GraphNode, Shape, graph_def, node_name, output_reference

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def openvino_graph(xml_path: str | os.PathLike[str]) -> bytes:
    """The serialized GraphDef of an OpenVINO model, given as the path of its `.xml` file."""
    path = os.fspath(xml_path)
    root = _parse(path)
    layers, edges = root.find("layers"), root.find("edges")
    if layers is None or edges is None:
        raise InvalidValue(f"{path!r} is not an OpenVINO model: it has no <layers> or no <edges>")
    try:
        return graph_def(_nodes(layers, edges))
    except (KeyError, ValueError) as error:
        raise InvalidValue(f"{path!r} is a damaged OpenVINO model: {_cause(error)}") from error


class _NoDoctype(ET.TreeBuilder):
    """Refuses a document type: a model has none, and its entities can make a small file fill the memory."""

    def doctype(self, *_: str | None) -> None:
        raise InvalidValue("a DOCTYPE is not allowed in a model")


def _parse(path: str) -> Element:
    try:
        with Path(path).open("rb") as file:
            parser = ET.XMLParser(target=_NoDoctype())  # noqa: S314 - it refuses what makes XML dangerous
            return ET.parse(file, parser).getroot()  # noqa: S314
    except FileNotFoundError as error:
        raise InvalidValue(f"there is no OpenVINO file {path!r}") from error
    # ValueError: an encoding that Python does not know, or the DOCTYPE.
    except (OSError, ET.ParseError, LookupError, ValueError) as error:
        raise InvalidValue(f"{path!r} is not an OpenVINO model: {error}") from error


def _cause(error: KeyError | ValueError) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


@dataclass(frozen=True)
class _Layer:
    name: str
    element: Element

    @property
    def output_ports(self) -> list[Element]:
        return self.element.findall("output/port")

    def reference(self, port_id: str) -> str:
        """How another layer refers to the output port `port_id`; port ids count the inputs first."""
        ports = [port.attrib["id"] for port in self.output_ports]
        return output_reference(self.name, ports.index(port_id) if port_id in ports else 0)


def _nodes(layers: Element, edges: Element) -> list[GraphNode]:
    by_id = _named_layers(layers)
    inputs = _inputs(by_id, edges)
    return [
        GraphNode(
            name=layer.name,
            op=layer.element.attrib.get("type", "op"),
            inputs=inputs[layer_id],
            parameters=_parameters(layer.element),
            output_shapes=tuple(_shape(port) for port in layer.output_ports) or None,
        )
        for layer_id, layer in by_id.items()
    ]


def _named_layers(layers: Element) -> dict[str, _Layer]:
    elements = layers.findall("layer")
    # Only the id of a layer has to be unique, and nodes go by name.
    uses = Counter(element.attrib["name"] for element in elements)
    named: dict[str, _Layer] = {}
    for element in elements:
        layer_id, name = element.attrib["id"], element.attrib["name"]
        unique_name = name if uses[name] == 1 else f"{name}_{layer_id}"
        named[layer_id] = _Layer(node_name(unique_name), element)
    return named


def _inputs(by_id: dict[str, _Layer], edges: Element) -> dict[str, tuple[str, ...]]:
    """The inputs of each layer, in the order of its ports."""
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for edge in edges.findall("edge"):
        target, source = edge.attrib["to-layer"], by_id[edge.attrib["from-layer"]]
        port = int(edge.attrib.get("to-port", len(found[target])))
        found[target].append((port, source.reference(edge.attrib.get("from-port", ""))))
    unknown = found.keys() - by_id.keys()
    if unknown:
        raise ValueError(f"edges lead to layers that do not exist: {', '.join(sorted(unknown))}")
    return {layer_id: tuple(name for _, name in sorted(found[layer_id])) for layer_id in by_id}


def _parameters(element: Element) -> str:
    data = element.find("data")
    return "" if data is None else ", ".join(f"{name} = {value}" for name, value in data.attrib.items())


def _shape(port: Element) -> Shape:
    return tuple(_size(dimension.text) for dimension in port.findall("dim"))


def _size(text: str | None) -> int:
    # A dimension that is not fixed is "-1", "?" or a range such as "1..8".
    text = (text or "").strip()
    return int(text) if text.isdecimal() else UNKNOWN_SIZE
