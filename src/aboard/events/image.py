# SPDX-License-Identifier: Apache-2.0
"""Images: PNG encoding, the image summary, scaling, and boxes with labels."""

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
from aboard.events.summary import summary, tagged_value

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
