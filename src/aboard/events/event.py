# SPDX-License-Identifier: Apache-2.0
"""Names of event files, and their outer messages: `Event`, `Summary` and `SummaryMetadata`."""

from __future__ import annotations

import os
import re

from aboard import _native
from aboard._native import Message


def utf8(text: str) -> bytes:
    """UTF-8 in which lone surrogates became "?": protobuf readers reject a message that holds one."""
    return text.encode("utf-8", "replace")


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


FILE_VERSION, GRAPH_DEF, SUMMARY, SESSION_LOG, TAGGED_RUN_METADATA = 3, 4, 5, 7, 8
SESSION_START = b"\x08\x01"  # a SessionLog whose status is START


def event(field: int, content: bytes, *, wall_time: float, step: int = 0) -> bytes:
    """An event that holds `content` in one of the fields named above."""
    message = Message()
    message.double(1, wall_time)
    if step:
        message.varint(2, step)
    message.bytes(field, content)
    return bytes(message)


# What profilers of TensorFlow, JAX and torch leave, and the files of the projector.
_BOARD_FILE = re.compile(
    r"(^|/)plugins/.|\.(trace\.json(\.gz)?|memory_profile\.json\.gz|xplane\.pb)$"
    r"|(^|/)(projector_config\.pbtxt|tensors\.tsv|metadata\.tsv|sprite\.png)$"
)
# Files by which TensorBoard is led to others: it opens what a configuration of the projector or a checkpoint names.
_LEADS_ELSEWHERE = ("projector_config.pbtxt", "checkpoint")
_PROFILE = re.compile(r"(^|/)plugins/profile/.|\.(trace\.json(\.gz)?|memory_profile\.json\.gz|xplane\.pb)$")


def is_event_file(name: str) -> bool:
    """Whether TensorBoard would read the file: "tfevents" anywhere in its own name, folders left aside."""
    return _native.is_event_file(os.fsencode(name))


def segment_of(name: str) -> tuple[str, int] | None:
    """The event file that was shipped in segments of which this is one, and its number; None for other files."""
    found = _native.segment_of(os.fsencode(name))
    return found and (os.fsdecode(found[0]), found[1])


def is_board_file(path: str) -> bool:
    """Whether a file is no event file and yet belongs to a board: a profile, or a part of an embedding."""
    return _BOARD_FILE.search(path) is not None


def is_profile(path: str) -> bool:
    """Whether a file is what a profiler left, for the profile plugin of TensorBoard."""
    return _PROFILE.search(path) is not None and path.rpartition("/")[2] not in _LEADS_ELSEWHERE
