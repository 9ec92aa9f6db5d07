# SPDX-License-Identifier: Apache-2.0
"""Arguments of the `add_…` calls, checked and converted: tags, steps, wall times, numbers and arrays of any framework.

Values of a framework are recognised by what they can do, without importing it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from aboard.errors import InvalidType, InvalidValue

_SMALLEST_STEP, _LARGEST_STEP = -(2**63), 2**63 - 1


def step_number(step: Any, default: int | None = None, argument: str = "global_step") -> int:
    """`step` as the integer that goes into the file; fractions are cut off, as both peers do."""
    if step is None:
        return 0 if default is None else default
    number = _integer(step, argument)
    if not _SMALLEST_STEP <= number <= _LARGEST_STEP:
        raise InvalidValue(f"{argument} must fit into 64 bits, got {_shown(step)}")
    return number


def _integer(step: Any, argument: str) -> int:
    if isinstance(step, (str, bytes)):
        raise InvalidType(f"{argument} must be a number, got {_shown(step)}")
    try:
        return int(step)
    except (ValueError, OverflowError) as error:
        raise InvalidValue(f"{argument} must be one finite number, got {_shown(step)}") from error
    except Exception as error:  # arrays of many elements, tensors on a meta device, unrelated objects
        raise InvalidType(f"{argument} must be a number, got {_shown(step)}") from error


def wall_time(walltime: Any, default: float | None = None) -> float:
    """`walltime` in seconds since the epoch; now, when neither it nor a default is given."""
    if walltime is None:
        return time.time() if default is None else default
    try:
        seconds = float(walltime)
    except Exception as error:
        raise InvalidType(f"walltime must be seconds since the epoch, got {_shown(walltime)}") from error
    if not math.isfinite(seconds):
        raise InvalidValue(f"walltime must be finite seconds since the epoch, got {_shown(walltime)}")
    return seconds


def path_text(path: Any, argument: str) -> str:
    """`path` as text, whatever form of path it has."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise InvalidType(f"{argument} must be a path, got {_shown(path)}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:100]}{'…' if len(text) > 100 else ''} ({type(value).__name__})"


_log = logging.getLogger("aboard.writer")
_CLEANED_CHARACTERS = re.compile(r"[^-/\w.]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def checked_tag(tag: object, *, clean: bool = False) -> str:
    """Return `tag` as it is written: unchanged, or in tensorboardX's spelling with `clean`.

    tensorboardX replaces every character outside letters, digits and `-/_.` by `_` and drops leading slashes.
    """
    if not isinstance(tag, str):
        raise InvalidType(f"tag must be a string, got {tag!r} of type {type(tag).__name__}")
    name = _cleaned(tag) if clean else tag
    if not name:
        raise InvalidValue(f"The tag {tag!r} is empty.", hint="name the metric, for example 'train/loss'")
    if not clean and not name.isascii() and _LONE_SURROGATE.search(name):
        raise InvalidValue(
            f"The tag {tag!r:.200} contains a lone surrogate, which UTF-8 cannot encode.",
            hint="decode the name with the right encoding, or replace the character",
        )
    return name


@lru_cache(maxsize=8192)
def _cleaned(tag: str) -> str:
    cleaned = _CLEANED_CHARACTERS.sub("_", tag).lstrip("/")
    if cleaned != tag:
        _log.info("clean_tags is set: the tag %r is written as %r", tag[:200], cleaned[:200])
    return cleaned


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
