# SPDX-License-Identifier: Apache-2.0
"""Log folders read with TensorBoard's own readers, and what their records mean, whoever wrote them."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader, RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2 as hparams_data
from tensorboard.plugins.mesh import plugin_data_pb2 as mesh_data
from tensorboard.plugins.pr_curve import plugin_data_pb2 as pr_curve_data
from tensorboard.plugins.projector import projector_config_pb2
from tensorboard.util.tensor_util import make_ndarray


@dataclass(frozen=True)
class Point:
    """One value as TensorBoard sees it: `value` decoded, `data` the plugin's own message."""

    run: str
    tag: str
    step: int
    wall_time: float
    plugin: str
    value: Any
    data: Any = None
    display_name: str = ""
    description: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.run, self.tag, self.step


def event_files(folder: Path) -> list[Path]:
    """Every event file below `folder`, oldest name first."""
    return sorted(path for path in folder.rglob("*tfevents*") if path.is_file())


def raw_events(folder: Path) -> list[Event]:
    """Every event below `folder`, as it stands in the files."""
    return [Event.FromString(record) for path in event_files(folder) for record in RawEventFileLoader(str(path)).Load()]


def raw_values(folder: Path) -> list[tuple[int, Any]]:
    """(step, Summary.Value) of every event below `folder`, as it stands in the files."""
    return [(event.step, value) for event in raw_events(folder) for value in event.summary.value]


def scalars(folder: Path) -> list[tuple[str, int, float]]:
    """(tag, step, value) of every scalar in `folder` itself, in the order in which they were written."""
    return [
        (value.tag, event.step, value.simple_value)
        for path in sorted(folder.glob("*tfevents*"))
        for record in RawEventFileLoader(str(path)).Load()
        for event in [Event.FromString(record)]
        for value in event.summary.value
        if value.HasField("simple_value")
    ]


def points(folder: Path) -> list[Point]:
    """Everything below `folder` that TensorBoard would show, sorted by run, tag and step."""
    found = [point for path in event_files(folder) for point in _points_of_file(folder, path)]
    found += _embeddings(folder)
    return sorted(found, key=lambda point: point.key)


def point(folder: Path) -> Point:
    """The only point below `folder`."""
    (found,) = points(folder)
    return found


def _points_of_file(folder: Path, path: Path) -> Iterator[Point]:
    run = path.parent.relative_to(folder).as_posix()
    plugins: dict[str, Any] = {}
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            metadata = plugins.setdefault(value.tag, value.metadata)
            plugin = metadata.plugin_data.plugin_name
            array = make_ndarray(value.tensor)
            yield Point(
                run=run,
                tag=value.tag,
                step=event.step,
                wall_time=event.wall_time,
                plugin=plugin,
                value=VALUES.get(plugin, _as_it_is)(array),
                data=DATA.get(plugin, lambda content: content)(metadata.plugin_data.content),
                display_name=metadata.display_name,
                description=metadata.summary_description,
            )


def _as_it_is(array: Any) -> Any:
    return array


def _image(strings: Any) -> Any:
    width, height, encoded = int(strings[0]), int(strings[1]), strings[2]
    with Image.open(io.BytesIO(encoded)) as picture:
        frames = []
        for index in range(getattr(picture, "n_frames", 1)):
            picture.seek(index)
            frames.append(np.asarray(picture.convert("RGBA")))
        return {"declared": (width, height), "format": picture.format, "frames": np.stack(frames)}


def _sound(strings: Any) -> Any:
    with wave.open(io.BytesIO(strings.reshape(-1)[0])) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
        return {
            "rate": sound.getframerate(),
            "samples": samples.reshape(-1, sound.getnchannels()).astype(np.float64) / 32768,
        }


def _graph(strings: Any) -> Any:
    graph = GraphDef.FromString(strings.reshape(-1)[0])
    return {node.name: (node.op, tuple(node.input)) for node in graph.node}


def _texts(strings: Any) -> Any:
    return [text.decode() for text in strings.reshape(-1)]


def _layout(strings: Any) -> Any:
    return layout_pb2.Layout.FromString(strings.item())


def _hparams(content: bytes) -> Any:
    return hparams_data.HParamsPluginData.FromString(content)


def _nothing(_: Any) -> Any:
    return None


VALUES: dict[str, Callable[[Any], Any]] = {
    "scalars": float,
    "images": _image,
    "audio": _sound,
    "text": _texts,
    "graphs": _graph,
    "graph_tagged_run_metadata": _nothing,
    "custom_scalars": _layout,
    "hparams": _nothing,
}
DATA: dict[str, Callable[[bytes], Any]] = {
    "pr_curves": pr_curve_data.PrCurvePluginData.FromString,
    "mesh": mesh_data.MeshPluginData.FromString,
    "hparams": _hparams,
}


def projector_config(folder: Path) -> Any:
    """The ProjectorConfig of `folder`, parsed."""
    text = (folder / "projector_config.pbtxt").read_text(encoding="utf-8")
    return text_format.Parse(text, projector_config_pb2.ProjectorConfig())


def _embeddings(folder: Path) -> Iterator[Point]:
    for config in folder.rglob("projector_config.pbtxt"):
        for entry in projector_config(config.parent).embeddings:
            metadata, sprite = entry.metadata_path, entry.sprite.image_path
            yield Point(
                run=config.parent.relative_to(folder).as_posix(),
                tag=entry.tensor_name,
                step=0,
                wall_time=0.0,
                plugin="projector",
                value={
                    "matrix": np.loadtxt(config.parent / entry.tensor_path, delimiter="\t", ndmin=2),
                    "metadata": (config.parent / metadata).read_text(encoding="utf-8") if metadata else None,
                    "sprite": _pixels(config.parent / sprite) if sprite else None,
                },
                data=entry,
            )


def _pixels(path: Path) -> Any:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGBA"))
