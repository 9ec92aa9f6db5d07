# SPDX-License-Identifier: Apache-2.0
"""`SummaryMetadata`: which TensorBoard plugin shows a value, and the texts beside it."""

from __future__ import annotations

from aboard._native import Message
from aboard.events.wire_text import utf8

SCALAR, BLOB_SEQUENCE = 1, 3  # DataClass


def summary_metadata(
    *,
    plugin: str = "",
    content: bytes = b"",
    display_name: str = "",
    description: str = "",
    data_class: int = 0,
) -> Message:
    """Metadata that names the plugin and carries the plugin's own serialized message as `content`.

    TensorBoard's fast loader ignores metadata of the compact forms (`simple_value`, `audio`) without `data_class`.
    """
    metadata = Message()
    if plugin:
        plugin_data = Message()
        plugin_data.string(1, plugin)
        if content:
            plugin_data.bytes(2, content)
        metadata.message(1, plugin_data)
    if display_name:
        metadata.bytes(2, utf8(display_name))
    if description:
        metadata.bytes(3, utf8(description))
    if data_class:
        metadata.varint(4, data_class)
    return metadata
