# SPDX-License-Identifier: Apache-2.0
"""Tensors, and the summaries that are one tensor: plain tensors, scalars and Markdown texts.

Scalars have two forms that TensorBoard reads: the compact `simple_value`, and the rank-0 tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import SCALAR, summary, summary_metadata, tagged_value, utf8

# Numbers of the enum tensorflow.DataType, by the name of the numpy dtype. DT_BFLOAT16 is left out because
# TensorBoard cannot decode it without TensorFlow.
_DATA_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_STRING = 7
_MAX_BYTES = 2**31 - 1  # protobuf's limit for one message


def tensor_proto(array: NDArray[Any]) -> Message:
    """A `TensorProto` with the shape, the dtype and the values of a numeric or bool array."""
    data_type = _DATA_TYPES.get(array.dtype.name)
    if data_type is None:
        raise InvalidValue(
            f"the array has dtype {array.dtype}, which a tensor summary cannot hold; "
            f"allowed are {', '.join(_DATA_TYPES)}"
        )
    if array.nbytes > _MAX_BYTES:
        raise InvalidValue(
            f"the array of shape {array.shape} takes {array.nbytes} bytes; "
            f"protobuf allows at most {_MAX_BYTES} in one message"
        )
    tensor = _typed_tensor(data_type, array.shape)
    if array.size:
        # Raw content and not the typed fields: half_val wants the bit pattern of each float16 as an integer,
        # and readers have no typed branch for uint32 and uint64.
        tensor.bytes(4, array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return tensor


def string_tensor(values: Sequence[bytes], shape: Sequence[int]) -> Message:
    """A `TensorProto` of byte strings in row-major order."""
    if math.prod(shape) != len(values):
        raise InvalidValue(
            f"the shape {tuple(shape)} holds {math.prod(shape)} strings, but {len(values)} were given; "
            "both numbers must be equal"
        )
    tensor = _typed_tensor(_STRING, shape)
    for value in values:
        tensor.bytes(8, value)
    return tensor


def tensor_summary(tag: str, array: NDArray[Any]) -> bytes:
    """A whole array as one value, for tools that read tensors back; no dashboard of TensorBoard shows it."""
    value = tagged_value(tag)
    value.message(8, tensor_proto(np.asarray(array)))
    value.message(9, summary_metadata(plugin="tensor"))
    return summary(value)


def _typed_tensor(data_type: int, shape: Sequence[int]) -> Message:
    dimensions = Message()
    for size in shape:
        dimension = Message()
        dimension.varint(1, size)
        dimensions.message(2, dimension)
    tensor = Message()
    tensor.varint(1, data_type)
    tensor.message(2, dimensions)
    return tensor


_FLOAT, _DOUBLE = 1, 2  # tensorflow.DataType


def scalar(tag: str, value: float, *, display_name: str = "", description: str = "") -> bytes:
    """One float32 number; metadata is written only when it carries a text, which keeps the record small."""
    point = tagged_value(tag)
    point.float(2, value)
    if display_name or description:
        metadata = summary_metadata(
            plugin="scalars", display_name=display_name, description=description, data_class=SCALAR
        )
        point.message(9, metadata)
    return summary(point)


def scalar_tensor(tag: str, value: float, *, double: bool, display_name: str = "", description: str = "") -> bytes:
    """One number as a rank-0 tensor of the scalars plugin; `double` keeps all its digits."""
    tensor = Message()
    tensor.varint(1, _DOUBLE if double else _FLOAT)
    tensor.message(2, Message())
    if double:
        tensor.packed_doubles(6, np.array([value], np.float64))
    else:
        with np.errstate(over="ignore"):  # beyond float32 means infinity
            tensor.packed_floats(5, np.array([value], np.float64).astype(np.float32))
    point = tagged_value(tag)
    point.message(8, tensor)
    point.message(9, summary_metadata(plugin="scalars", display_name=display_name, description=description))
    return summary(point)


def text(tag: str, content: str) -> bytes:
    """One text; the tag gets the ending that the peers give it, so that series continue across writers."""
    value = tagged_value(f"{tag}/text_summary")
    value.message(8, string_tensor([utf8(content)], [1]))
    value.message(9, summary_metadata(plugin="text"))
    return summary(value)
