# SPDX-License-Identifier: Apache-2.0
"""Arrays and blobs out of the bytes of summary values, old style and new."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard._native import decode_fields, decode_tensor, decode_value
from aboard.reader.tag_meaning import Kind

Array = NDArray[Any]
_STRING, _BFLOAT16 = 7, 14
_DTYPES: dict[int, str] = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "|u1", 5: "<i2", 6: "|i1", 8: "<c8", 9: "<i8", 10: "|b1",
    17: "<u2", 18: "<c16", 19: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_FLOAT_FIELD, _DOUBLE_FIELD, _HALF_FIELD = 5, 6, 13
_COMPLEX_FIELDS = {9: "<f4", 12: "<f8"}


def array_of_value(value: bytes) -> Array:
    """The array that TensorBoard shows for a Summary.Value; without content an empty one."""
    decoded = decode_value(value)
    if decoded is None:
        return np.empty(0, np.float32)
    kind, content, simple_value = decoded
    if kind == Kind.SIMPLE_VALUE:
        return np.asarray(simple_value, np.float32)
    if kind == Kind.TENSOR:
        return array_of_tensor(content)
    if kind == Kind.HISTOGRAM:
        return _buckets(content)
    return np.empty(0, np.float32)


def blobs_of_value(value: bytes, *, first_axis_only: bool) -> list[bytes]:
    """The byte strings of a Summary.Value: of an image its width, height and file, of sound its file."""
    decoded = decode_value(value)
    if decoded is None:
        return []
    kind, content, _ = decoded
    if kind == Kind.IMAGE:
        fields = _last_fields(content)
        return [b"%d" % _integer(fields.get(2)), b"%d" % _integer(fields.get(1)), _bytes(fields.get(4))]
    if kind == Kind.AUDIO:
        return [_bytes(_last_fields(content).get(4))]
    if kind == Kind.TENSOR:
        return _tensor_strings(content, first_axis_only=first_axis_only)
    return []


def array_of_tensor(message: bytes) -> Array:
    """A TensorProto as an array; strings as objects."""
    decoded = decode_tensor(message)
    if decoded is None:
        return np.empty(0, np.float32)
    dtype, shape, content, packed, scalars, strings, field = decoded
    size = math.prod(shape)
    if dtype == _STRING:
        return _filled(np.array([*strings], dtype=object), size, shape)
    if dtype == _BFLOAT16:
        bits = np.frombuffer(content, "<u2") if content else np.array(_integers(packed, scalars), np.uint16)
        return _filled((bits.astype(np.uint32) << 16).view(np.float32), size, shape)
    if dtype not in _DTYPES:
        return np.empty(0, np.float32)
    if content:
        return _filled(np.frombuffer(content, _DTYPES[dtype]), size, shape)
    return _filled(_typed_elements(_DTYPES[dtype], packed, scalars, field), size, shape)


def _typed_elements(dtype: str, packed: list[bytes], scalars: list[int], field: int) -> Array:
    if field in (_FLOAT_FIELD, _DOUBLE_FIELD) or field in _COMPLEX_FIELDS:
        element = _COMPLEX_FIELDS.get(field, "<f4" if field == _FLOAT_FIELD else "<f8")
        width = np.dtype(element).itemsize
        raw = b"".join(packed) + b"".join(bits.to_bytes(8, "little")[:width] for bits in scalars)
        elements = np.frombuffer(raw[: len(raw) // width * width], element)
        return elements.view(dtype) if field in _COMPLEX_FIELDS else elements.astype(dtype)
    integers = np.array(_integers(packed, scalars), np.uint64)
    if field == _HALF_FIELD:
        return integers.astype(np.uint16).view(np.float16)
    return integers.astype(np.int64).astype(dtype)


def _integers(packed: list[bytes], scalars: list[int]) -> list[int]:
    numbers = list(scalars)
    for piece in packed:
        value, shift = 0, 0
        for byte in piece:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(value & 0xFFFFFFFFFFFFFFFF)
                value, shift = 0, 0
    return numbers


def _filled(elements: Array, size: int, shape: list[int]) -> Array:
    """The elements in their shape; as protobuf has it, the last one stands for all that are missing."""
    if any(length < 0 for length in shape) or size > max(len(elements), 1) * 2**20:
        return np.empty(0, elements.dtype)
    if len(elements) < size:
        last = elements[-1] if len(elements) else np.zeros(1, elements.dtype)[0] if elements.dtype != object else b""
        elements = np.concatenate([elements, np.full(size - len(elements), last, elements.dtype)])
    return elements[:size].reshape(shape)


def _tensor_strings(message: bytes, *, first_axis_only: bool) -> list[bytes]:
    decoded = decode_tensor(message)
    if decoded is None:
        return []
    _, shape, content, _, _, strings, _ = decoded
    if not strings and content:
        return [content]
    stride = math.prod(shape[1:]) if first_axis_only and len(shape) > 1 else 1
    return strings[:: max(stride, 1)]


def _buckets(message: bytes) -> Array:
    """A HistogramProto as rows of left edge, right edge and count, without empty ends, between the extremes."""
    fields = decode_fields(message) or []
    extremes = {number: _double(content) for number, _, content in fields if number in (1, 2)}
    limits, counts = _doubles(fields, 6), _doubles(fields, 7)
    filled = np.flatnonzero(counts > 0)
    if filled.size == 0 or len(limits) < len(counts):
        return np.zeros((0, 3), np.float32)
    start, end = int(filled[0]), int(filled[-1])
    inner = limits[start:end]
    lefts = np.concatenate([[extremes.get(1, 0.0)], inner])
    rights = np.concatenate([inner, [extremes.get(2, 0.0)]])
    with np.errstate(over="ignore"):
        return np.column_stack([lefts, rights, counts[start : end + 1]]).astype(np.float32)


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
