# SPDX-License-Identifier: Apache-2.0
"""One run of a board: a logdir with its tags by plugin, each with its points or entries.

A run may have a million tags, and a board very many runs: tags are listed from an index, and paths are passed to
the native core as bytes, without an object for each.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from aboard._native import Logdir, Points, TagEntry, TagIndex, TagRow, TagStatus, plugins_of, tags_with_points
from aboard.reader.tags import KIND_NAMES, DataClass, Source, TagMeaning, ValueKind, meaning_of

if TYPE_CHECKING:
    from aboard.reader.values import Array


def absolute_path(path: Path | str) -> bytes:
    """The same as `Path.absolute` of a path that was one; links and `..` stay as they are."""
    text = str(path)
    return os.fsencode(text if text.startswith("/") else Path(text).absolute())


FetchPart: TypeAlias = Callable[[str, int, int], bool]
_RECORD_HEADER, _RECORD_FOOTER = 12, 4  # bytes before and after what is in a record


@dataclass(frozen=True, slots=True)
class Tag:
    """One series of a run."""

    run: RunReader
    number: int
    name: str
    source: Source
    kind: int
    meaning: TagMeaning

    @property
    def status(self) -> TagStatus:
        """How far it has come; zeros when the logdir was read anew and the tag is gone."""
        return self.run.logdir.status(self.number)

    def points(self) -> Points:
        """The points of a scalar tag: ascending steps, the newest of each."""
        return self.run.logdir.scalars(self.number, True)

    def superseded(self) -> list[Points]:
        """The points that later attempts replaced: one part for each stretch of ascending steps."""
        return self.run.logdir.superseded(self.number).ascending()

    def entries(self) -> list[TagEntry]:
        """Where the values of a tag that is no scalar lie: ascending steps, the newest of each."""
        newest = {entry.step: entry for entry in self.run.logdir.media(self.number)}
        return [newest[step] for step in sorted(newest)]

    def array(self, entry: TagEntry) -> Array | None:
        """The array of one entry; None when its file has changed meanwhile."""
        # Here: numpy takes longer to load than most runs do to read, and its threads a processor while it begins.
        from aboard.reader.values import array_of_value

        value = self.run.read_media(self.number, entry)
        return None if value is None else array_of_value(value)

    def blobs(self, entry: TagEntry) -> list[bytes] | None:
        """The blobs of one entry; None when its file has changed meanwhile."""
        from aboard.reader.values import blobs_of_value

        value = self.run.read_media(self.number, entry)
        if value is None or self.source != Source.SUMMARY:
            return None if value is None else [value]
        return blobs_of_value(value, first_axis_only=self.meaning.plugin == "audio")


class RunReader:
    """A logdir and the name under which a board shows it. Safe to use from any thread."""

    def __init__(
        self,
        name: str,
        folder: Path | str,
        index: Path | str | None = None,
        fetch_part: FetchPart | None = None,
        packed: tuple[Path, int, int] | None = None,
        within: Path | None = None,
    ) -> None:
        """Read `folder`; `fetch_part` brings back what is not on this machine of a file in it, and says if it did.

        `packed` is a part of a file that has what was decoded of the folder elsewhere. `within` is a folder at or above
        `folder`: no symbolic link below it is followed.
        """
        self.name = name
        self.within = within
        self._folder = folder
        self._fetch_part = fetch_part
        # Where the index says which folder it is of, the way there must not depend on where a process was started.
        self.logdir = Logdir(
            absolute_path(folder),
            b"" if index is None else os.fsencode(index),
            None if packed is None else (os.fsencode(packed[0]), packed[1], packed[2]),
            None if within is None else absolute_path(within),
        )
        self.forget_tags()
        _readers.add(self)

    def forget_tags(self) -> None:
        """Take all tags from the logdir again with the next call, under a new lock."""
        self._lock = threading.Lock()
        self._generation = -1
        self._taken = 0
        self._tags: list[Tag] = []
        self._by_plugin: dict[str, dict[str, Tag]] = {}

    @property
    def folder(self) -> Path:
        return Path(self._folder)

    def read_media(self, tag: int, entry: TagEntry) -> bytes | None:
        """The content of one entry; None when its file has changed meanwhile. May have to fetch it from a store."""
        found = self.logdir.read_media(tag, entry)
        if found is not None or self._fetch_part is None:
            return found
        name = os.fsdecode(self.logdir.files()[entry.file].name)
        begin, end = entry.offset - _RECORD_HEADER, entry.offset + entry.length + _RECORD_FOOTER
        return self.logdir.read_media(tag, entry) if self._fetch_part(name, begin, end) else None

    def by_plugin(self, plugin: str) -> dict[str, Tag]:
        """The tags of one plugin by name."""
        with self._lock:
            self._take_new_tags()
            return self._by_plugin.get(plugin, {})

    def plugins(self) -> set[str]:
        with self._lock:
            self._take_new_tags()
            return set(self._by_plugin)

    def tags(self) -> list[Tag]:
        """All tags in the order in which they were first seen."""
        with self._lock:
            self._take_new_tags()
            return list(self._tags)

    def other_kinds(self) -> dict[int, str]:
        """Tags by number under which data of another kind was logged as well, and what that is. It is left out."""
        return {tag: KIND_NAMES[ValueKind(kind)] for tag, kind in self.logdir.other_kinds().items()}

    def _take_new_tags(self) -> None:
        generation = self.logdir.generation
        if generation != self._generation:
            self._generation, self._taken, self._tags, self._by_plugin = generation, 0, [], {}
        new = self.logdir.tags(self._taken)
        if not new:
            return
        # Readers hold the dictionaries without a lock: a new one replaces what grows.
        by_plugin = {plugin: dict(tags) for plugin, tags in self._by_plugin.items()}
        for number, info in enumerate(new, self._taken):
            if not info.present:
                continue
            tag = Tag(self, number, info.name, Source(info.source), info.kind, meaning_of(info))
            self._tags.append(tag)
            by_plugin.setdefault(tag.meaning.plugin, {}).setdefault(tag.name, tag)
        self._taken += len(new)
        self._by_plugin = by_plugin


_readers: WeakSet[RunReader] = WeakSet()


def _start_over_in_child() -> None:
    """Take tags again: another thread of the parent may have been doing so, with the lock held."""
    for reader in list(_readers):
        reader.forget_tags()


os.register_at_fork(after_in_child=_start_over_in_child)


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
    with _lock:
        found = [_indexes.get(run) for run in runs]
    if None in found:
        found = [index_of(run) for run in runs]
    return [index for index in found if index is not None]


def plugins_of_runs(runs: Iterable[RunReader]) -> set[str]:
    """The plugins that have tags in any of the runs."""
    return plugins_of(indexes_of(list(runs)))


def find_tag(run: RunReader, plugin: str, name: str) -> Tag | None:
    row = index_of(run).find(plugin, name)
    return None if row is None else _tag(run, row)


def tags_of_runs(
    runs: Mapping[str, RunReader], plugin: str, data_class: DataClass
) -> Iterator[tuple[str, list[tuple[Tag, TagStatus]]]]:
    """(run, its tags of a plugin that have something to show, in the order in which they were first seen)."""
    for name, rows in rows_of_runs(runs, plugin, data_class):
        run = runs[name]
        yield name, [(_tag(run, row), row.status) for row in rows]


def rows_of_runs(
    runs: Mapping[str, RunReader], plugin: str, data_class: DataClass
) -> Iterator[tuple[str, list[TagRow]]]:
    """The same as the native core tells it, for those who list tens of thousands."""
    names = list(runs)
    for number, rows in tags_with_points(indexes_of(list(runs.values())), plugin, data_class):
        yield names[number], rows


def _tag(run: RunReader, row: TagRow) -> Tag:
    meaning = TagMeaning(row.plugin, row.content, row.display_name, row.description, DataClass(row.data_class))
    return Tag(run, row.number, row.name, Source(row.source), row.kind, meaning)
