# SPDX-License-Identifier: Apache-2.0
"""Brings the bytes of growing files into a store: as segments, or appended where a store can append."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace

from aboard.errors import PositionMismatch
from aboard.store.run.file_row import FileRow, Segment
from aboard.store.run.layout import segment_path
from aboard.store.run.run_folder import RunFolder
from aboard.upload import local_file
from aboard.upload.growing_file import IN_MEMORY_BYTES, SAMPLE_BYTES, GrowingFile, Plan
from aboard.upload.local_file import SourceChanged


class Delivery:
    """The way into one run's folder of one store."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.in_segments = not folder.store.can_append

    def send(self, growing: GrowingFile, plan: Plan, file: int) -> bytes:
        """Send what was planned; returns the data, or both ends of it where it is too large for memory."""
        if plan.end - plan.start > IN_MEMORY_BYTES:
            return self._send_large(growing, plan, file)
        data = growing.read_plan(file, plan)
        if self.in_segments:
            self._put(segment_path(growing.row.path, plan.number), data)
        else:
            self._append(growing.row.path, data, plan, file)
        return data

    def roll_up(self, row: FileRow, last: tuple[Segment, ...], data: bytes) -> FileRow:
        """Put the last segments once more as one object, under the number of the first of them; the new row."""
        self._put(segment_path(row.path, last[0].number), data)
        return replace(row, segments=(*(row.segments or ())[: -len(last)], Segment(last[0].number, len(data))))

    def _send_large(self, growing: GrowingFile, plan: Plan, file: int) -> bytes:
        """One record of many megabytes."""
        before = growing.row.crc32 or 0

        def checked() -> Iterator[bytes]:
            crc = before
            for piece in local_file.pieces(file, plan.start, plan.end):
                crc = zlib.crc32(piece, crc)
                yield piece
            if crc != plan.crc32:
                raise SourceChanged("The file was rewritten while it was read.")

        if self.in_segments:
            key = self.folder.key(segment_path(growing.row.path, plan.number))
            self.folder.store.put_stream(key, checked(), size=plan.end - plan.start)
        else:
            position = plan.start
            for piece in checked():
                part = plan._replace(start=position, end=position + len(piece))
                self._append(growing.row.path, piece, part, file)
                position += len(piece)
        head = local_file.read(file, plan.start, plan.start + SAMPLE_BYTES)
        return head + local_file.read(file, plan.end - SAMPLE_BYTES, plan.end)

    def _put(self, path: str, data: bytes) -> None:
        self.folder.store.put(self.folder.key(path), data)

    def _append(self, path: str, data: bytes, plan: Plan, file: int) -> None:
        """Append, and where the end is not as expected, find out what is there."""
        store, key = self.folder.store, self.folder.key(path)
        try:
            store.append(key, data, plan.start)
        except PositionMismatch as mismatch:
            there = mismatch.size - plan.start
            if 0 < there <= len(data) and store.get_range(key, plan.start, mismatch.size) == data[:there]:
                store.append(key, data[there:], mismatch.size)  # an append whose answer was lost
            else:
                store.put_stream(key, local_file.pieces(file, 0, plan.end), size=plan.end)
