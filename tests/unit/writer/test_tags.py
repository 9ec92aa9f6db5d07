# SPDX-License-Identifier: Apache-2.0
"""Tags: what is replaced, in every kind of call, and what is refused."""

import logging

import numpy as np
import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidType, InvalidValue
from support.reading import points, scalars

PICTURE = np.zeros((3, 4, 4))
CALLS = {
    "add_scalar": lambda w, tag: w.add_scalar(tag, 1),
    "add_scalar titled": lambda w, tag: w.add_scalar(tag, 1, display_name="x"),
    "add_histogram": lambda w, tag: w.add_histogram(tag, [1, 2]),
    "add_histogram_raw": lambda w, tag: w.add_histogram_raw(tag, 0, 1, 1, 1, 1, [1], [1]),
    "add_image": lambda w, tag: w.add_image(tag, PICTURE),
    "add_images": lambda w, tag: w.add_images(tag, PICTURE[None]),
    "add_image_with_boxes": lambda w, tag: w.add_image_with_boxes(tag, PICTURE, [[0, 0, 2, 2]]),
    "add_video": lambda w, tag: w.add_video(tag, PICTURE[None, None]),
    "add_audio": lambda w, tag: w.add_audio(tag, [0.0]),
    "add_text": lambda w, tag: w.add_text(tag, "x"),
    "add_pr_curve": lambda w, tag: w.add_pr_curve(tag, [0, 1], [0.1, 0.9]),
    "add_pr_curve_raw": lambda w, tag: w.add_pr_curve_raw(tag, [1], [1], [1], [1], [1], [1]),
    "add_mesh": lambda w, tag: w.add_mesh(tag, np.zeros((1, 2, 3))),
    "add_tensor": lambda w, tag: w.add_tensor(tag, PICTURE),
}
ENDINGS = {"add_text": "/text_summary", "add_mesh": "_VERTEX"}


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@pytest.mark.parametrize("name", CALLS)
def test_every_call_cleans(name, writer, tmp_path):
    CALLS[name](writer, "/my tag: ü?")
    writer.flush()
    assert [p.tag for p in points(tmp_path)] == ["my_tag__ü_" + ENDINGS.get(name, "")]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tag", [None, 5, b"bytes", ["list"]])
def test_every_call_needs_a_text(name, writer, tmp_path, tag):
    with pytest.raises(InvalidType, match="tag must be a string, got"):
        CALLS[name](writer, tag)
    writer.flush()
    assert points(tmp_path) == []


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tag", ["", "/", "///"])
def test_something_must_be_left(name, writer, tag):
    with pytest.raises(InvalidValue, match="tag must name the series, got"):
        CALLS[name](writer, tag)


@pytest.mark.parametrize("tag", ["loss", "Gen/L1", "a-b_c.d/e", "größe", "損失", "x" * 10_000, "a//b", "0"])
def test_tags_that_stay(writer, tmp_path, tag):
    writer.add_scalar(tag, 1)
    writer.flush()
    assert scalars(tmp_path) == [(tag, 0, 1.0)]


@pytest.mark.parametrize(("tag", "cleaned"), [("a b", "a_b"), ("😀", "_"), ("a\n\t\0", "a___"), ("a\ud800", "a_")])
def test_tags_that_change_are_mentioned(writer, tmp_path, caplog, tag, cleaned):
    from aboard.writer.tags import _cleaned

    _cleaned.cache_clear()
    with caplog.at_level(logging.INFO, "aboard.writer"):
        for _ in range(3):
            writer.add_scalar(tag, 1)
    writer.flush()
    assert {found for found, _, _ in scalars(tmp_path)} == {cleaned}
    (record,) = caplog.records
    assert f"using {cleaned!r}" in record.getMessage()
