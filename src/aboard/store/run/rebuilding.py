# SPDX-License-Identifier: Apache-2.0
"""Makes the rows of a run anew from the objects that are there, when its manifest is lost or damaged.

Objects that a manifest no longer named, or not yet, are recognised by their content: what stands in its predecessor
already is left over from a roll-up, and what its successor begins with was sent twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from aboard.store.run.file_row import FileRow, Segment
from aboard.store.run.layout import EVENTS, LOG, OUTPUT, generation_base, segment_path, split_segment, usual_source
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Entry


def rebuild_growing(folder: RunFolder) -> tuple[FileRow, ...]:
    """Event files and logs. Checksums are not known; segments are read to put them in order."""
    return tuple(row for top in (EVENTS, LOG) for row in _growing(folder, top))


def rebuild_outputs(folder: RunFolder) -> tuple[FileRow, ...]:
    """All other files; links are lost."""
    return tuple(_whole(entry) for entry in folder.list(OUTPUT))


def _growing(folder: RunFolder, top: str) -> Iterator[FileRow]:
    entries = {entry.key: entry for entry in folder.list(top)}
    numbers: dict[str, list[int]] = {}
    if not folder.store.can_append:
        for path, number in filter(None, map(split_segment, entries)):
            numbers.setdefault(path, []).append(number)
    segments = {segment_path(path, number) for path, found in numbers.items() for number in found}
    paths = [*numbers, *(path for path in entries if path not in segments)]
    newest = {generation_base(path)[0]: path for path in sorted(paths, key=generation_base)}
    for base, path in newest.items():  # earlier generations were replaced, and not yet deleted
        row = _in_segments(folder, path, sorted(numbers[path])) if path in numbers else _whole(entries[path])
        yield replace(row, source=usual_source(base))


def _in_segments(folder: RunFolder, path: str, numbers: list[int]) -> FileRow:
    segments = _in_order(folder, path, numbers)
    size = sum(segment.bytes for segment in segments)
    return FileRow(path=path, source="", bytes=size, segments=segments, next_segment=numbers[-1] + 1)


def _whole(entry: Entry) -> FileRow:
    return FileRow(path=entry.key, source=usual_source(entry.key), bytes=entry.size, modified=entry.modified)


def _in_order(folder: RunFolder, path: str, numbers: list[int]) -> tuple[Segment, ...]:
    kept: list[Segment] = []
    before, searched = b"", 0
    for number in numbers:
        data = folder.store.get(folder.key(segment_path(path, number)))
        place = before.find(data, searched) if data else 0
        if place >= 0 and kept and len(data) < len(before):
            searched = place + len(data)
            continue
        if kept and data.startswith(before):
            kept.pop()
        kept.append(Segment(number, len(data)))
        before, searched = data, 1
    return tuple(kept)
