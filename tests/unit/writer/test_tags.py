# SPDX-License-Identifier: Apache-2.0
"""Tags: kept verbatim or spelled as tensorboardX does, in every kind of call, and which are refused."""

import logging
import pickle

import numpy as np
import pytest
import tensorboardX

import aboard.compat.tensorboardX
from aboard import SummaryWriter
from aboard.errors import InvalidType, InvalidValue
from aboard.writer import arguments
from support.cases import all_cases
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
NOT_COMPARABLE = {
    "add_video": "tensorboardX writes none without moviepy",
    "add_mesh": "tags of meshes differ on purpose",
    "add_tensor": "tensorboardX has no such call",
}
ENDINGS = {"add_text": "/text_summary", "add_mesh": "_VERTEX"}


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


@pytest.mark.parametrize("name", CALLS)
def test_every_call_keeps_the_tag(name, writer, tmp_path):
    CALLS[name](writer, "/my tag: ü?")
    writer.flush()
    assert [p.tag for p in points(tmp_path)] == ["/my tag: ü?" + ENDINGS.get(name, "")]


@pytest.mark.parametrize("name", [name for name in CALLS if name not in NOT_COMPARABLE])
def test_cleaned_tags_are_those_of_tensorboardx(name, tmp_path):
    for folder, module in (("ours", aboard.compat.tensorboardX), ("theirs", tensorboardX)):
        with module.SummaryWriter(str(tmp_path / folder)) as writer:
            CALLS[name](writer, "/my tag: ü?")
    assert [p.tag for p in points(tmp_path / "ours")] == [p.tag for p in points(tmp_path / "theirs")]


def test_videos_have_cleaned_tags_too(tmp_path):
    with SummaryWriter(tmp_path, clean_tags=True) as writer:
        CALLS["add_video"](writer, "/my tag")
    assert [p.tag for p in points(tmp_path)] == ["my_tag"]


@all_cases("name", CALLS)
@all_cases("tag", [None, 5, b"bytes", ["list"]])
def test_every_call_needs_a_text(name, writer, tmp_path, tag):
    with pytest.raises(InvalidType, match="tag must be a string, got"):
        CALLS[name](writer, tag)
    writer.flush()
    assert points(tmp_path) == []


@all_cases("name", CALLS)
@all_cases(("tag", "message"), [("", "The tag '' is empty"), ("a\ud800", "contains a lone surrogate")])
def test_tags_that_cannot_be_written_are_refused(name, writer, tag, message):
    with pytest.raises(InvalidValue, match=message):
        CALLS[name](writer, tag)


def test_nothing_may_be_left_of_a_cleaned_tag(tmp_path):
    with SummaryWriter(tmp_path, clean_tags=True) as writer, pytest.raises(InvalidValue, match="The tag '//' is empty"):
        writer.add_scalar("//", 1)


@pytest.mark.parametrize(
    "tag",
    [
        "loss",
        "Gen/L1",
        "a-b_c.d/e",
        "größe",
        "損失",
        "x" * 10_000,
        "a//b",
        "0",
        "Train loss (ema) %",
        "/lead",
        "/",
        "😀",
        "a\n\t\0",
    ],
)
def test_any_text_is_kept(writer, tmp_path, tag):
    writer.add_scalar(tag, 1)
    writer.flush()
    assert scalars(tmp_path) == [(tag, 0, 1.0)]


@pytest.mark.parametrize(("tag", "cleaned"), [("a b", "a_b"), ("😀", "_"), ("a\n\t\0", "a___"), ("a\ud800", "a_")])
def test_cleaning_is_logged_once(tmp_path, caplog, tag, cleaned):
    arguments._cleaned.cache_clear()
    with caplog.at_level(logging.INFO, "aboard.writer"), SummaryWriter(tmp_path, clean_tags=True) as writer:
        for _ in range(3):
            writer.add_scalar(tag, 1)
    assert {found for found, _, _ in scalars(tmp_path)} == {cleaned}
    (record,) = caplog.records
    assert f"is written as {cleaned!r}" in record.getMessage()


def test_a_copy_in_another_process_spells_tags_alike(tmp_path):
    with SummaryWriter(tmp_path, clean_tags=True) as writer, pickle.loads(pickle.dumps(writer)) as copy:
        copy.add_scalar("a b", 1)
    assert scalars(tmp_path) == [("a_b", 0, 1.0)]
