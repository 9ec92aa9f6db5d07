# SPDX-License-Identifier: Apache-2.0
"""Images: arrays of any layout as pixels, PNG encoding, the image summary, scaling, and boxes with labels."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from aboard._native import Message
from aboard.errors import InvalidValue
from aboard.events.event import summary, tagged_value

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


# Pillow and its formats are loaded with this module: an import in the encoding thread could meet a fork.
Image.preinit()


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """The pixels of an H x W x C array as a PNG file."""
    file = io.BytesIO()
    # 512 x 512 x 3 against Pillow's default: photo 27 instead of 81 ms and noise 28 instead of 49 ms at equal
    # size, a plot 11 instead of 20 ms at 16 % more bytes.
    _picture(pixels).save(file, format="PNG", compress_type=zlib.Z_RLE)
    return file.getvalue()


def image_summary(tag: str, encoded: bytes, *, height: int, width: int, channels: int) -> bytes:
    """An encoded PNG, GIF or JPEG file as one value."""
    image = Message()
    for field, number in enumerate((height, width, channels), start=1):
        image.varint(field, number)
    image.bytes(4, encoded)
    value = tagged_value(tag)
    value.message(4, image)
    return summary(value)


def resized(pixels: NDArray[np.uint8], rescale: float) -> NDArray[np.uint8]:
    """The image scaled by a factor in both directions."""
    height, width, channels = pixels.shape
    size = (int(width * rescale), int(height * rescale)) if math.isfinite(rescale) else (0, 0)
    if min(size) < 1:
        raise InvalidValue(
            f"rescale is {rescale}, which leaves nothing of an image of {width} x {height} pixels; "
            "allowed are positive factors that keep at least one pixel"
        )
    if rescale == 1:
        return pixels
    scaled = np.asarray(_picture(pixels).resize(size, Image.Resampling.LANCZOS))
    return scaled.reshape(size[1], size[0], channels)


def with_boxes(pixels: NDArray[np.uint8], boxes: NDArray[Any], labels: Sequence[str] | None) -> NDArray[np.uint8]:
    """A copy of the image with a red frame for each (left, top, right, bottom), and its label."""
    corners = _corners(boxes)
    if labels is not None and len(labels) != len(corners):
        raise InvalidValue(
            f"labels has {len(labels)} entries for {len(corners)} boxes; allowed is one for each box, or None"
        )
    picture = _picture(pixels)
    draw = ImageDraw.Draw(picture)
    for index, (left, top, right, bottom) in enumerate(corners):
        path = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(path, fill="red", width=2)
        if labels is not None and labels[index]:
            _write_label(draw, str(labels[index]), left, bottom)
    return np.asarray(picture).reshape(pixels.shape)


def _corners(boxes: NDArray[Any]) -> list[list[float]]:
    allowed = "allowed is N x 4: left, top, right, bottom in pixels, as finite numbers"
    if boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.dtype.kind not in "biuf":
        raise InvalidValue(f"boxes has shape {boxes.shape} and dtype {boxes.dtype}; {allowed}")
    corners = boxes.astype(np.float64)
    if not np.isfinite(corners).all():
        raise InvalidValue(f"boxes contains {corners[~np.isfinite(corners)][0]}; {allowed}")
    return corners.tolist()


def _write_label(draw: ImageDraw.ImageDraw, label: str, left: float, bottom: float) -> None:
    font = ImageFont.load_default()
    box = font.getbbox(label)
    width, height = box[2] - box[0], box[3] - box[1]
    margin = math.ceil(0.05 * height)
    draw.rectangle((left, bottom - height - 2 * margin, left + width, bottom), fill="red")
    draw.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def _picture(pixels: NDArray[np.uint8]) -> Image.Image:
    # Pillow knows gray images only without an axis for the channel.
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
