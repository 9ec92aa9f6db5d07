# SPDX-License-Identifier: Apache-2.0
"""Frames of aboard's page in notebooks: what their addresses ask for, and wrong arguments."""

import re

import pytest

from aboard.client.notebook_views import RunsFrame, tag_pattern
from aboard.errors import AboardError


@pytest.mark.parametrize(
    ("metrics", "shown", "hidden"),
    [
        (["loss"], ["loss"], ["val/loss", "loss2"]),
        (["loss", "val/*"], ["loss", "val/acc", "val/a/b"], ["train/acc", "eval/acc"]),
        (["train/loss"], ["train/loss", "loss"], ["val/loss"]),
        (["acc (top 1)", "a.b[0]"], ["acc (top 1)", "a.b[0]"], ["acc top 1", "axb0"]),
    ],
)
def test_metrics_choose_tags_as_they_are_spelled(metrics, shown, hidden):
    pattern = re.compile(tag_pattern(metrics))
    assert [tag for tag in [*shown, *hidden] if pattern.search(tag)] == shown


@pytest.mark.parametrize("height", [0, -5, "600px", 1.5, True])
def test_a_height_is_a_number_of_pixels(height):
    with pytest.raises(AboardError, match=re.escape(f"The height of a frame is {height!r}.")):
        RunsFrame(["."], height=height)
