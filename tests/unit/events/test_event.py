# SPDX-License-Identifier: Apache-2.0
"""Summaries and their metadata parse as TensorBoard's own messages."""

from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata

from aboard.events.event import summary, summary_metadata, tagged_value
from support.cases import all_cases


def test_values_keep_their_order_and_tags():
    parsed = Summary.FromString(summary(tagged_value("a"), tagged_value("größe/b")))
    assert [value.tag for value in parsed.value] == ["a", "größe/b"]


def test_a_summary_without_values_is_empty():
    assert summary() == b""


@all_cases("plugin", ["", "text"])
@all_cases("content", [b"", b"\x10\x7f"])
@all_cases("texts", [("", ""), ("name", "what it is"), ("größe", "")])
def test_equals_tensorboards_message(plugin, content, texts):
    expected = SummaryMetadata(display_name=texts[0], summary_description=texts[1])
    if plugin:
        expected.plugin_data.plugin_name = plugin
        expected.plugin_data.content = content
    ours = summary_metadata(plugin=plugin, content=content, display_name=texts[0], description=texts[1])
    assert SummaryMetadata.FromString(bytes(ours)) == expected


def test_empty_metadata_is_an_empty_message():
    assert bytes(summary_metadata()) == b""
