# SPDX-License-Identifier: Apache-2.0
"""Numbers and arrays of any framework as numpy arrays, found by what they can do, without importing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from aboard.errors import InvalidType, InvalidValue

Array = NDArray[Any]
_NUMERIC_KINDS = "biufc"


def as_array(value: Any, argument: str) -> Array:
    """`value` as a numeric numpy array; never a copy when it already is one."""
    array = _native_numbers(_to_numpy(value, argument))
    if array.dtype.kind not in _NUMERIC_KINDS:
        raise InvalidType(f"{argument} must hold numbers, got {_described(value)} with elements of {array.dtype}")
    return array


def as_real_array(value: Any, argument: str) -> Array:
    """As `as_array`, without complex numbers."""
    array = as_array(value, argument)
    if array.dtype.kind == "c":
        raise InvalidType(
            f"{argument} must hold real numbers, got {_described(value)}; log real and imaginary parts apart"
        )
    return array


def as_number(value: Any, argument: str) -> float:
    """`value`, of whatever shape with exactly one element, as a Python float."""
    if isinstance(value, (bool, int, float)):
        return _float(value, argument)
    array = as_real_array(value, argument)
    if array.size != 1:
        raise InvalidValue(
            f"{argument} must be one number, got {array.size} of them (shape {array.shape})",
            hint="reduce it first, for example with .mean(), or use add_histogram or add_tensor",
        )
    return _float(array.reshape(()).item(), argument)


def as_integer(value: Any, argument: str) -> int:
    """As `as_number`, without fractions."""
    number = as_number(value, argument)
    if not number.is_integer():
        raise InvalidValue(f"{argument} must be a whole number, got {number}")
    return int(number)


def _float(value: float, argument: str) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidValue(f"{argument} must fit into a double, got an integer of {len(str(value))} digits") from error


def _to_numpy(value: Any, argument: str) -> Array:
    if isinstance(value, np.ndarray):
        return cast("Array", value)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return np.asarray(value)
    if isinstance(value, (str, bytes, dict, set)) or value is None:
        raise InvalidType(f"{argument} must be a number or an array, got {_described(cast('object', value))}")
    if isinstance(value, (list, tuple)):
        return _stacked(cast("Sequence[Any]", value), argument)
    try:
        return _framework_array(value, argument)
    except (InvalidType, InvalidValue):
        raise
    except Exception as error:
        raise InvalidType(f"{argument} could not be read as an array: {_described(value)}: {error}") from error


def _stacked(values: Sequence[Any], argument: str) -> Array:
    if all(isinstance(value, (bool, int, float, complex, np.generic)) for value in values):
        return np.asarray(values)
    arrays = [as_array(value, argument) for value in values]
    if len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(str(array.shape) for array in arrays[:4])
        raise InvalidValue(
            f"{argument} must hold elements of one shape, got {shapes}{', …' if len(arrays) > 4 else ''}"
        )
    return np.stack(arrays) if arrays else np.empty(0)


def _framework_array(value: Any, argument: str) -> Array:
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return _torch_array(value, argument)
    for method in ("numpy", "asnumpy", "get"):  # TensorFlow and Paddle, MXNet, CuPy
        if _is_framework_method(value, method):
            return np.asarray(getattr(value, method)())
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return cast("Array", np.from_dlpack(value))
    if hasattr(value, "array"):  # a Chainer variable
        return _to_numpy(value.array, argument)
    if hasattr(value, "__float__"):
        return np.asarray(float(value))
    raise InvalidType(
        f"{argument} must be a number or an array, got {_described(value)}",
        hint="numpy, torch, jax and tensorflow arrays are taken, and whatever has __array__ or __dlpack__",
    )


def _is_framework_method(value: Any, method: str) -> bool:
    # `get` and `numpy` are common names: only array-like objects (a shape and a dtype) are asked.
    return callable(getattr(value, method, None)) and hasattr(value, "shape") and hasattr(value, "dtype")


def _torch_array(tensor: Any, argument: str) -> Array:
    tensor = tensor.detach()
    if str(tensor.device) == "meta":
        raise InvalidValue(f"{argument} is a tensor on the meta device, which holds no values")
    if tensor.layout is not None and "strided" not in str(tensor.layout):
        tensor = tensor.to_dense()
    if getattr(tensor, "is_quantized", False):
        tensor = tensor.dequantize()
    if "bfloat16" in str(tensor.dtype) or "float8" in str(tensor.dtype):
        tensor = tensor.float()  # numpy has no such type; float32 holds every value of it
    return np.asarray(tensor.cpu().resolve_conj().resolve_neg().numpy())


def _native_numbers(array: Array) -> Array:
    # bfloat16 and float8 of jax and TensorFlow reach numpy as types of the package ml_dtypes.
    if array.dtype.kind == "V" and array.dtype.names is None and "float" in array.dtype.name:
        return array.astype(np.float32)
    if array.dtype.kind == "O":
        return _numbers_of_objects(array)
    return array


def _numbers_of_objects(array: Array) -> Array:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # no numbers, or integers beyond a double
        return array


def _described(value: object) -> str:
    text = repr(value)
    return f"{text[:100]}{'…' if len(text) > 100 else ''} ({type(value).__module__}.{type(value).__qualname__})"
