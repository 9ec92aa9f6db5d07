# SPDX-License-Identifier: Apache-2.0
"""Markdown texts for the text dashboard."""

from __future__ import annotations

from aboard.events.metadata import summary_metadata
from aboard.events.summary import summary, tagged_value
from aboard.events.tensor import string_tensor
from aboard.events.wire_text import utf8


def text(tag: str, content: str) -> bytes:
    """One text; the tag gets the ending that the peers give it, so that series continue across writers."""
    value = tagged_value(f"{tag}/text_summary")
    value.message(8, string_tensor([utf8(content)], [1]))
    value.message(9, summary_metadata(plugin="text"))
    return summary(value)
