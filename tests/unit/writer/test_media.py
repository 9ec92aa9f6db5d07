# SPDX-License-Identifier: Apache-2.0
"""Calls for what one looks at and listens to, where they go beyond a peer."""

import logging

import numpy as np
import pytest

from aboard import SummaryWriter
from support.reading import point, points

PICTURES = np.random.default_rng(0).integers(0, 256, (10, 3, 4, 6), np.uint8)


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@pytest.mark.parametrize("layout", ["CHW", "NCHW", "HWC", "NHWC"])
@pytest.mark.parametrize("make", [list, tuple])
def test_a_list_of_pictures_is_a_batch(writer, tmp_path, layout, make):
    """tensorboardX needs torch for it."""
    batch = PICTURES if "CHW" in layout else PICTURES.transpose(0, 2, 3, 1)
    writer.add_images("list", make(batch), 1, dataformats=layout)
    writer.add_images("batch", batch, 1, dataformats=f"N{layout.removeprefix('N')}")
    writer.flush()
    from_batch, from_list = points(tmp_path)
    assert from_list.value["declared"] == (8 * 6, 2 * 4)
    np.testing.assert_array_equal(from_list.value["frames"], from_batch.value["frames"])


def test_video_needs_no_other_package(writer, tmp_path):
    """tensorboardX without moviepy logs one line and writes a value without a picture."""
    writer.add_video("clip", PICTURES[np.newaxis], 1, fps=10)
    writer.flush()
    value = point(tmp_path).value
    assert (value["format"], value["frames"].shape) == ("GIF", (10, 4, 6, 4))


def test_video_layouts(writer, tmp_path):
    writer.add_video("clip", PICTURES[np.newaxis].transpose(0, 1, 3, 4, 2), 1, dataformats="NTHWC")
    writer.flush()
    assert point(tmp_path).value["frames"].shape == (10, 4, 6, 4)


@pytest.mark.parametrize(
    ("shape", "frames"), [((9,), (9, 1)), ((1, 9), (9, 1)), ((9, 1), (9, 1)), ((9, 2), (9, 2)), ((2, 9), (9, 2))]
)
def test_forms_of_sound(writer, tmp_path, shape, frames):
    """Those of tensorboardX (length first) and of torch (one row)."""
    writer.add_audio("sound", np.zeros(shape), 1)
    writer.flush()
    value = point(tmp_path).value
    assert (value["rate"], value["samples"].shape) == (44100, frames)


def test_two_seconds_of_mono(writer, tmp_path):
    """The seed's example: 88200 samples in [-1, 1]."""
    samples = np.sin(np.linspace(0, 1000, 88200))
    writer.add_audio("sound", samples, 1)
    writer.flush()
    np.testing.assert_allclose(point(tmp_path).value["samples"][:, 0], samples, atol=1 / 32768)


def test_loud_sound_is_clipped_and_mentioned(writer, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "aboard.writer"):
        writer.add_audio("sound", [0.0, 3.0, -3.0], 1)
    writer.flush()
    assert point(tmp_path).value["samples"][:, 0].tolist() == [0, 32767 / 32768, -1]
    assert "'sound' leaves [-1, 1]" in caplog.text


def test_figures_are_closed_unless_told_not_to(writer):
    from matplotlib import pyplot as plt

    first, second = plt.figure(), plt.figure()
    writer.add_figure("a", first)
    writer.add_figure("b", second, close=False)
    assert plt.get_fignums() == [second.number]
    plt.close(second)


def test_pictures_are_copied(writer, tmp_path):
    """They are encoded later, and training loops reuse buffers."""
    buffer = np.zeros((8, 8, 3), np.uint8)
    for step in range(10):
        buffer[:] = step
        writer.add_image("picture", buffer, step, dataformats="HWC")
    buffer[:] = 255
    writer.flush()
    assert [p.value["frames"][0, 0, 0, 0] for p in points(tmp_path)] == list(range(10))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((1, None, 2, "CHW", ["a"]), {}), ((1,), {"rescale": 2, "dataformats": "CHW", "labels": ["a"]})],
    ids=["by position", "by name"],
)
def test_boxes_scaled_in_torchs_order(writer, tmp_path, arguments, named):
    writer.add_image_with_boxes("t", np.zeros((3, 20, 30)), np.array([[1, 1, 9, 9]]), *arguments, **named)
    writer.flush()
    value = point(tmp_path).value
    assert value["declared"] == (60, 40)
    assert value["frames"].shape == (1, 40, 60, 4)


def test_boxes_in_tensorboardxs_order(writer, tmp_path):
    writer.add_image_with_boxes("t", np.zeros((20, 30, 3)), np.array([[1, 1, 9, 9]]), 1, None, "HWC", ["a"])
    writer.flush()
    assert point(tmp_path).value["declared"] == (30, 20)


def test_labels_that_do_not_fit_are_mentioned(writer, caplog):
    with caplog.at_level(logging.WARNING, "aboard.writer"):
        writer.add_image_with_boxes("t", np.zeros((3, 9, 9)), np.array([[1, 1, 5, 5]]), labels=["a", "b"])
    assert "2 labels for 1 boxes of 't'" in caplog.text
