# SPDX-License-Identifier: Apache-2.0
"""One run for people who read from Python: its hyperparameters, and its tags by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from aboard.reader.hparams import HParam
from aboard.reader.opened.frames import AsTable
from aboard.reader.opened.long_table import Rows, rows_of
from aboard.reader.opened.read_file import ReadFile
from aboard.reader.opened.scalar_series import ScalarSeries
from aboard.reader.opened.stored_series import StoredSeries, Value
from aboard.reader.opened.stored_values import Audio, Graph, Histogram, Image, Tensor, Text
from aboard.reader.opened.tag_map import TagMap
from aboard.reader.run_reader import DataClass, RunReader, Tag

_GRAPHS = (
    "graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model", "graph_tagged_run_metadata",
)  # fmt: skip
_HAVE_ROOMS = frozenset({"images", "audio", "histograms", "text", "hparams", *_GRAPHS})


class OpenedRun(AsTable):
    """One run: a folder with event files. What it has grows with `refresh()` of what it was opened with."""

    def __init__(self, reader: RunReader, hparams: Callable[[str], Mapping[str, HParam]]) -> None:
        self._reader, self._hparams = reader, hparams

    @property
    def name(self) -> str:
        """What TensorBoard calls it: the path below the folder that was opened, `.` for this folder itself."""
        return self._reader.name

    @property
    def folder(self) -> Path:
        """The folder with its event files."""
        return self._reader.folder

    @property
    def hparams(self) -> dict[str, HParam]:
        """Hyperparameters as plain values; numbers are floats, because event files know no others.

        A run without any has those of the nearest folder above, or of the only run directly below.
        """
        return dict(self._hparams(self.name))

    @property
    def scalars(self) -> TagMap[ScalarSeries]:
        """Curves by tag."""
        return TagMap(self.name, "scalar", self._scalar_tags(), ScalarSeries.of)

    @property
    def images(self) -> TagMap[StoredSeries[Image]]:
        """Pictures by tag."""
        return self._stored("image", self._reader.by_plugin("images"), Image)

    @property
    def audio(self) -> TagMap[StoredSeries[Audio]]:
        """Sounds by tag."""
        return self._stored("audio", self._reader.by_plugin("audio"), Audio)

    @property
    def histograms(self) -> TagMap[StoredSeries[Histogram]]:
        """Histograms by tag."""
        return self._stored("histogram", self._reader.by_plugin("histograms"), Histogram)

    @property
    def text(self) -> TagMap[StoredSeries[Text]]:
        """Texts by tag."""
        return self._stored("text", self._reader.by_plugin("text"), Text)

    @property
    def graphs(self) -> TagMap[StoredSeries[Graph]]:
        """Graphs and what was measured while they ran, by tag."""
        return self._stored("graph", _merged(self._reader.by_plugin(plugin) for plugin in _GRAPHS), Graph)

    @property
    def tensors(self) -> TagMap[StoredSeries[Tensor]]:
        """Everything else by tag: precision-recall curves, meshes, layouts, arrays of other plugins."""
        return self._stored("tensor", self._other_tags(scalar=False), Tensor)

    @property
    def files(self) -> list[ReadFile]:
        """Its event files in the order of their history, and what reading them met."""
        return [ReadFile.of(row) for row in self._reader.logdir.files()]

    @property
    def bad_records(self) -> int:
        """Damaged records that were skipped, in all files."""
        return sum(file.bad_records for file in self.files)

    def is_of(self, reader: RunReader) -> bool:
        """Whether this shows what `reader` reads."""
        return self._reader is reader

    def __repr__(self) -> str:
        scalars, hparams = len(self._scalar_tags()), len(self._hparams(self.name))
        return f"<run {self.name!r}: {scalars} scalar tags, {hparams} hparams>"

    def rows(self, *, superseded: bool = False) -> Iterator[Rows]:
        """Every point of every curve as rows of the long table."""
        return rows_of(self.name, self._scalar_tags().values(), superseded=superseded)

    def _stored(self, kind: str, tags: Mapping[str, Tag], value: type[Value]) -> TagMap[StoredSeries[Value]]:
        return TagMap(self.name, kind, tags, lambda run, tag: StoredSeries(run, tag, value))

    def _scalar_tags(self) -> Mapping[str, Tag]:
        return _merged([self._reader.by_plugin("scalars"), self._other_tags(scalar=True)])

    def _other_tags(self, *, scalar: bool) -> Mapping[str, Tag]:
        """Tags of plugins that have no room of their own here."""
        return _merged(
            {
                name: tag
                for name, tag in self._reader.by_plugin(plugin).items()
                if (tag.meaning.data_class == DataClass.SCALAR) == scalar
            }
            for plugin in sorted(self._reader.plugins() - _HAVE_ROOMS - {"scalars"})
        )


def _merged(parts: Iterable[Mapping[str, Tag]]) -> Mapping[str, Tag]:
    """One mapping of all; mostly one part has everything, and there may be a million tags in it."""
    filled = [part for part in parts if part]
    if len(filled) == 1:
        return filled[0]
    merged: dict[str, Tag] = {}
    for part in filled:
        for name, tag in part.items():
            merged.setdefault(name, tag)
    return merged
