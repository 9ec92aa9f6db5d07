# SPDX-License-Identifier: Apache-2.0
"""All growing files of a run: those of this machine, and those that only the store has, from earlier attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import EVENTS, generation_base, generation_of, generation_path, path_of, segment_path
from aboard.upload.growing_file import GrowingFile, Plan
from aboard.upload.local_file import SourceChanged, SourceUnreadable, opened
from aboard.upload.scan import Found


class GrowingFiles:
    """Growing files by source; no two share a path."""

    def __init__(self, rows: Sequence[FileRow], plans: Mapping[str, Plan], *, in_segments: bool) -> None:
        self._in_segments = in_segments
        self._by_source = {row.source: _known(row, plans.get(row.path)) for row in rows}
        self._garbage: list[str] = []

    def __iter__(self) -> Iterator[GrowingFile]:
        return iter(self._by_source.values())

    def rows(self) -> tuple[FileRow, ...]:
        """What the manifest should name: of a replaced file the old content, as long as there is none of the new."""
        shown = (one.row if one.row.bytes else one.replaces for one in self)
        return tuple(row for row in shown if row is not None)

    def journaled(self) -> tuple[FileRow, ...]:
        """The same, and the files of which nothing but a plan is known."""
        return (*self.rows(), *(one.row for one in self if one.plan and not one.row.bytes and not one.replaces))

    def known(self, source: str) -> GrowingFile | None:
        """The file from this source, if it was seen before."""
        return self._by_source.get(source)

    def of(self, found: Found, local: set[str]) -> GrowingFile:
        """The file that was found; `local` are all sources that this machine has."""
        known = self._by_source.get(found.source)
        if known is None:
            known = self._adopted(found, local) or self._new(found)
            self._by_source[found.source] = known
        return known

    def replace(self, found: Found) -> GrowingFile:
        """Another file has come in the place of one: it gets a path of its own."""
        old = self._by_source[found.source]
        self._garbage += self._abandoned(old)
        new = self._new(found, old)
        self._by_source[found.source] = new
        return new

    def take_garbage(self) -> list[str]:
        """Paths of objects that no manifest names from now on; each is told once."""
        for one in self:
            self._garbage += self._abandoned(one)
            if one.row.bytes and one.replaces:
                self._garbage += one.replaces.objects()
                one.replaces = None
        taken, self._garbage = self._garbage, []
        return taken

    def _abandoned(self, one: GrowingFile) -> list[str]:
        numbers = [*one.given_up]
        one.given_up.clear()
        return [segment_path(one.row.path, number) for number in numbers]

    def _new(self, found: Found, old: GrowingFile | None = None) -> GrowingFile:
        """A file with a path that no manifest has ever named with other content."""
        taken = {path for one in self for path in (one.row.path, one.replaces.path if one.replaces else "")}
        base = path_of(found.source, is_event_file=found.kind == "events")
        generation = generation_of(old.row.path, base) + 1 if old else 1
        while generation_path(base, generation) in taken:
            generation += 1
        row = FileRow(
            path=generation_path(base, generation), source=found.source, segments=() if self._in_segments else None
        )
        replaces = (old.row if old.row.bytes else old.replaces) if old else None
        return GrowingFile(row, found.kind == "events", replaces=replaces)

    def _adopted(self, found: Found, local: set[str]) -> GrowingFile | None:
        """A file that was shipped from another place, such as another folder of an earlier attempt's machine."""
        path = path_of(found.source, is_event_file=found.kind == "events")
        others = [one for one in self if one.row.source not in local]
        old = next((one for one in others if generation_base(one.row.path)[0] == path), None)
        if old is None:
            return None
        if old.row.crc32 is None:  # found without a manifest: its source is a guess
            del self._by_source[old.row.source]
            return self._new(found, GrowingFile(replace(old.row, source=found.source), old.is_event_file))
        moved = GrowingFile(replace(old.row, source=found.source), old.is_event_file)
        try:
            with opened(found.path) as file:
                if moved.look(file) != "same":
                    return None
        except (SourceChanged, SourceUnreadable):
            return None
        del self._by_source[old.row.source]
        return moved


def _known(row: FileRow, plan: Plan | None) -> GrowingFile:
    return GrowingFile(row, row.path.startswith(f"{EVENTS}/"), plan=plan if row.segments is not None else None)
