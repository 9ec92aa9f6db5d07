# SPDX-License-Identifier: Apache-2.0
"""3D meshes and point clouds: a tensor each for vertices, faces and colors, joined by their metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import summary, summary_metadata, tagged_value, utf8
from aboard.events.tensor import tensor_proto

_CONTENT_TYPES = {"VERTEX": 1, "FACE": 2, "COLOR": 3}  # MeshPluginData.ContentType


def mesh(
    tag: str,
    vertices: NDArray[Any],
    colors: NDArray[Any] | None = None,
    faces: NDArray[Any] | None = None,
    *,
    config: Mapping[str, object] | None = None,
) -> bytes:
    """Vertices B x N x 3, colors 0 to 255 of the same shape, and faces B x M x 3 of vertex numbers."""
    parts: dict[str, NDArray[Any]] = {"VERTEX": _batched("vertices", vertices).astype(np.float32)}
    if faces is not None:
        parts["FACE"] = _vertex_numbers(_batched("faces", faces))
    if colors is not None:
        parts["COLOR"] = _rgb(_batched("colors", colors))
    _check_batches(parts)
    components = sum(1 << _CONTENT_TYPES[part] for part in parts)
    options = _json(config)
    return summary(*(_part(tag, part, array, components, options) for part, array in parts.items()))


def _batched(name: str, array: NDArray[Any]) -> NDArray[Any]:
    batched = array[np.newaxis] if array.ndim == 2 else array
    if batched.ndim != 3 or batched.shape[2] != 3 or batched.size == 0 or array.dtype.kind not in "biuf":
        raise InvalidValue(
            f"{name} has shape {array.shape} and dtype {array.dtype}; "
            "allowed are real numbers in B x N x 3, or N x 3 for a batch of one"
        )
    return batched


def _vertex_numbers(faces: NDArray[Any]) -> NDArray[np.int32]:
    wrong = faces[~((faces >= 0) & (faces < 2**31) & (faces == np.floor(faces)))]
    if wrong.size:
        raise InvalidValue(f"faces contains {wrong[0]}; allowed are vertex numbers, integers from 0 to 2147483647")
    return faces.astype(np.int32)


def _rgb(colors: NDArray[Any]) -> NDArray[np.uint8]:
    return np.nan_to_num(colors.astype(np.float64)).clip(0, 255).astype(np.uint8)


def _check_batches(parts: Mapping[str, NDArray[Any]]) -> None:
    vertices, colors, faces = parts["VERTEX"], parts.get("COLOR"), parts.get("FACE")
    if colors is not None and colors.shape != vertices.shape:
        raise InvalidValue(
            f"colors has shape {colors.shape} but vertices has {vertices.shape}; each vertex needs one color"
        )
    if faces is not None and faces.shape[0] != vertices.shape[0]:
        raise InvalidValue(
            f"faces has a batch of {faces.shape[0]} but vertices of {vertices.shape[0]}; both must be equal"
        )


def _json(config: Mapping[str, object] | None) -> str:
    try:
        return json.dumps({} if config is None else dict(config), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"config is {config!r}, which is not JSON ({error}); allowed is a dict of JSON values"
        ) from error


def _part(tag: str, part: str, array: NDArray[Any], components: int, options: str) -> Message:
    plugin_data = Message()
    plugin_data.bytes(2, utf8(tag))
    plugin_data.varint(3, _CONTENT_TYPES[part])
    plugin_data.string(5, options)
    plugin_data.packed_varints(6, list(array.shape))
    plugin_data.varint(7, components)
    value = tagged_value(f"{tag}_{part}")
    value.message(8, tensor_proto(array))
    value.message(9, summary_metadata(plugin="mesh", content=bytes(plugin_data)))
    return value
