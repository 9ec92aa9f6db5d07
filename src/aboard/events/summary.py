# SPDX-License-Identifier: Apache-2.0
"""The outer messages of every summary: `Summary` and its tagged values."""

from __future__ import annotations

from aboard._native import Message
from aboard.events.wire_text import utf8


def summary(*values: Message) -> bytes:
    """A serialized `Summary` that holds the given `Summary.Value` messages."""
    message = Message()
    for value in values:
        message.message(1, value)
    return bytes(message)


def tagged_value(tag: str) -> Message:
    """A `Summary.Value` that so far has only its tag."""
    value = Message()
    value.bytes(1, utf8(tag))
    return value
