# SPDX-License-Identifier: Apache-2.0
"""Videos: batches tiled into frames of 8-bit pixels, and frames as an animated GIF."""

from __future__ import annotations

import io
import itertools
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from aboard.errors import InvalidValue
from aboard.events.image import check_channels, in_order, to_uint8

# Pillow and its formats are loaded with this module: an import in the encoding thread could meet a fork.
Image.preinit()
_ALLOWED = "allowed are the five letters of 'NTCHW' in any order, with 1, 3 or 4 channels"
_LOOP_FOREVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
_MAX_SIDE = 65535
_TRANSPARENT = 255  # index in the palette
_FASTEST_DELAY = 2  # in 1/100 s: browsers play shorter ones at a tenth of a second


def to_frames(array: NDArray[Any], dataformats: str = "NTCHW") -> NDArray[np.uint8]:
    """Frames T x H x W x C; a batch is tiled, filled up with black to a power of two."""
    videos = in_order(array, dataformats, "NTHWC", allowed=_ALLOWED)
    check_channels(videos.shape[-1], array, dataformats, allowed=_ALLOWED)
    count, length, height, width, channels = videos.shape
    tiles = 1 << (count - 1).bit_length()
    rows = 1 << (count.bit_length() - 1) // 2
    columns = tiles // rows
    _check_sides(rows * height, columns * width)  # already here: the writer encodes later
    canvas = np.zeros((tiles, length, height, width, channels), np.uint8)
    canvas[:count] = to_uint8(videos)
    cells = canvas.reshape(rows, columns, length, height, width, channels).transpose(2, 0, 3, 1, 4, 5)
    return cells.reshape(length, rows * height, columns * width, channels)


def encode_gif(frames: NDArray[np.uint8], fps: float) -> bytes:
    """An endless animated GIF with every frame, also one that is equal to the frame before it."""
    if not (math.isfinite(fps) and fps > 0):
        raise InvalidValue(f"fps is {fps}; allowed are positive numbers of frames per second")
    _, height, width, channels = frames.shape
    _check_sides(height, width)
    # The frames are joined here because Pillow leaves out a frame that is equal to the one before.
    parts = [b"GIF89a", struct.pack("<HHBBB", width, height, 0x70, 0, 0), _LOOP_FOREVER]
    for frame, delay in zip(frames, _delays(len(frames), fps), strict=True):
        parts.append(_control(delay, transparent=channels == 4))
        parts.append(_image_block(_paletted(frame)))
    parts.append(b"\x3b")
    return b"".join(parts)


def _check_sides(height: int, width: int) -> None:
    if max(height, width) > _MAX_SIDE:
        raise InvalidValue(f"the frames have {width} x {height} pixels; a GIF allows {_MAX_SIDE} on each side")


def _delays(count: int, fps: float) -> list[int]:
    # Differences of rounded times, so that rounding to 1/100 s does not add up over a long video.
    times = [round(100 * index / fps) for index in range(count + 1)]
    return [min(max(end - start, _FASTEST_DELAY), 65535) for start, end in itertools.pairwise(times)]


def _control(delay: int, *, transparent: bool) -> bytes:
    # A frame with holes must be cleared before the next one, or it would show through.
    flags = (2 << 2 | 1) if transparent else (1 << 2)
    return struct.pack("<BBBBHBB", 0x21, 0xF9, 4, flags, delay, _TRANSPARENT if transparent else 0, 0)


def _paletted(frame: NDArray[np.uint8]) -> Image.Image:
    channels = frame.shape[2]
    if channels == 1:
        return Image.fromarray(frame[:, :, 0])
    picture = Image.fromarray(np.ascontiguousarray(frame[:, :, :3]))
    if channels == 3:
        return _quantized(picture, 256)
    opaque = _quantized(picture, _TRANSPARENT)
    indexes = np.array(opaque)
    indexes[frame[:, :, 3] < 128] = _TRANSPARENT
    palette = opaque.getpalette() or []
    masked = Image.fromarray(indexes)
    masked.putpalette(palette + [0] * (768 - len(palette)))
    return masked


def _quantized(picture: Image.Image, colors: int) -> Image.Image:
    # Median cut is exact for few colors, but takes 200 ms for a 256 x 256 photo; the octree takes 1 ms,
    # and its error is 13 % larger.
    few = picture.getcolors(colors) is not None
    return picture.quantize(colors, Image.Quantize.MEDIANCUT if few else Image.Quantize.FASTOCTREE)


def _image_block(picture: Image.Image) -> bytes:
    """Descriptor, palette and pixels of the only image in a GIF file that Pillow writes."""
    file = io.BytesIO()
    picture.save(file, format="GIF", optimize=False, interlace=0)
    data = file.getvalue()
    palette_size = 3 << ((data[10] & 7) + 1)
    palette_end = 13 + palette_size
    start = palette_end
    while data[start] != 0x2C:
        start = _after_extension(data, start)
    left_top_size = data[start : start + 9]
    flags = bytes([0x80 | data[10] & 7])
    return left_top_size + flags + data[13:palette_end] + data[start + 10 : -1]


def _after_extension(data: bytes, start: int) -> int:
    position = start + 2
    while data[position]:
        position += data[position] + 1
    return position + 1
