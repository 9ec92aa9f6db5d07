# SPDX-License-Identifier: Apache-2.0
"""Tensors of every dtype and shape read back equal with TensorBoard's own decoder."""

import numpy as np
import pytest
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util import tensor_util

from aboard.errors import InvalidValue
from aboard.events.tensor import string_tensor, tensor_proto, tensor_summary
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
