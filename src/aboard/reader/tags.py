# SPDX-License-Identifier: Apache-2.0
"""What a tag is to TensorBoard: its plugin, and whether it holds numbers, arrays or blobs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aboard._native import TagInfo


class Source(IntEnum):
    """Which part of an event the values come from; numbers of the native TagSource."""

    SUMMARY = 0
    GRAPH = 1
    META_GRAPH = 2
    RUN_METADATA = 3


class ValueKind(IntEnum):
    """What a Summary.Value carries; its field numbers."""

    NOTHING = 0
    SIMPLE_VALUE = 2
    IMAGE = 4
    HISTOGRAM = 5
    AUDIO = 6
    TENSOR = 8


KIND_NAMES = {
    ValueKind.SIMPLE_VALUE: "scalar",
    ValueKind.IMAGE: "image",
    ValueKind.HISTOGRAM: "histogram",
    ValueKind.AUDIO: "audio",
    ValueKind.TENSOR: "tensor",
}
"""What a tag holds whose values are of this kind. Text is a tensor too."""


class DataClass(IntEnum):
    """SummaryMetadata.DataClass."""

    UNKNOWN = 0
    SCALAR = 1
    TENSOR = 2
    BLOB_SEQUENCE = 3


@dataclass(frozen=True, slots=True)
class TagMeaning:
    """The metadata under which TensorBoard lists a tag."""

    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: DataClass


def meaning_of(tag: TagInfo) -> TagMeaning:
    """What a tag means by its first value."""
    plugin, content, display_name, description, data_class = tag.meaning()
    return TagMeaning(plugin, content, display_name, description, DataClass(data_class))
