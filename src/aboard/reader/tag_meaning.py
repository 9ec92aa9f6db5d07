# SPDX-License-Identifier: Apache-2.0
"""What a tag is to TensorBoard: its plugin, and whether it holds numbers, arrays or blobs.

Old writers say less than new ones: what TensorBoard's compatibility layers would add is added here, by rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from aboard._native import decode_metadata


class Source(IntEnum):
    """Which part of an event the values come from; numbers of the native TagSource."""

    SUMMARY = 0
    GRAPH = 1
    META_GRAPH = 2
    RUN_METADATA = 3


class Kind(IntEnum):
    """What a Summary.Value carries; its field numbers."""

    NOTHING = 0
    SIMPLE_VALUE = 2
    IMAGE = 4
    HISTOGRAM = 5
    AUDIO = 6
    TENSOR = 8


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


_OLD_STYLE = {
    Kind.SIMPLE_VALUE: ("scalars", b"", DataClass.SCALAR),
    Kind.HISTOGRAM: ("histograms", b"", DataClass.TENSOR),
    Kind.IMAGE: ("images", b"\x10\x01", DataClass.BLOB_SEQUENCE),  # converted_to_tensor
    Kind.AUDIO: ("audio", b"\x10\x0b\x18\x01", DataClass.BLOB_SEQUENCE),  # WAV, converted_to_tensor
}
_CLASS_OF_PLUGIN = {
    "scalars": DataClass.SCALAR,
    "histograms": DataClass.TENSOR,
    "text": DataClass.TENSOR,
    "hparams": DataClass.TENSOR,
    "pr_curves": DataClass.TENSOR,
    "mesh": DataClass.TENSOR,
    "custom_scalars": DataClass.TENSOR,
    "images": DataClass.BLOB_SEQUENCE,
    "audio": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata_graph": DataClass.BLOB_SEQUENCE,
    "graph_keras_model": DataClass.BLOB_SEQUENCE,
}


def meaning_of(name: str, source: int, kind: int, metadata: bytes) -> TagMeaning:
    """What a tag means whose first value is of this kind and came with this metadata."""
    if source in (Source.GRAPH, Source.META_GRAPH):
        return TagMeaning("graphs", b"", "", "", DataClass.BLOB_SEQUENCE)
    if source == Source.RUN_METADATA:
        return TagMeaning("graph_tagged_run_metadata", b"", "", "", DataClass.BLOB_SEQUENCE)
    plugin, content, display_name, description, data_class = decode_metadata(metadata)
    if kind in _OLD_STYLE:
        plugin, content, data_class = _OLD_STYLE[Kind(kind)]
        return TagMeaning(plugin, content, display_name or name, description, data_class)
    known = DataClass(data_class) if 0 <= data_class <= DataClass.BLOB_SEQUENCE else DataClass.UNKNOWN
    if known == DataClass.UNKNOWN:
        known = _CLASS_OF_PLUGIN.get(plugin, DataClass.UNKNOWN)
    return TagMeaning(plugin, content, display_name, description, known)
