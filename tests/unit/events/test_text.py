# SPDX-License-Identifier: Apache-2.0
"""Texts equal those of tensorboardX."""

import pytest
import tensorboardX.summary as peer
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.util import tensor_util

from aboard.events.tensor import text


@pytest.mark.parametrize("content", ["", "plain", "| a | b |\n|---|---|\n| 1 | 2 |", "größe 日本 🚀", "a\0b"])
def test_equals_tensorboardx(content):
    (ours,) = Summary.FromString(text("note", content)).value
    (theirs,) = Summary.FromString(peer.text("note", content).SerializeToString()).value
    assert ours == theirs
    assert ours.tag == "note/text_summary"
    assert tensor_util.make_ndarray(ours.tensor).tolist() == [content.encode()]


def test_lone_surrogates_become_question_marks():
    (value,) = Summary.FromString(text("note", "a\udc80b")).value
    assert value.tensor.string_val == [b"a?b"]
