# SPDX-License-Identifier: Apache-2.0
"""The metadata of tags, as TensorBoard's compatibility layers make it."""

from __future__ import annotations

from typing import Any

import pytest
from tensorboard import data_compat, dataclass_compat
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.audio import metadata as audio_metadata
from tensorboard.plugins.image import metadata as image_metadata

from aboard._native import TagInfo
from aboard.reader.tags import DataClass, Source, TagMeaning, ValueKind, meaning_of
from support.cases import all_cases

Value = summary_pb2.Summary.Value
PLUGINS = [
    "scalars", "histograms", "images", "audio", "text", "hparams", "pr_curves", "mesh", "custom_scalars",
    "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model", "of my own", "",
]  # fmt: skip
FIELDS = {
    ValueKind.SIMPLE_VALUE: "simple_value",
    ValueKind.IMAGE: "image",
    ValueKind.HISTOGRAM: "histo",
    ValueKind.AUDIO: "audio",
    ValueKind.TENSOR: "tensor",
    ValueKind.NOTHING: None,
}


def migrate_event(event: event_pb2.Event) -> tuple[Any, ...]:
    return dataclass_compat.migrate_event(event, {})


def tensorboards(value: Value) -> summary_pb2.SummaryMetadata:
    event = event_pb2.Event()
    event.summary.value.add().CopyFrom(data_compat.migrate_value(value))
    (migrated,) = migrate_event(event)
    return migrated.summary.value[0].metadata


def ours(value: Value) -> TagMeaning:
    field = value.WhichOneof("value")
    kind = next(kind for kind, name in FIELDS.items() if name == field)
    return meaning_of(TagInfo(value.tag, Source.SUMMARY, kind, value.metadata.SerializeToString()))


@all_cases("data_class", [0, 1, 2, 3])
@all_cases("named", [False, True])
@all_cases("plugin", PLUGINS)
@all_cases("kind", FIELDS)
def test_metadata_of_summaries(kind: ValueKind, plugin: str, named: bool, data_class: int) -> None:
    value = Value(tag="group/tag")
    value.metadata.plugin_data.plugin_name = plugin
    value.metadata.plugin_data.content = b"content"
    value.metadata.data_class = data_class
    if named:
        value.metadata.display_name = "displayed"
        value.metadata.summary_description = "described"
    field = FIELDS[kind]
    if field == "simple_value":
        value.simple_value = 1
    elif field is not None:
        getattr(value, field).SetInParent()
    expected = tensorboards(value)
    meaning = ours(value)
    assert meaning.plugin == expected.plugin_data.plugin_name
    assert meaning.data_class == expected.data_class
    assert meaning.display_name == expected.display_name
    assert meaning.description == expected.summary_description
    if kind in (ValueKind.TENSOR, ValueKind.NOTHING):
        assert meaning.content == expected.plugin_data.content


def test_content_of_old_images_and_sounds_says_that_they_were_converted() -> None:
    image = Value(tag="i")
    image.image.SetInParent()
    parsed = image_metadata.parse_plugin_metadata(ours(image).content)
    assert parsed == image_metadata.parse_plugin_metadata(tensorboards(image).plugin_data.content)
    assert parsed.converted_to_tensor
    sound = Value(tag="a")
    sound.audio.SetInParent()
    parsed = audio_metadata.parse_plugin_metadata(ours(sound).content)
    assert parsed == audio_metadata.parse_plugin_metadata(tensorboards(sound).plugin_data.content)
    assert parsed.encoding == audio_metadata.Encoding.Value("WAV")


def test_graphs_and_run_metadata() -> None:
    event = event_pb2.Event(graph_def=b"graph")
    new = migrate_event(event)[1].summary.value[0]
    meaning = meaning_of(TagInfo(new.tag, Source.GRAPH, 0, b""))
    assert (meaning.plugin, meaning.data_class) == (new.metadata.plugin_data.plugin_name, new.metadata.data_class)
    event = event_pb2.Event(tagged_run_metadata={"tag": "step7", "run_metadata": b"times"})
    new = dataclass_compat.migrate_event(event, {})[0].summary.value[0]
    meaning = meaning_of(TagInfo(new.tag, Source.RUN_METADATA, 0, b""))
    assert (meaning.plugin, meaning.data_class) == (new.metadata.plugin_data.plugin_name, new.metadata.data_class)


@pytest.mark.parametrize("metadata", [b"\xff", b"\x0a\x05ab", b"\x20\xff\xff\xff\xff\x0f", b"\x12\x03\xff\xfe\xfd"])
def test_damaged_metadata_is_no_trouble(metadata: bytes) -> None:
    meaning = meaning_of(TagInfo("tag", Source.SUMMARY, ValueKind.TENSOR, metadata))
    assert meaning.data_class == DataClass.UNKNOWN
    meaning.display_name.encode()
