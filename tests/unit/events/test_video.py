# SPDX-License-Identifier: Apache-2.0
"""Videos: frames as tensorboardX tiles them, and GIF files that keep each frame and its duration."""

import io
from itertools import permutations

import numpy as np
import pytest
from PIL import Image, ImageSequence
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboardX.utils import _prepare_video, convert_to_NTCHW

from aboard.errors import InvalidValue
from aboard.events.image import image_summary
from aboard.events.video import encode_gif, to_frames
from support.cases import all_cases

RANDOM = np.random.default_rng(0)


@all_cases("count", [1, 2, 3, 4, 5, 8, 9, 16])
@all_cases("channels", [1, 3, 4])
def test_frames_equal_tensorboardx(count, channels):
    video = RANDOM.random((count, 2, channels, 3, 5), np.float32)
    expected = (_prepare_video(video) * 255.0).astype(np.uint8)
    np.testing.assert_array_equal(to_frames(video), expected)


@all_cases("layout", ["".join(p) for p in list(permutations("NTCHW"))[::7]] + ["nthwc"])
def test_layouts_equal_tensorboardx(layout):
    sizes = {"N": 3, "T": 2, "C": 3, "H": 4, "W": 5}
    video = RANDOM.random([sizes[letter.upper()] for letter in layout], np.float32)
    expected = (_prepare_video(convert_to_NTCHW(video, layout)) * 255.0).astype(np.uint8)
    np.testing.assert_array_equal(to_frames(video, layout), expected)


def test_uint8_is_kept_exactly():
    video = RANDOM.integers(0, 256, (1, 4, 3, 8, 8), np.uint8)
    np.testing.assert_array_equal(to_frames(video)[2], video[0, 2].transpose(1, 2, 0))


def read(gif, mode):
    image = Image.open(io.BytesIO(gif))
    assert image.info["loop"] == 0
    frames, durations = [], []
    for frame in ImageSequence.Iterator(image):
        durations.append(frame.info["duration"])
        frames.append(np.asarray(frame.convert(mode)))
    return frames, durations


def test_gray_is_exact():
    frames = RANDOM.integers(0, 256, (5, 20, 30, 1), np.uint8)
    result, durations = read(encode_gif(frames, 4), "L")
    np.testing.assert_array_equal(result, frames[..., 0])
    assert durations == [250] * 5


def test_few_colors_are_exact():
    colors = RANDOM.integers(0, 256, (40, 3), np.uint8)
    frames = colors[RANDOM.integers(0, 40, (4, 24, 32))]
    result, _ = read(encode_gif(frames, 4), "RGB")
    np.testing.assert_array_equal(result, frames)


def test_many_colors_are_near():
    y, x = np.mgrid[0:64, 0:64] * 4
    frames = np.stack([np.stack([x, y, (x + y) // 2 + t], 2) for t in range(3)]).clip(0, 255).astype(np.uint8)
    result, _ = read(encode_gif(frames, 4), "RGB")
    assert np.abs(np.stack(result).astype(int) - frames).mean() < 8


def test_transparent_pixels_do_not_show_the_frame_before():
    frames = np.zeros((2, 4, 6, 4), np.uint8)
    frames[0] = [200, 10, 10, 255]
    frames[1, :2] = [10, 10, 200, 255]
    result, _ = read(encode_gif(frames, 4), "RGBA")
    assert result[0][0, 0].tolist() == [200, 10, 10, 255]
    assert result[1][0, 0].tolist() == [10, 10, 200, 255]
    assert result[1][3, 0, 3] == 0


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (17, 40)])
def test_equal_frames_are_all_kept(channels, size):
    frames = np.full((6, *size, channels), 77, np.uint8)
    result, durations = read(encode_gif(frames, 10), "RGBA")
    assert len(result) == 6
    assert durations == [100] * 6


@pytest.mark.parametrize(("fps", "total"), [(1, 30_000), (30, 1000), (24, 1250), (0.5, 60_000), (50, 600)])
def test_rounding_of_durations_does_not_add_up(fps, total):
    _, durations = read(encode_gif(np.zeros((30, 2, 2, 3), np.uint8), fps), "RGB")
    assert sum(durations) == total
    assert max(durations) - min(durations) <= 10


def test_browsers_slow_down_faster_frames_so_they_are_not_written():
    _, durations = read(encode_gif(np.zeros((3, 2, 2, 3), np.uint8), 1000), "RGB")
    assert durations == [20] * 3


def test_summary():
    frames = to_frames(RANDOM.random((2, 3, 3, 4, 4)))
    height, width, channels = frames.shape[1:]
    (value,) = Summary.FromString(
        image_summary("v", encode_gif(frames, 4), height=height, width=width, channels=channels)
    ).value
    assert (value.image.height, value.image.width, value.image.colorspace) == (4, 8, 3)
    assert Image.open(io.BytesIO(value.image.encoded_image_string)).size == (8, 4)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf")])
def test_bad_fps(fps):
    with pytest.raises(InvalidValue, match=f"fps is {fps}; allowed are positive"):
        encode_gif(np.zeros((1, 2, 2, 3), np.uint8), fps)


def test_too_wide():
    with pytest.raises(InvalidValue, match="70000 x 1 pixels; a GIF allows 65535"):
        encode_gif(np.zeros((1, 1, 70000, 1), np.uint8), 4)
    with pytest.raises(InvalidValue, match="80000 x 1 pixels; a GIF allows 65535"):
        to_frames(np.zeros((2, 1, 1, 1, 40000), np.uint8))


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((2, 3, 4, 5), "NTCHW"),
        ((1, 2, 2, 4, 4), "NTCHW"),
        ((1, 0, 3, 4, 4), "NTCHW"),
        ((1, 1, 3, 4, 4), "NTCHX"),
        ((3, 3, 4, 4), "TCHW"),
    ],
)
def test_bad_layouts(shape, layout):
    with pytest.raises(InvalidValue) as caught:
        to_frames(np.zeros(shape), layout)
    message = str(caught.value)
    assert repr(layout) in message
    assert str(shape) in message
    assert "allowed are the five letters of 'NTCHW'" in message
