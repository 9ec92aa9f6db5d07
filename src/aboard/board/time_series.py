# SPDX-License-Identifier: Apache-2.0
"""Tags and points in the shapes that TensorBoard's provider interface has for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aboard._native import Points
from aboard.board.limits import spread
from aboard.board.selected_tags import Wanted
from aboard.board.tensorboard_parts import provider as api
from aboard.reader.run import DataClass, Tag, TagStatus

if TYPE_CHECKING:
    from aboard._native import TagRow


def wanted_of(plugin: str, data_class: DataClass, run_tag_filter: Any) -> Wanted:
    """What a RunTagFilter of TensorBoard lets through."""
    runs, tags = (run_tag_filter.runs, run_tag_filter.tags) if run_tag_filter is not None else (None, None)
    return Wanted(plugin, data_class, runs, tags)


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
        name: series(
            max_step=last_step,
            max_wall_time=last_wall_time,
            plugin_content=content,
            description=description,
            display_name=display_name,
        )
        for _, name, _, _, _, content, display_name, description, _, (_, _, last_step, last_wall_time) in rows
    }


def reduced(points: Points, count: int) -> Points:
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
