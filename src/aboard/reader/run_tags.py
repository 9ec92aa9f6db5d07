# SPDX-License-Identifier: Apache-2.0
"""The tags of a run by plugin, without an object for each: a run may have a million of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from aboard._native import TagIndex, plugins_of, tags_with_points
from aboard.reader.run_reader import DataClass, RunReader, Tag, TagStatus
from aboard.reader.tag_meaning import Source, TagMeaning

if TYPE_CHECKING:
    from aboard._native import TagRow

_lock = threading.Lock()
_indexes: WeakKeyDictionary[RunReader, TagIndex] = WeakKeyDictionary()


def index_of(run: RunReader) -> TagIndex:
    """The index of a run, which all boards that show it share."""
    with _lock:
        index = _indexes.get(run)
        if index is None:
            index = _indexes[run] = TagIndex(run.logdir)
        return index


def indexes_of(runs: Iterable[RunReader]) -> list[TagIndex]:
    """The index of each run."""
    with _lock:
        found = [_indexes.get(run) for run in runs]
    if None in found:
        found = [index_of(run) for run in runs]
    return [index for index in found if index is not None]


def plugins_of_runs(runs: Iterable[RunReader]) -> set[str]:
    """The plugins that have tags in any of the runs."""
    return plugins_of(indexes_of(list(runs)))


def find_tag(run: RunReader, plugin: str, name: str) -> Tag | None:
    """A tag by its name."""
    row = index_of(run).find(plugin, name)
    return None if row is None else _tag(run, row)


def tags_of_runs(
    runs: Mapping[str, RunReader], plugin: str, data_class: DataClass
) -> Iterator[tuple[str, list[tuple[Tag, TagStatus]]]]:
    """(run, its tags of a plugin that have something to show, in the order in which they were first seen)."""
    for name, rows in rows_of_runs(runs, plugin, data_class):
        run = runs[name]
        yield name, [(_tag(run, row), TagStatus(*row[9])) for row in rows]


def rows_of_runs(
    runs: Mapping[str, RunReader], plugin: str, data_class: DataClass
) -> Iterator[tuple[str, list[TagRow]]]:
    """The same as the native core tells it, for those who list tens of thousands."""
    names = list(runs)
    for number, rows in tags_with_points(indexes_of(list(runs.values())), plugin, data_class):
        yield names[number], rows


def _tag(run: RunReader, row: TagRow) -> Tag:
    number, name, source, kind, plugin, content, display_name, description, data_class, _ = row
    meaning = TagMeaning(plugin, content, display_name, description, DataClass(data_class))
    return Tag(run, number, name, Source(source), kind, meaning)
