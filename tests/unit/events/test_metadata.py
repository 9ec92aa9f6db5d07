# SPDX-License-Identifier: Apache-2.0
"""Summary metadata parses as TensorBoard's own message."""

from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

from aboard.events.event import summary_metadata
from support.cases import all_cases


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
