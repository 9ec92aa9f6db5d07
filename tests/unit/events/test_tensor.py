# SPDX-License-Identifier: Apache-2.0
"""Tensors, scalars and texts."""

import math

import numpy as np
import pytest
import tensorboardX.summary as peer
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_SCALAR, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util import tensor_util

from aboard.errors import InvalidValue
from aboard.events.tensor import scalar, scalar_tensor, string_tensor, tensor_proto, tensor_summary, text
from support.cases import all_cases

FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
DTYPES = FLOATS + INTEGERS


def decoded(message):
    return tensor_util.make_ndarray(TensorProto.FromString(bytes(message)))


@all_cases("dtype", DTYPES)
@all_cases("shape", [(), (1,), (5,), (2, 3), (1, 2, 1, 3)])
def test_numbers_keep_dtype_shape_and_value(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 3 - 2).astype(dtype)
    result = decoded(tensor_proto(array))
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


@all_cases("dtype", [dtype for dtype in DTYPES if dtype not in ("uint32", "uint64")])
def test_empty_arrays_keep_their_shape(dtype):
    result = decoded(tensor_proto(np.zeros((0, 3), dtype)))
    assert result.shape == (0, 3)
    assert result.dtype == dtype


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3).T, np.arange(10)[::2], np.arange(4, dtype=">i4")])
def test_strides_and_byte_order_do_not_matter(array):
    np.testing.assert_array_equal(decoded(tensor_proto(array)), array)


def test_extreme_values():
    array = np.array([np.nan, np.inf, -np.inf, 5e-324, np.finfo(float).max])
    np.testing.assert_array_equal(decoded(tensor_proto(array)), array)
    big = np.array([2**64 - 1], np.uint64)
    np.testing.assert_array_equal(decoded(tensor_proto(big)), big)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.array(["2020"], "M8[D]")])
def test_other_dtypes_are_refused(array):
    with pytest.raises(InvalidValue, match=r"dtype .*; allowed are float32"):
        tensor_proto(array)


@pytest.mark.parametrize(("values", "shape"), [([b"a"], []), ([b"a", b"\xff\x00"], [2]), ([b"1", b"2"], [1, 2])])
def test_strings(values, shape):
    result = decoded(string_tensor(values, shape))
    assert result.shape == tuple(shape)
    assert list(result.reshape(-1)) == values


def test_strings_must_fill_the_shape():
    with pytest.raises(InvalidValue, match=r"\(2, 2\) holds 4 strings, but 1 were given"):
        string_tensor([b"a"], [2, 2])


def test_summary_has_torchs_plugin():
    (value,) = Summary.FromString(tensor_summary("t", np.eye(2))).value
    assert value.tag == "t"
    assert value.metadata.plugin_data.plugin_name == "tensor"
    np.testing.assert_array_equal(tensor_util.make_ndarray(value.tensor), np.eye(2))


VALUES = [0.0, -0.0, 1.5, -3.25e-12, 1e30, 1e300, math.inf, -math.inf, 7]


@all_cases("value", VALUES)
@all_cases("texts", [("", ""), ("name", ""), ("", "what it *is*"), ("größe", "ü")])
def test_scalars_equal_tensorboardx(value, texts):
    ours = Summary.FromString(scalar("a/b", value, display_name=texts[0], description=texts[1]))
    theirs = peer.scalar("a/b", value, display_name=texts[0], summary_description=texts[1])
    if any(texts):  # without plugin and class, TensorBoard's fast loader would not show the texts
        metadata = ours.value[0].metadata
        assert (metadata.plugin_data.plugin_name, metadata.data_class) == ("scalars", DATA_CLASS_SCALAR)
        metadata.ClearField("plugin_data")
        metadata.ClearField("data_class")
    assert ours == Summary.FromString(theirs.SerializeToString())


def test_nan_stays_nan():
    (value,) = Summary.FromString(scalar("t", math.nan)).value
    assert math.isnan(value.simple_value)


def test_metadata_only_when_there_is_a_text():
    (value,) = Summary.FromString(scalar("t", 1)).value
    assert not value.HasField("metadata")


@all_cases("value", VALUES)
@all_cases("double", [False, True])
def test_tensor_form(value, double):
    (point,) = Summary.FromString(scalar_tensor("t", value, double=double, display_name="n", description="d")).value
    array = tensor_util.make_ndarray(point.tensor)
    assert array.shape == ()
    assert array.dtype == (np.float64 if double else np.float32)
    with np.errstate(over="ignore"):
        assert array == np.asarray(value, dtype=array.dtype)
    assert point.metadata.plugin_data.plugin_name == "scalars"
    assert (point.metadata.display_name, point.metadata.summary_description) == ("n", "d")


def test_tensorboard_reads_both_forms_alike():
    (old,) = Summary.FromString(scalar("t", 2.5)).value
    (new,) = Summary.FromString(scalar_tensor("t", 2.5, double=False)).value
    migrated = data_compat.migrate_value(old)
    assert migrated.metadata.plugin_data.plugin_name == new.metadata.plugin_data.plugin_name
    assert tensor_util.make_ndarray(migrated.tensor) == tensor_util.make_ndarray(new.tensor)


def test_lone_surrogates_do_not_spoil_the_message():
    (value,) = Summary.FromString(scalar("t", 1, display_name="a\ud800b")).value
    assert value.metadata.display_name == "a?b"


@pytest.mark.parametrize("content", ["", "plain", "| a | b |\n|---|---|\n| 1 | 2 |", "größe 日本 🚀", "a\0b"])
def test_texts_equal_tensorboardx(content):
    (ours,) = Summary.FromString(text("note", content)).value
    (theirs,) = Summary.FromString(peer.text("note", content).SerializeToString()).value
    assert ours == theirs
    assert ours.tag == "note/text_summary"
    assert tensor_util.make_ndarray(ours.tensor).tolist() == [content.encode()]


def test_lone_surrogates_become_question_marks():
    (value,) = Summary.FromString(text("note", "a\udc80b")).value
    assert value.tensor.string_val == [b"a?b"]
