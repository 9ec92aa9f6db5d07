# SPDX-License-Identifier: Apache-2.0
"""`TensorProto`: arrays of numbers and of byte strings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.metadata import summary_metadata
from aboard.events.summary import summary, tagged_value

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
