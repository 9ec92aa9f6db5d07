# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's data provider over the runs of one board, with the limits on what is sent of a series.

It answers from what has been read so far and never waits for more. One provider belongs to one board, so the
experiment ids that the frontend sends (it sends two different ones) do not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from aboard._native import Points, TagRow, TagStatus, points_json, stamp_of
from aboard.board.blobs import BlobAddress, BlobCounts, BlobKeys
from aboard.board.responses import PIECE_BYTES, ResponseKey
from aboard.board.sources import RunSource, SeriesFilter, indexed_runs, select_runs, select_tags
from aboard.board.tensorboard_api import DataProvider, errors
from aboard.board.tensorboard_api import provider as api
from aboard.reader.run import Tag, find_tag, plugins_of_runs, rows_of_runs
from aboard.reader.tags import DataClass

# torch and tensorboardX write this into every run, and TensorBoard would take any one of them for all.
_HPARAMS_EXPERIMENT = "_hparams_/experiment"
_ENTRIES_COUNTED = 10  # so many entries tell how many samples the dashboards offer, as in TensorBoard


@dataclass(frozen=True, slots=True)
class BoardMetadata:
    """Metadata that a board shows; only what its creator gave."""

    name: str = ""
    description: str = ""
    data_location: str = ""
    creation_time: float = 0.0


class BoardProvider(DataProvider):
    """The runs of one board, as TensorBoard asks for them."""

    def __init__(
        self,
        source: RunSource,
        *,
        about: BoardMetadata | None = None,
        limits: SampleLimits | None = None,
        secret: bytes | None = None,
    ) -> None:
        self.source = source
        self._about = about or BoardMetadata()
        self._limits = limits or SampleLimits()
        self._keys = BlobKeys(secret)
        self._token = object()  # by which this board's answers are told from those of others
        self._counts = BlobCounts()

    def experiment_metadata(self, ctx: Any = None, *, experiment_id: str) -> Any:
        about = self._about
        return api.ExperimentMetadata(
            data_location=about.data_location,
            experiment_name=about.name,
            experiment_description=about.description,
            creation_time=about.creation_time,
        )

    def list_plugins(self, ctx: Any = None, *, experiment_id: str) -> list[str]:
        return sorted(plugins_of_runs(self.source.runs.values()) - {""})

    def list_runs(self, ctx: Any = None, *, experiment_id: str) -> list[Any]:
        return [
            api.Run(run_id=name, run_name=name, start_time=run.logdir.first_wall_time)
            for name, run in self.source.runs.items()
        ]

    def run_folders(self) -> dict[str, tuple[Path, Path | None]]:
        """Where the files of each run lie, and the folder below which no link is followed, if there is one."""
        return {name: (run.folder, run.within) for name, run in self.source.runs.items()}

    def response_key(self, *words: str) -> ResponseKey:
        """The cache key of a request, with the present state of the data."""
        return ResponseKey(self._token, words, stamp_of(indexed_runs(self.source)))

    def list_scalars(
        self, ctx: Any = None, *, experiment_id: str, plugin_name: str, run_tag_filter: Any = None
    ) -> dict[str, dict[str, Any]]:
        return self._list(api.ScalarTimeSeries, series_filter(plugin_name, DataClass.SCALAR, run_tag_filter))

    def read_scalars(
        self,
        ctx: Any = None,
        *,
        experiment_id: str,
        plugin_name: str,
        downsample: int | None = None,
        run_tag_filter: Any = None,
    ) -> dict[str, dict[str, Any]]:
        wanted = series_filter(plugin_name, DataClass.SCALAR, run_tag_filter)
        count = self._limits.budget(plugin_name, DataClass.SCALAR, downsample)
        return {
            run: {tag.name: scalar_data(downsample_points(tag.points(), count)) for tag, _ in tags}
            for run, tags in select_tags(self.source, wanted)
        }

    def read_points_json(
        self, tag: str, names: Collection[str] | None, downsample: int | None, *, objects: bool
    ) -> Iterator[bytes]:
        """The points of one scalar tag in some runs or all: the entries of a JSON object by run, in pieces."""
        count = self._limits.budget("scalars", DataClass.SCALAR, downsample)
        runs = indexed_runs(self.source, names)
        at, separator = 0, b""
        while at < len(runs):
            piece, at = points_json(runs, at, "scalars", tag, count, objects, PIECE_BYTES)
            if piece:
                yield separator
                yield piece
                separator = b","

    def read_last_scalars(
        self, ctx: Any = None, *, experiment_id: str, plugin_name: str, run_tag_filter: Any = None
    ) -> dict[str, dict[str, Any]]:
        result: dict[str, dict[str, Any]] = {}
        for run, tags in select_tags(self.source, series_filter(plugin_name, DataClass.SCALAR, run_tag_filter)):
            for tag, _ in tags:
                last = scalar_data(downsample_points(tag.points(), 1))
                if last:
                    result.setdefault(run, {})[tag.name] = last[-1]
        return result

    def list_tensors(
        self, ctx: Any = None, *, experiment_id: str, plugin_name: str, run_tag_filter: Any = None
    ) -> dict[str, dict[str, Any]]:
        listed = self._list(api.TensorTimeSeries, series_filter(plugin_name, DataClass.TENSOR, run_tag_filter))
        if plugin_name == "hparams":  # its messages hold text only, and one name that is none would refuse them all
            listed = {run: tags for run, tags in listed.items() if _is_text(run)}
        if plugin_name == "hparams" and sum(_HPARAMS_EXPERIMENT in tags for tags in listed.values()) > 1:
            # Without any of them TensorBoard computes the union of what the runs say themselves.
            listed = {
                run: {tag: series for tag, series in tags.items() if tag != _HPARAMS_EXPERIMENT}
                for run, tags in listed.items()
            }
        return listed

    def read_tensors(
        self,
        ctx: Any = None,
        *,
        experiment_id: str,
        plugin_name: str,
        downsample: int | None = None,
        run_tag_filter: Any = None,
    ) -> dict[str, dict[str, list[Any]]]:
        count = self._limits.budget(plugin_name, DataClass.TENSOR, downsample)
        return {
            run: {tag.name: tensor_data(tag, count) for tag, _ in tags}
            for run, tags in select_tags(self.source, series_filter(plugin_name, DataClass.TENSOR, run_tag_filter))
        }

    def list_blob_sequences(
        self, ctx: Any = None, *, experiment_id: str, plugin_name: str, run_tag_filter: Any = None
    ) -> dict[str, dict[str, Any]]:
        wanted = series_filter(plugin_name, DataClass.BLOB_SEQUENCE, run_tag_filter)
        return {
            run: {
                tag.name: api.BlobSequenceTimeSeries(**series_arguments(tag, status), max_length=self._max_length(tag))
                for tag, status in tags
            }
            for run, tags in select_tags(self.source, wanted)
        }

    def read_blob_sequences(
        self,
        ctx: Any = None,
        *,
        experiment_id: str,
        plugin_name: str,
        downsample: int | None = None,
        run_tag_filter: Any = None,
    ) -> dict[str, dict[str, list[Any]]]:
        count = self._limits.budget(plugin_name, DataClass.BLOB_SEQUENCE, downsample)
        wanted = series_filter(plugin_name, DataClass.BLOB_SEQUENCE, run_tag_filter)
        return {
            run: {tag.name: self._blob_data(run, tag, count) for tag, _ in tags}
            for run, tags in select_tags(self.source, wanted)
        }

    def read_blob(self, ctx: Any = None, *, blob_key: str) -> bytes:
        place = self._keys.address(blob_key)
        run = None if place is None else self.source.runs.get(place.run)
        if place is None or run is None:
            raise errors.NotFoundError("No such blob on this board")
        tag = find_tag(run, place.plugin, place.tag)
        entry = next((entry for entry in tag.entries() if entry.step == place.step), None) if tag else None
        blobs = tag.blobs(entry) if tag and entry else None
        if not blobs or not 0 <= place.number < len(blobs):
            raise errors.NotFoundError(f"Step {place.step} of {place.tag!r} in {place.run!r} is gone")
        return blobs[place.number]

    def _list(self, series: type[Any], wanted: SeriesFilter) -> dict[str, dict[str, Any]]:
        if wanted.tags is not None:
            return {
                run: {tag.name: series(**series_arguments(tag, status)) for tag, status in tags}
                for run, tags in select_tags(self.source, wanted)
            }
        runs = select_runs(self.source, wanted.runs)
        return {run: listed_series(series, rows) for run, rows in rows_of_runs(runs, wanted.plugin, wanted.data_class)}

    def _max_length(self, tag: Tag) -> int:
        return max(self._counts.count(tag, spread(tag.entries(), _ENTRIES_COUNTED)), default=0)

    def _blob_data(self, run: str, tag: Tag, count: int) -> list[Any]:
        entries = spread(tag.entries(), count)
        data: list[Any] = []
        for entry, blobs in zip(entries, self._counts.count(tag, entries), strict=True):
            places = (BlobAddress(tag.meaning.plugin, run, tag.name, entry.step, number) for number in range(blobs))
            references = tuple(api.BlobReference(self._keys.key(place)) for place in places)
            data.append(api.BlobSequenceDatum(step=entry.step, wall_time=entry.wall_time, values=references))
        return data


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def series_filter(plugin: str, data_class: DataClass, run_tag_filter: Any) -> SeriesFilter:
    """What a RunTagFilter of TensorBoard lets through."""
    runs, tags = (run_tag_filter.runs, run_tag_filter.tags) if run_tag_filter is not None else (None, None)
    return SeriesFilter(plugin, data_class, runs, tags)


def series_arguments(tag: Tag, status: TagStatus) -> Mapping[str, Any]:
    """What TensorBoard lists of any series, by the names of its constructors."""
    return {
        "max_step": status.last_step,
        "max_wall_time": status.last_wall_time,
        "plugin_content": tag.meaning.content,
        "description": tag.meaning.description,
        "display_name": tag.meaning.display_name,
    }


def listed_series(series: type[Any], rows: Sequence[TagRow]) -> dict[str, Any]:
    """What TensorBoard lists of the tags of a run, without an object of ours for each."""
    return {
        row.name: series(
            max_step=status.last_step,
            max_wall_time=status.last_wall_time,
            plugin_content=row.content,
            description=row.description,
            display_name=row.display_name,
        )
        for row in rows
        for status in (row.status,)
    }


def downsample_points(points: Points, count: int) -> Points:
    """At most `count` points."""
    return points if len(points) <= count else points.reduced(count)


def scalar_data(points: Points) -> Sequence[Any]:
    """Points one by one, with numbers of Python: TensorBoard's JSON knows no others."""
    columns = points.steps.tolist(), points.wall_times.tolist(), points.values.tolist()
    return [api.ScalarDatum(step, wall_time, value) for step, wall_time, value in zip(*columns, strict=True)]


def tensor_data(tag: Tag, count: int) -> list[Any]:
    """The arrays of at most `count` entries, read now; entries whose file has changed are left out."""
    data: list[Any] = []
    for entry in spread(tag.entries(), count):
        array = tag.array(entry)
        if array is not None:
            data.append(api.TensorDatum(step=entry.step, wall_time=entry.wall_time, numpy=array))
    return data


Item = TypeVar("Item")

ALL = sys.maxsize


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """The most that is sent of one series.

    Stock TensorBoard samples 1,000 points of a curve. As many are sent here, chosen so that every minimum and maximum
    is among them; more would only make the first charts appear later.
    """

    scalars: int = 1_000
    tensors: int = 200
    blobs: int = 500
    of_plugin: Mapping[str, int] = field(default_factory=dict[str, int])
    """What somebody asked for by the name of a plugin's data; 0 stands for all. It overrules everything else."""

    def budget(self, plugin: str, data_class: DataClass, wanted: int | None) -> int:
        """How many entries to send of a series of which TensorBoard's plugin wants `wanted`.

        The plugins name what they would be content with, which is far less than what a browser can show: they get at
        least the limit. One is different: it means the newest, and the plugins take the first of what they get.
        """
        if wanted is not None and wanted <= 1:
            return max(wanted, 0)
        asked_for = self.of_plugin.get(plugin)
        if asked_for is not None:
            return asked_for or ALL
        return max(self._usual(data_class), wanted or 0)

    def _usual(self, data_class: DataClass) -> int:
        match data_class:
            case DataClass.SCALAR:
                return self.scalars
            case DataClass.BLOB_SEQUENCE:
                return self.blobs
            case _:
                return self.tensors


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items at even distances, the last always among them: the same ones at every request."""
    if len(items) <= count:
        return list(items)
    if count <= 1:
        return list(items[-1:]) if count else []
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]
