# SPDX-License-Identifier: Apache-2.0
"""Images decode to the same pixels and sizes as those of tensorboardX."""

import io

import numpy as np
import pytest
import tensorboardX.summary as peer
from PIL import Image
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary

from aboard.errors import InvalidValue
from aboard.events.image import encode_png, image_summary, resized, to_hwc, with_boxes
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
