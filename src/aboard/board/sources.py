# SPDX-License-Identifier: Apache-2.0
"""The runs of a board by name, several sources joined, and the tags that TensorBoard requests of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from aboard._native import TagIndex, TagStatus
from aboard.reader.run import RunReader, Tag, find_tag, indexes_of, tags_of_runs
from aboard.reader.tags import DataClass


class RunSource(Protocol):
    """What a board shows: runs by the names under which it shows them."""

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs known by now; a mapping that does not change under its holder."""
        ...


class SeriesFilter(NamedTuple):
    """Which series to read; None stands for all runs or all tags."""

    plugin: str
    data_class: DataClass
    runs: Collection[str] | None = None
    tags: Collection[str] | None = None


def select_tags(source: RunSource, wanted: SeriesFilter) -> Iterator[tuple[str, list[tuple[Tag, TagStatus]]]]:
    """(run, its tags with their status) for each run that has any; tags without a point are left out."""
    runs = select_runs(source, wanted.runs)
    if wanted.tags is None:
        yield from tags_of_runs(runs, wanted.plugin, wanted.data_class)
        return
    for name, run in runs.items():
        if found := list(_named(run, wanted, wanted.tags)):
            yield name, found


def select_runs(source: RunSource, names: Collection[str] | None) -> dict[str, RunReader]:
    """The runs of these names, as far as there are any; all without names."""
    runs = source.runs
    return {name: runs[name] for name in (runs if names is None else names) if name in runs}


def indexed_runs(source: RunSource, names: Collection[str] | None = None) -> list[tuple[bytes, TagIndex]]:
    """The same runs as the native core takes them: a name as JSON, because a folder's name need not be text."""
    runs = select_runs(source, names)
    called = [json.dumps(name).encode("ascii") for name in runs]
    return list(zip(called, indexes_of(list(runs.values())), strict=True))


def _named(run: RunReader, wanted: SeriesFilter, names: Collection[str]) -> Iterator[tuple[Tag, TagStatus]]:
    for name in dict.fromkeys(names):
        tag = find_tag(run, wanted.plugin, name)
        if tag is not None and tag.meaning.data_class == wanted.data_class and (status := tag.status).points:
            yield tag, status


class JoinedRuns:
    """The runs of some sources, the first source first. Safe to use from any thread."""

    def __init__(self, sources: Sequence[RunSource]) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._seen: list[Mapping[str, RunReader]] = []
        self._runs: Mapping[str, RunReader] = {}

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs by their names now; earlier names that a source understands are understood here too."""
        parts = [source.runs for source in self._sources]
        with self._lock:
            if len(parts) != len(self._seen) or any(
                one is not other for one, other in zip(parts, self._seen, strict=True)
            ):
                self._seen, self._runs = parts, _Joined(parts)
            return self._runs


class _Joined(Mapping[str, RunReader]):
    def __init__(self, parts: Sequence[Mapping[str, RunReader]]) -> None:
        self._parts = parts
        self._now: dict[str, RunReader] = {}
        for part in parts:
            for name, run in part.items():
                self._now[self._free(name)] = run

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self._now:
            number += 1
            free = f"{name}_{number}"
        return free

    def __getitem__(self, name: str) -> RunReader:
        run = self._now.get(name)
        if run is not None:
            return run
        for part in self._parts:
            if name in part:
                return part[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)
