# SPDX-License-Identifier: Apache-2.0
"""Arrays of any layout and dtype as 8-bit pixels, height x width x channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aboard.errors import InvalidValue

_LAYOUTS = {2: "HW", 3: "HWC", 4: "NHWC"}
_CHANNELS = (1, 3, 4)
_ALLOWED = "allowed are 'HW', 'CHW', 'NCHW' and any other order of these letters, with 1, 3 or 4 channels"


def to_hwc(array: NDArray[Any], dataformats: str) -> NDArray[np.uint8]:
    """One image to show: a gray one as three equal channels, a batch as a grid of 8 columns."""
    letters = _LAYOUTS.get(len(dataformats), "")
    if not letters:
        raise InvalidValue(f"dataformats is {dataformats!r} for shape {array.shape}; {_ALLOWED}")
    arranged = in_order(array, dataformats, letters, allowed=_ALLOWED)
    if letters == "HW":
        arranged = arranged[:, :, np.newaxis]
    check_channels(arranged.shape[-1], array, dataformats, allowed=_ALLOWED)
    pixels = to_uint8(arranged)
    image = _tiled(pixels, columns=8) if letters == "NHWC" else pixels
    return np.ascontiguousarray(_colored(image))


def grid(images: NDArray[Any], columns: int = 8, *, dataformats: str = "NCHW") -> NDArray[np.uint8]:
    """Images of one size side by side, row by row; what remains of the last row is black."""
    if columns < 1:
        raise InvalidValue(f"columns is {columns}; allowed are positive integers")
    arranged = in_order(images, dataformats, "NHWC", allowed=_ALLOWED)
    check_channels(arranged.shape[-1], images, dataformats, allowed=_ALLOWED)
    return np.ascontiguousarray(_colored(_tiled(to_uint8(arranged), columns)))


def in_order(array: NDArray[Any], dataformats: str, letters: str, *, allowed: str) -> NDArray[Any]:
    """The array with its axes in the order of `letters`, when `dataformats` names exactly these."""
    given = dataformats.upper()
    place = f"dataformats is {dataformats!r} for an array of shape {array.shape}"
    if sorted(given) != sorted(letters):
        raise InvalidValue(f"{place}: it has unknown, missing or repeated letters; {allowed}")
    if array.ndim != len(letters):
        raise InvalidValue(f"{place}: {len(letters)} letters but {array.ndim} dimensions; {allowed}")
    if array.size == 0:
        raise InvalidValue(f"{place}: the image is empty; every dimension must be at least 1, and {allowed}")
    return array.transpose([given.index(letter) for letter in letters])


def check_channels(channels: int, array: NDArray[Any], dataformats: str, *, allowed: str) -> None:
    """Refuse a number of channels that no PNG or GIF can hold."""
    if channels not in _CHANNELS:
        raise InvalidValue(
            f"dataformats {dataformats!r} makes {channels} channels of the shape {array.shape}; {allowed}"
        )


def to_uint8(array: NDArray[Any]) -> NDArray[np.uint8]:
    """uint8 as it is; other dtypes are taken as 0..1 and scaled, clipped, and NaN becomes 0."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind not in "biuf":
        raise InvalidValue(f"the image has dtype {array.dtype}; allowed are bool, integers and floats")
    # float32 also for float64 and float16 input: enough for 256 levels, and half the memory of a large batch.
    with np.errstate(over="ignore"):
        scaled = array.astype(np.float32)
        scaled *= 255
    np.nan_to_num(scaled, copy=False, nan=0.0)
    return scaled.clip(0, 255, out=scaled).astype(np.uint8)


def _tiled(images: NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    count, height, width, channels = images.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    canvas = np.zeros((rows * columns, height, width, channels), np.uint8)
    canvas[:count] = images
    cells = canvas.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return cells.reshape(rows * height, columns * width, channels)


def _colored(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels
