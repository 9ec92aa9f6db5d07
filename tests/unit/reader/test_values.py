# SPDX-License-Identifier: Apache-2.0
"""Arrays and blobs of summary values, held to TensorBoard's own."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from tensorboard import data_compat, dataclass_compat
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.util import tensor_util

from aboard.reader.values import array_of_tensor, array_of_value, blobs_of_value
from support.cases import all_cases

Value = summary_pb2.Summary.Value
MOST_ELEMENTS = 2**20  # of an array whose shape says more than its bytes hold
NUMERIC = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64,
           np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128]  # fmt: skip
FIELDS = {
    "DT_FLOAT": "float_val", "DT_DOUBLE": "double_val", "DT_INT32": "int_val", "DT_INT16": "int_val",
    "DT_INT8": "int_val", "DT_UINT8": "int_val", "DT_UINT16": "int_val", "DT_INT64": "int64_val",
    "DT_BOOL": "bool_val", "DT_HALF": "half_val", "DT_UINT32": "uint32_val", "DT_UINT64": "uint64_val",
    "DT_COMPLEX64": "scomplex_val", "DT_COMPLEX128": "dcomplex_val",
}  # fmt: skip
TYPES = {
    np.float16: "DT_HALF", np.float32: "DT_FLOAT", np.float64: "DT_DOUBLE", np.int8: "DT_INT8", np.int16: "DT_INT16",
    np.int32: "DT_INT32", np.int64: "DT_INT64", np.uint8: "DT_UINT8", np.uint16: "DT_UINT16", np.uint32: "DT_UINT32",
    np.uint64: "DT_UINT64", np.bool_: "DT_BOOL", np.complex64: "DT_COMPLEX64", np.complex128: "DT_COMPLEX128",
}  # fmt: skip


def shape_of(shape: tuple[int, ...]) -> tensor_shape_pb2.TensorShapeProto:
    return tensor_shape_pb2.TensorShapeProto(dim=[{"size": size} for size in shape])


def with_content(array: np.ndarray[Any, Any]) -> tensor_pb2.TensorProto:
    return tensor_pb2.TensorProto(
        dtype=types_pb2.DataType.Value(TYPES[array.dtype.type]),
        tensor_shape=shape_of(array.shape),
        tensor_content=array.tobytes(),
    )


def with_elements(array: np.ndarray[Any, Any]) -> tensor_pb2.TensorProto:
    name = TYPES[array.dtype.type]
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DataType.Value(name), tensor_shape=shape_of(array.shape))
    flat = np.ascontiguousarray(array).ravel()
    if name == "DT_HALF":
        flat = flat.view(np.uint16)
    elif name.startswith("DT_COMPLEX"):
        flat = flat.view(np.float32 if name == "DT_COMPLEX64" else np.float64)
    getattr(proto, FIELDS[name]).extend(flat.tolist())
    return proto


def one_by_one(proto: tensor_pb2.TensorProto) -> bytes:
    """The same message with each element in a field of its own, as proto2 writers have it."""
    from aboard._native import Message, decode_fields

    rest = tensor_pb2.TensorProto(dtype=proto.dtype, tensor_shape=proto.tensor_shape)
    message = Message()
    name = FIELDS[types_pb2.DataType.Name(proto.dtype)]
    number = proto.DESCRIPTOR.fields_by_name[name].number
    for element in getattr(proto, name):
        if name in ("float_val", "scomplex_val"):
            message.float(number, element)
        elif name in ("double_val", "dcomplex_val"):
            message.double(number, element)
        else:
            message.varint(number, int(element) - (2**64 if element >= 2**63 else 0))
    assert decode_fields(bytes(message)) is not None
    return rest.SerializeToString() + bytes(message)


def assert_same(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.tobytes() == theirs.tobytes() if ours.dtype != object else ours.tolist() == theirs.tolist()


def arrays() -> st.SearchStrategy[np.ndarray[Any, Any]]:
    shapes = st_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
    return st.sampled_from(NUMERIC).flatmap(lambda dtype: st_numpy.arrays(dtype, shapes))


@given(arrays())
def test_numbers_in_every_type_and_encoding(array: np.ndarray[Any, Any]) -> None:
    assert_same(array_of_tensor(with_content(array).SerializeToString()), array)
    proto = with_elements(array)
    assert_same(array_of_tensor(proto.SerializeToString()), array)
    assert_same(array_of_tensor(one_by_one(proto)), array)
    # And as TensorBoard has it, where it knows the type at all.
    if array.dtype.type not in (np.uint32, np.uint64):
        for made in (with_content(array), proto):
            if array.size:
                assert_same(array_of_tensor(made.SerializeToString()), tensor_util.make_ndarray(made))


@given(st_numpy.arrays(np.float32, st_numpy.array_shapes(min_dims=0, max_dims=3)))
def test_what_tensorboard_makes_of_arrays(array: np.ndarray[Any, Any]) -> None:
    proto = tensor_util.make_tensor_proto(array)
    assert_same(array_of_tensor(proto.SerializeToString()), tensor_util.make_ndarray(proto))


@all_cases("dtype", NUMERIC)
def test_one_element_stands_for_all(dtype: type) -> None:
    proto = with_elements(np.ones((), dtype))
    proto.tensor_shape.CopyFrom(shape_of((2, 3)))
    expected = tensor_util.make_ndarray(proto) if dtype not in (np.uint32, np.uint64) else np.ones((2, 3), dtype)
    assert_same(array_of_tensor(proto.SerializeToString()), expected)


@given(st.lists(st.binary(max_size=10), max_size=12), st.booleans())
def test_strings(strings: list[bytes], in_rows: bool) -> None:
    shape = (len(strings) // 2, 2) if in_rows else (len(strings),)
    strings = strings[: int(np.prod(shape))]
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape_of(shape), string_val=strings)
    ours = array_of_tensor(proto.SerializeToString())
    assert ours.shape == shape
    assert ours.ravel().tolist() == strings
    if len(strings) != 0:
        assert_same(ours, tensor_util.make_ndarray(proto))


def test_bfloat16() -> None:
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_BFLOAT16, tensor_shape=shape_of((2,)), half_val=[0x3FC0, 0xC000])
    assert array_of_tensor(proto.SerializeToString()).tolist() == [1.5, -2.0]
    proto = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_BFLOAT16, tensor_shape=shape_of((2,)), tensor_content=b"\xc0\x3f\x00\xc0"
    )
    assert array_of_tensor(proto.SerializeToString()).tolist() == [1.5, -2.0]


def migrated(value: Value) -> Value:
    event = event_pb2.Event()
    event.summary.value.add().CopyFrom(data_compat.migrate_value(value))
    return dataclass_compat.migrate_event(event, {})[0].summary.value[0]


@given(
    st.lists(st.tuples(st.floats(allow_nan=False), st.one_of(st.just(0.0), st.floats(0, 1e6))), max_size=12),
    st.floats(),
    st.floats(),
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_old_histograms(buckets: list[tuple[float, float]], low: float, high: float) -> None:
    value = Value(tag="h")
    value.histo.min, value.histo.max = low, high
    value.histo.bucket_limit.extend(limit for limit, _ in buckets)
    value.histo.bucket.extend(count for _, count in buckets)
    with np.errstate(over="ignore"):
        expected = tensor_util.make_ndarray(migrated(value).tensor)
    assert_same(array_of_value(value.SerializeToString()), expected)


@given(st.floats(width=32))
def test_old_scalars(number: float) -> None:
    value = Value(tag="s", simple_value=number)
    assert_same(array_of_value(value.SerializeToString()), tensor_util.make_ndarray(migrated(value).tensor))


def test_hyperparameters_have_the_null_tensor() -> None:
    value = Value(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    assert_same(array_of_value(value.SerializeToString()), tensor_util.make_ndarray(migrated(value).tensor))


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.binary(max_size=30))
def test_old_images(width: int, height: int, data: bytes) -> None:
    value = Value(tag="i")
    value.image.width, value.image.height, value.image.encoded_image_string = width, height, data
    assert blobs_of_value(value.SerializeToString(), first_axis_only=False) == list(migrated(value).tensor.string_val)


@given(st.binary(max_size=30))
def test_old_sounds(data: bytes) -> None:
    value = Value(tag="a")
    value.audio.encoded_audio_string = data
    assert blobs_of_value(value.SerializeToString(), first_axis_only=True) == list(migrated(value).tensor.string_val)


@given(st.lists(st.binary(max_size=8), max_size=8), st.sampled_from(["audio", "images"]), st.booleans())
def test_new_images_and_sounds(clips: list[bytes], plugin: str, labelled: bool) -> None:
    value = Value(tag="a")
    value.metadata.plugin_data.plugin_name = plugin
    strings = [part for clip in clips for part in (clip, b"label")] if labelled else clips
    value.tensor.dtype = types_pb2.DT_STRING
    value.tensor.tensor_shape.CopyFrom(shape_of((len(clips), 2) if labelled else (len(clips),)))
    value.tensor.string_val.extend(strings)
    ours = blobs_of_value(value.SerializeToString(), first_axis_only=plugin == "audio")
    assert ours == list(migrated(value).tensor.string_val)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


HOSTILE = {
    "huge": (1, [2**62], 1),
    "huge product": (1, [2**40, 2**40, 2**40], 1),
    "more than there is": (1, [1000 * 2**20], 1000),
    "zero and huge": (1, [0, 2**62], 1),
    "negative": (1, [-1], 1),
    "negative twice": (1, [-(2**31), -(2**31)], 1),
    "many axes": (1, [1] * 100_000, 1),
    "many huge axes": (1, [2**62] * 100_000, 1),
    "strings": (7, [2**40], 1),
    "no such type": (99, [2**40], 1),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_shapes_that_lie_allocate_little(case: str) -> None:
    dtype, shape, count = HOSTILE[case]
    proto = tensor_pb2.TensorProto(dtype=dtype, tensor_shape=shape_of(tuple(shape)))
    if dtype == types_pb2.DT_STRING:
        proto.string_val.extend([b"x"] * count)
    else:
        proto.float_val.extend([1.0] * count)
    message = proto.SerializeToString()
    before = peak()
    array = array_of_tensor(message)
    blobs = blobs_of_value(Value(tensor=proto).SerializeToString(), first_axis_only=True)
    assert array.size <= MOST_ELEMENTS
    assert len(blobs) <= count
    assert peak() - before < 100 << 20


@pytest.mark.parametrize("field", [5, 6, 7, 9, 10, 11, 12, 13, 16, 17])
def test_packed_elements_that_never_end(field: int) -> None:
    from aboard._native import Message

    for dtype in (*range(1, 24), 30):
        message = Message()
        message.varint(1, dtype)
        message.bytes(field, b"\xff" * 1_000_000)
        assert array_of_tensor(bytes(message)).size <= 1


def test_a_million_packed_integers() -> None:
    numbers = np.arange(1_000_000, dtype=np.int64) * 7919 - 5_000_000
    proto = with_elements(numbers)
    assert_same(array_of_tensor(proto.SerializeToString()), numbers)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    assert array_of_tensor(data).size <= MOST_ELEMENTS
    assert array_of_value(data).size <= MOST_ELEMENTS
    assert sum(map(len, blobs_of_value(data, first_axis_only=True))) <= len(data)


@given(arrays(), st.data())
def test_damaged_tensors(array: np.ndarray[Any, Any], data: st.DataObject) -> None:
    message = bytearray((with_content(array) if data.draw(st.booleans()) else with_elements(array)).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        if message:
            message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    assert array_of_tensor(bytes(message)).size <= MOST_ELEMENTS
    assert array_of_tensor(bytes(message[: data.draw(st.integers(0, len(message)))])).size <= MOST_ELEMENTS
