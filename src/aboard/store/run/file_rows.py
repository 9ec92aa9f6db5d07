# SPDX-License-Identifier: Apache-2.0
"""One source file as the manifest knows it: where its bytes are and what they are.

Without segments a file is one object under its path. With them it is the first `bytes` of each segment, in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast
from urllib.parse import quote_from_bytes, unquote_to_bytes

from aboard.errors import InvalidValue
from aboard.model.documents import DocumentFields
from aboard.store.run.layout import LOG, OUTPUT, WATCH, segment_path, usual_source
from aboard.store.uri import check_key


class Segment(NamedTuple):
    """An object that holds a part of a growing file, of which the first `bytes` count."""

    number: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A file of a run in its store."""

    path: str
    source: str
    bytes: int = 0
    segments: tuple[Segment, ...] | None = None
    next_segment: int = 0
    """No segment from here on was ever named; numbers are not used again."""
    crc32: int | None = None
    """Of all bytes, as zlib.crc32; unknown for what was found without a manifest."""
    modified: float | None = None
    """When the source was last changed, in seconds since 1970."""
    link: str = ""
    """Not empty: a symbolic link to this place, relative to the folder of the source. Nothing stands under its path."""
    gone: bool = False
    """The training deleted it; the store keeps it."""
    details: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def is_growing(self) -> bool:
        """Whether it was shipped as it grew: an event file or a log."""
        return not self.path.startswith(f"{OUTPUT}/")

    def objects(self) -> list[str]:
        """The paths of the objects that hold it."""
        if self.link:
            return []
        if self.segments is None:
            return [self.path]
        return [segment_path(self.path, segment.number) for segment in self.segments]


def row_to_json(row: FileRow) -> dict[str, object]:
    known: dict[str, object] = {"path": row.path}
    if row.source != usual_source(row.path):
        known |= _source_to_json(row.source)
    if row.link:
        return {**row.details, **known, "link": row.link}
    known["bytes"] = row.bytes
    if row.crc32 is not None:
        known["crc32"] = row.crc32
    if row.modified is not None:
        known["modified"] = row.modified
    if row.gone:
        known["gone"] = True
    if row.segments is not None:
        known["segments"] = _groups(row.segments)
        if row.next_segment != _after(row.segments):
            known["next"] = row.next_segment
    return {**row.details, **known}


def row_from_json(value: object) -> FileRow:
    """The opposite of `row_to_json`; raises InvalidValue."""
    fields = DocumentFields(value, "a file")
    path = check_key(fields.required_text("path"))
    what = f"the file {path}"
    source = _source_from_json(fields, path)
    link = fields.text("link")
    if link:
        return FileRow(path=path, source=source, link=link, details=fields.rest())
    size = _natural(fields.integer("bytes"), "bytes", what)
    crc, modified = fields.integer("crc32"), fields.anything("modified")
    if modified is not None and (isinstance(modified, bool) or not isinstance(modified, int | float)):
        raise InvalidValue(f"'modified' of {what} is {modified!r}, which is not a number")
    groups = fields.anything("segments")
    segments = None if groups is None else _ungrouped(groups, what)
    next_segment = fields.integer("next")
    if segments is not None and sum(segment.bytes for segment in segments) != size:
        raise InvalidValue(f"{what} has {size} bytes, but its segments have another sum")
    after = _after(segments or ())
    return FileRow(
        path=path,
        source=source,
        bytes=size,
        segments=segments,
        next_segment=max(after, next_segment or 0),
        crc32=crc,
        modified=float(modified) if modified is not None else None,
        gone=fields.anything("gone") is True,
        details=fields.rest(),
    )


def rows_from_json(values: Iterable[object]) -> tuple[FileRow, ...]:
    """Several rows, each with a path of its own."""
    rows = tuple(row_from_json(value) for value in values)
    paths = [row.path for row in rows]
    if len(set(paths)) != len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InvalidValue(f"the file {twice} is named twice")
    return rows


def _after(segments: Iterable[Segment]) -> int:
    return max((segment.number + 1 for segment in segments), default=0)


def _groups(segments: Iterable[Segment]) -> list[list[int]]:
    """`[first number, bytes, bytes, …]` for each stretch of consecutive numbers: the short ones at the end are many."""
    groups: list[list[int]] = []
    following = -1
    for segment in segments:
        if segment.number == following:
            groups[-1].append(segment.bytes)
        else:
            groups.append([segment.number, segment.bytes])
        following = segment.number + 1
    return groups


def _ungrouped(groups: object, what: str) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    if not isinstance(groups, list):
        raise InvalidValue(f"'segments' of {what} is not a list")
    for group in cast("list[object]", groups):
        numbers = cast("list[object]", group) if isinstance(group, list) else []
        if len(numbers) < 2:
            raise InvalidValue(f"'segments' of {what} holds {group!r}, which is not a number and lengths")
        first, *lengths = (_natural(number, "segments", what) for number in numbers)
        if segments and first <= segments[-1].number:
            raise InvalidValue(f"the segments of {what} are not in order")
        segments += [Segment(first + place, length) for place, length in enumerate(lengths)]
    return tuple(segments)


def _natural(value: object, name: str, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidValue(f"{name!r} of {what} is {value!r}, which is not a number of bytes or of a segment")
    return value


def _source_to_json(source: str) -> dict[str, object]:
    try:
        source.encode()
    except UnicodeEncodeError:  # names on disk are bytes, and JSON is text
        return {"source_bytes": quote_from_bytes(os.fsencode(source))}
    return {"source": source}


def _source_from_json(fields: DocumentFields, path: str) -> str:
    in_bytes, plain = fields.text("source_bytes"), fields.text("source")
    source = os.fsdecode(unquote_to_bytes(in_bytes)) if in_bytes else plain or usual_source(path)
    parts = source.split("/")
    if parts[0] not in {OUTPUT, LOG, WATCH} or len(parts) < 2 or {"", ".", ".."} & set(parts) or "\0" in source:
        raise InvalidValue(f"the source {source!r} of the file {path} is no place in the folder of a run")
    return source
