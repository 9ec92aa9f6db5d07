# SPDX-License-Identifier: Apache-2.0
"""The tags of a run by plugin, without an object for each: a run may have a million of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from aboard._native import TagIndex, plugins_of
from aboard.reader.run_reader import DataClass, RunReader, Tag, TagStatus
from aboard.reader.tag_meaning import Source, TagMeaning

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


def tags_with_points(run: RunReader, plugin: str, data_class: DataClass) -> list[tuple[Tag, TagStatus]]:
    """All tags of a plugin that have something to show, in the order in which they were first seen."""
    return [(_tag(run, row), TagStatus(*row[9])) for row in index_of(run).with_points(plugin, data_class)]


def _tag(run: RunReader, row: tuple[int, str, int, int, str, bytes, str, str, int, object]) -> Tag:
    number, name, source, kind, plugin, content, display_name, description, data_class, _ = row
    meaning = TagMeaning(plugin, content, display_name, description, DataClass(data_class))
    return Tag(run, number, name, Source(source), kind, meaning)
