# SPDX-License-Identifier: Apache-2.0
"""The outer messages."""

from tensorboard.compat.proto.summary_pb2 import Summary

from aboard.events.event import summary, tagged_value


def test_values_keep_their_order_and_tags():
    parsed = Summary.FromString(summary(tagged_value("a"), tagged_value("größe/b")))
    assert [value.tag for value in parsed.value] == ["a", "größe/b"]


def test_a_summary_without_values_is_empty():
    assert summary() == b""
