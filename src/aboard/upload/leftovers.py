# SPDX-License-Identifier: Apache-2.0
"""Objects that were put for a file of the run but are not named by its rows: what crashes leave behind."""

from __future__ import annotations

from collections.abc import Iterable

from aboard.store.run.file_row import FileRow
from aboard.store.run.layout import EVENTS, path_of, split_segment


def leftovers(rows: Iterable[FileRow], paths: Iterable[str]) -> list[str]:
    """Those of `paths` that are segments or earlier generations of the files, and not among their objects."""
    known = tuple(rows)
    named = {path for row in known for path in row.objects()}
    ours = {path_of(row.source, is_event_file=row.path.startswith(f"{EVENTS}/")) for row in known}
    ours |= {row.path for row in known}

    def is_ours(path: str) -> bool:
        base, _, generation = path.rpartition("~")
        return path in ours or (base in ours and generation.isdecimal())

    found = ((path, split_segment(path)) for path in paths if path not in named)
    return [path for path, parts in found if is_ours(path) or (parts and is_ours(parts[0]))]
