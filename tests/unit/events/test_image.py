# SPDX-License-Identifier: Apache-2.0
"""Images: pixels, encoding, boxes."""

import io
from itertools import permutations

import numpy as np
import pytest
import tensorboardX.summary as peer
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboardX.utils import convert_to_HWC, make_grid

from aboard.errors import InvalidValue
from aboard.events.image import encode_png, grid, image_summary, resized, to_hwc, with_boxes
from support.cases import all_cases

RANDOM = np.random.default_rng(0)


def decoded(image):
    return np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))


def written(pixels):
    height, width, channels = pixels.shape
    data = image_summary("a/b", encode_png(pixels), height=height, width=width, channels=channels)
    (value,) = Summary.FromString(data).value
    return value


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((3, 5, 7), "CHW"),
        ((1, 5, 7), "CHW"),
        ((4, 5, 7), "CHW"),
        ((5, 7), "HW"),
        ((1, 1), "WH"),
        ((11, 3, 2, 3), "NCHW"),
    ],
)
def test_equals_tensorboardx(shape, layout):
    array = RANDOM.random(shape, np.float32)
    value = written(to_hwc(array, layout))
    theirs = Summary.FromString(peer.image("a/b", array, dataformats=layout).SerializeToString()).value[0]
    assert value.tag == theirs.tag
    sizes = [(v.image.height, v.image.width, v.image.colorspace) for v in (value, theirs)]
    assert sizes[0] == sizes[1]
    np.testing.assert_array_equal(decoded(value.image), decoded(theirs.image))
    assert data_compat.migrate_value(value).metadata.plugin_data.plugin_name == "images"


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png_is_lossless(channels):
    pixels = RANDOM.integers(0, 256, (6, 9, channels), np.uint8)
    result = np.asarray(Image.open(io.BytesIO(encode_png(pixels)))).reshape(pixels.shape)
    np.testing.assert_array_equal(result, pixels)


@all_cases("rescale", [0.5, 1, 1.7, 3])
@all_cases("channels", [1, 3, 4])
def test_resized(rescale, channels):
    pixels = RANDOM.integers(0, 256, (10, 20, channels), np.uint8)
    result = resized(pixels, rescale)
    assert result.shape == (int(10 * rescale), int(20 * rescale), channels)
    if channels != 1:
        expected = decoded(peer.make_image(pixels, rescale=rescale))
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("rescale", [0, -1, 0.01, float("nan"), float("inf")])
def test_bad_rescale(rescale):
    with pytest.raises(InvalidValue, match=rf"rescale is {rescale}.*20 x 10.*allowed are positive"):
        resized(np.zeros((10, 20, 3), np.uint8), rescale)


BOXES = np.array([[5, 5, 30, 25], [10.5, 2, 38, 39], [-4, -4, 60, 60], [20, 20, 8, 8]])


@pytest.mark.parametrize("labels", [None, ["cat", "", "a long label", "ä"]])
@pytest.mark.parametrize("channels", [3, 4])
def test_boxes_equal_tensorboardx(labels, channels):
    pixels = RANDOM.integers(0, 256, (40, 50, channels), np.uint8)
    before = pixels.copy()
    result = with_boxes(pixels, BOXES, labels)
    expected = decoded(peer.make_image(pixels, rois=BOXES, labels=labels))
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(pixels, before)
    assert not np.array_equal(result, before)


def test_no_boxes_change_nothing():
    pixels = np.full((4, 4, 3), 9, np.uint8)
    np.testing.assert_array_equal(with_boxes(pixels, np.zeros((0, 4)), None), pixels)


@pytest.mark.parametrize("boxes", [np.zeros((2, 5)), np.zeros(4), np.zeros((1, 2, 4)), np.array([["a"] * 4])])
def test_bad_boxes(boxes):
    with pytest.raises(InvalidValue) as caught:
        with_boxes(np.zeros((4, 4, 3), np.uint8), boxes, None)
    assert str(boxes.shape) in str(caught.value)
    assert "allowed is N x 4" in str(caught.value)


def test_boxes_must_be_finite():
    with pytest.raises(InvalidValue, match="boxes contains nan; allowed is N x 4"):
        with_boxes(np.zeros((4, 4, 3), np.uint8), np.array([[0, 0, np.nan, 1]]), None)


def test_labels_must_match_the_boxes():
    with pytest.raises(InvalidValue, match="labels has 1 entries for 4 boxes; allowed is one for each box"):
        with_boxes(np.zeros((4, 4, 3), np.uint8), BOXES, ["a"])


LAYOUTS = ["".join(p) for letters in ("HW", "CHW", "NCHW") for p in permutations(letters)]


@given(
    layout=st.sampled_from(LAYOUTS),
    sizes=st.fixed_dictionaries(
        {
            "N": st.integers(1, 19),
            "C": st.sampled_from([1, 3, 4]),
            "H": st.integers(1, 6),
            "W": st.integers(1, 6),
        }
    ),
    dtype=st.sampled_from(["uint8", "float32"]),
    lower=st.booleans(),
)
def test_every_layout_equals_tensorboardx(layout, sizes, dtype, lower):
    shape = [sizes[letter] for letter in layout]
    random = np.random.default_rng(1)
    array = random.integers(0, 256, shape, np.uint8) if dtype == "uint8" else random.random(shape, np.float32)
    expected = convert_to_HWC(array, layout)
    if dtype == "float32":
        expected = (expected * 255.0).astype(np.uint8)
    result = to_hwc(array, layout.lower() if lower else layout)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == np.uint8
    assert result.flags.c_contiguous


def test_dtypes():
    def row(values, dtype):
        return to_hwc(np.array([values]).astype(dtype), "HW")[0, :, 0].tolist()

    assert row([0, 7, 255], np.uint8) == [0, 7, 255]
    assert row([False, True], bool) == [0, 255]
    assert row([0, 1, 2, -1], np.int64) == [0, 255, 255, 0]
    assert row([1e300, -1e300], np.float64) == [255, 0]
    for dtype in (np.float16, np.float32, np.float64):
        assert row([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan, np.inf, -np.inf], dtype) == [
            0,
            0,
            127,
            255,
            255,
            0,
            255,
            0,
        ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bytes_divided_by_255_come_back(dtype):
    levels = np.arange(256)
    assert to_hwc((levels[np.newaxis] / 255).astype(dtype), "HW")[0, :, 0].tolist() == levels.tolist()


def test_the_input_is_left_alone():
    image = np.full((2, 2), 0.5, np.float32)
    to_hwc(image, "HW")
    assert (image == 0.5).all()


@all_cases("count", [1, 3, 8, 9, 17])
@all_cases("columns", [1, 4, 8])
@all_cases("channels", [1, 3, 4])
def test_grid_equals_tensorboardx(count, columns, channels):
    images = np.random.default_rng(0).integers(0, 256, (count, channels, 2, 3), np.uint8)
    expected = make_grid(images, ncols=columns).transpose(1, 2, 0)
    np.testing.assert_array_equal(grid(images, columns), expected)
    np.testing.assert_array_equal(grid(images.transpose(0, 2, 3, 1), columns, dataformats="NHWC"), expected)


@all_cases(
    ("shape", "dataformats"),
    [
        ((3, 4, 5), "HW"),
        ((4, 5), "CHW"),
        ((3, 4, 5), "CHH"),
        ((3, 4, 5), "CHX"),
        ((3, 4, 5), "NHW"),
        ((3, 4, 5), ""),
        ((3, 4, 5), "C"),
        ((2, 3, 4, 5), "TCHW"),
        ((2, 2, 3, 4, 5), "NTCHW"),
        ((2, 4, 5), "CHW"),
        ((5, 4, 5), "CHW"),
        ((2, 2, 4, 5), "NCHW"),
        ((3, 0, 5), "CHW"),
        ((0, 5), "HW"),
        ((0, 3, 4, 5), "NCHW"),
    ],
)
def test_bad_layouts_name_format_shape_and_what_is_allowed(shape, dataformats):
    with pytest.raises(InvalidValue) as caught:
        to_hwc(np.zeros(shape), dataformats)
    message = str(caught.value)
    assert repr(dataformats) in message
    assert str(shape) in message
    assert "allowed are 'HW', 'CHW', 'NCHW'" in message


def test_bad_dtype():
    with pytest.raises(InvalidValue, match="dtype complex128; allowed are bool, integers and floats"):
        to_hwc(np.zeros((2, 2), complex), "HW")


def test_bad_columns():
    with pytest.raises(InvalidValue, match="columns is 0; allowed are positive"):
        grid(np.zeros((1, 3, 2, 2)), 0)
