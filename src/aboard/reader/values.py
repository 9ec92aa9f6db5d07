# SPDX-License-Identifier: Apache-2.0
"""Arrays and blobs out of the bytes of summary values, old style and new."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import decode_fields, decode_tensor, decode_value
from aboard.reader.tags import ValueKind

Array = NDArray[Any]
_STRING, _BFLOAT16 = 7, 14
_DTYPES: dict[int, str] = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "|u1", 5: "<i2", 6: "|i1", 8: "<c8", 9: "<i8", 10: "|b1",
    14: "<u2", 17: "<u2", 18: "<c16", 19: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_FLOATS_IN_FIELD = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_FIELD_OF_DTYPE = {1: 5, 2: 6, 8: 9, 9: 10, 10: 11, 14: 13, 18: 12, 19: 13, 22: 16, 23: 17}
_INT_FIELD, _HALF_FIELD = 7, 13
_LONGEST_VARINT = 10
# Shapes come from files that nobody vouches for.
_MOST_AXES = 32
_MOST_REPEATED = 2**20  # elements that a tensor may have without containing them


def array_of_value(value: bytes) -> Array:
    """The array that TensorBoard shows for a Summary.Value; without content an empty one."""
    decoded = decode_value(value)
    if decoded is None:
        return np.empty(0, np.float32)
    kind, content, simple_value = decoded
    if kind == ValueKind.SIMPLE_VALUE:
        return np.asarray(simple_value, np.float32)
    if kind == ValueKind.TENSOR:
        return array_of_tensor(content)
    if kind == ValueKind.HISTOGRAM:
        with np.errstate(over="ignore"):
            return _buckets(content).astype(np.float32)
    return np.empty(0, np.float32)


def buckets_of_value(value: bytes) -> NDArray[np.float64]:
    """A histogram as rows of left edge, right edge and count, as exact as it was written; no rows when it is none."""
    decoded = decode_value(value)
    if decoded is None:
        return np.zeros((0, 3))
    kind, content, _ = decoded
    if kind == ValueKind.HISTOGRAM:
        return _buckets(content)
    rows = array_of_tensor(content) if kind == ValueKind.TENSOR else np.zeros((0, 3))
    return (
        rows.astype(np.float64) if rows.ndim == 2 and rows.shape[1] == 3 and rows.dtype != object else np.zeros((0, 3))
    )


def blobs_of_value(value: bytes, *, first_axis_only: bool) -> list[bytes]:
    """The byte strings of a Summary.Value: of an image its width, height and file, of sound its file."""
    decoded = decode_value(value)
    if decoded is None:
        return []
    kind, content, _ = decoded
    if kind == ValueKind.IMAGE:
        fields = _last_fields(content)
        return [b"%d" % _integer(fields.get(2)), b"%d" % _integer(fields.get(1)), _bytes(fields.get(4))]
    if kind == ValueKind.AUDIO:
        return [_bytes(_last_fields(content).get(4))]
    if kind == ValueKind.TENSOR:
        return _tensor_strings(content, first_axis_only=first_axis_only)
    return []


def array_of_tensor(message: bytes) -> Array:
    """A TensorProto as an array; strings as objects. Empty when it is damaged or claims what it does not contain."""
    decoded = decode_tensor(message)
    if decoded is None:
        return np.empty(0, np.float32)
    dtype, shape, content, field = decoded.dtype, decoded.shape, decoded.content, decoded.values_field
    if dtype == _STRING:
        return _in_shape(np.array([*decoded.strings, None], dtype=object)[:-1], shape)
    if dtype not in _DTYPES:
        return np.empty(0, np.float32)
    element = np.dtype(_DTYPES[dtype])
    if content:
        elements = np.frombuffer(content[: len(content) // element.itemsize * element.itemsize], element)
    elif field == _FIELD_OF_DTYPE.get(dtype, _INT_FIELD):
        elements = _typed_elements(element, decoded.packed, np.frombuffer(decoded.scalars, "<u8"), field)
    else:
        elements = np.empty(0, element)
    if dtype == _BFLOAT16:
        elements = (elements.astype(np.uint32) << 16).view(np.float32)
    return _in_shape(elements, shape)


def _typed_elements(dtype: np.dtype[Any], packed: list[bytes], scalars: NDArray[np.uint64], field: int) -> Array:
    """Elements that lie packed, one by one, or (nobody does it) both."""
    if field in _FLOATS_IN_FIELD:
        part = np.dtype(_FLOATS_IN_FIELD[field])
        bits = scalars.astype("<u4") if part.itemsize == np.dtype("<u4").itemsize else scalars
        raw = b"".join(packed) + bits.tobytes()
        return np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype)
    integers = np.concatenate([scalars, *(_varints(piece) for piece in packed)])
    if field == _HALF_FIELD:
        return integers.astype("<u2").view(dtype)
    return (integers != 0) if dtype == np.bool_ else integers.astype(dtype)


def _varints(packed: bytes) -> NDArray[np.uint64]:
    """The numbers of a packed field; none when one of them is longer than a varint can be."""
    octets = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    lengths = ends - starts + 1
    if lengths.max(initial=0) > _LONGEST_VARINT:
        return np.empty(0, np.uint64)
    values = np.zeros(len(ends), np.uint64)
    for place in range(int(lengths.max(initial=0))):
        longer = lengths > place
        values[longer] |= (octets[starts[longer] + place] & np.uint64(0x7F)).astype(np.uint64) << np.uint64(7 * place)
    return values


def _in_shape(elements: Array, shape: list[int]) -> Array:
    """The elements in their shape; as protobuf has it, the last one stands for all that are missing."""
    if len(shape) > _MOST_AXES or any(length < 0 for length in shape):
        return np.empty(0, elements.dtype)
    size = math.prod(shape)
    # Beside a zero, too, numpy refuses axes whose product is beyond all memory.
    if math.prod(length for length in shape if length) > max(len(elements), _MOST_REPEATED):
        return np.empty(0, elements.dtype)
    if len(elements) < size:
        nothing = b"" if elements.dtype == object else elements.dtype.type()
        last = elements[-1] if len(elements) else nothing
        elements = np.concatenate([elements, np.full(size - len(elements), last, elements.dtype)])
    return elements[:size].reshape(shape)


def _tensor_strings(message: bytes, *, first_axis_only: bool) -> list[bytes]:
    decoded = decode_tensor(message)
    if decoded is None:
        return []
    shape, strings = decoded.shape, decoded.strings
    if not strings and decoded.content:
        return [decoded.content]
    stride = math.prod(shape[1:_MOST_AXES]) if first_axis_only and len(shape) > 1 else 1
    return strings[:: max(stride, 1)]


def _buckets(message: bytes) -> NDArray[np.float64]:
    """A HistogramProto as rows of left edge, right edge and count, without empty ends, between the extremes."""
    fields = decode_fields(message) or []
    extremes = {number: _double(content) for number, _, content in fields if number in (1, 2)}
    limits, counts = _doubles(fields, 6), _doubles(fields, 7)
    filled = np.flatnonzero(counts > 0)
    if filled.size == 0 or len(limits) < len(counts):
        return np.zeros((0, 3))
    start, end = int(filled[0]), int(filled[-1])
    inner = limits[start:end]
    lefts = np.concatenate([[extremes.get(1, 0.0)], inner])
    rights = np.concatenate([inner, [extremes.get(2, 0.0)]])
    return np.column_stack([lefts, rights, counts[start : end + 1]])


def _double(content: int | bytes) -> float:
    return float(np.uint64(content).view(np.float64)) if isinstance(content, int) else 0.0


def _doubles(fields: list[tuple[int, int, int | bytes]], wanted: int) -> NDArray[np.float64]:
    raw = b"".join(
        content if isinstance(content, bytes) else content.to_bytes(8, "little")
        for number, _, content in fields
        if number == wanted
    )
    return np.frombuffer(raw[: len(raw) // 8 * 8], "<f8")


def _last_fields(message: bytes) -> dict[int, int | bytes]:
    return {number: content for number, _, content in decode_fields(message) or []}


def _integer(content: int | bytes | None) -> int:
    return content if isinstance(content, int) else 0


def _bytes(content: int | bytes | None) -> bytes:
    return content if isinstance(content, bytes) else b""
