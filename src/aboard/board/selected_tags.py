# SPDX-License-Identifier: Apache-2.0
"""The tags of a board that TensorBoard asks for: by plugin and data class, all or named ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from aboard.reader.run_reader import DataClass, RunReader, Tag, TagStatus


class RunSource(Protocol):
    """What a board shows: runs by the names under which it shows them."""

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs known by now; a mapping that does not change under its holder."""
        ...


class Wanted(NamedTuple):
    """Which series are asked for; None stands for all runs or all tags."""

    plugin: str
    data_class: DataClass
    runs: Collection[str] | None = None
    tags: Collection[str] | None = None


def select_tags(source: RunSource, wanted: Wanted) -> Iterator[tuple[str, list[tuple[Tag, TagStatus]]]]:
    """(run, its tags with their status) for each run that has any; tags without a point are left out."""
    runs = source.runs
    names = runs if wanted.runs is None else [name for name in dict.fromkeys(wanted.runs) if name in runs]
    for name in names:
        run = runs[name]
        candidates = _candidates(run, wanted)
        if not candidates:
            continue
        # One call for all tags: a board with a hundred thousand of them is listed at every page load.
        statuses = run.logdir.statuses() if len(candidates) > 1 else None
        found: list[tuple[Tag, TagStatus]] = []
        for tag in candidates:
            status = _status(tag, statuses)
            if status.points:
                found.append((tag, status))
        if found:
            yield name, found


def _candidates(run: RunReader, wanted: Wanted) -> list[Tag]:
    tags = run.by_plugin(wanted.plugin)
    if wanted.tags is None:
        chosen = list(tags.values())
    else:
        chosen = [tags[name] for name in dict.fromkeys(wanted.tags) if name in tags]
    return [tag for tag in chosen if tag.meaning.data_class == wanted.data_class]


def _status(tag: Tag, statuses: list[tuple[int, int, int, float]] | None) -> TagStatus:
    if statuses is None:
        return tag.status
    # The logdir may have been read anew between the two calls; the next request sees it whole.
    return TagStatus(*statuses[tag.number]) if tag.number < len(statuses) else TagStatus(0, 0, 0, 0.0)
