# SPDX-License-Identifier: Apache-2.0
"""Every layout and dtype of an image becomes the pixels that tensorboardX shows."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboardX.utils import convert_to_HWC, make_grid

from aboard.errors import InvalidValue
from aboard.events.image import grid, to_hwc
from support.cases import all_cases

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
