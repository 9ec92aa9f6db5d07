# SPDX-License-Identifier: Apache-2.0
"""Whether folders have event files, and what else is there, for `aboard view` without runs to show."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from aboard.errors import InvalidValue
from aboard.events.event import is_event_file
from aboard.foundation.text import count, plain
from aboard.reader.roots import Root

_SEARCH_SECONDS = 5.0


@dataclass(slots=True)
class FolderContent:
    """What is below a folder, as far as it was searched."""

    has_event_files: bool = False
    folders: int = 0
    other_files: int = 0
    is_complete: bool = True

    def __str__(self) -> str:
        found = f"{count(self.folders, 'folder')}, {count(self.other_files, 'other file')}"
        return found if self.is_complete else f"{found} in the first {_SEARCH_SECONDS:.0f} s"


def search_folder(
    folder: Path, within: float = _SEARCH_SECONDS, monotonic: Callable[[], float] = time.monotonic
) -> FolderContent:
    """Look for an event file at any depth. The search ends with the first one, or after `within` seconds."""
    found, end = FolderContent(), monotonic() + within
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        if _was_seen(place, seen):
            folders.clear()
            continue
        if any(map(is_event_file, files)):
            found.has_event_files = True
            return found
        found.folders += len(folders)
        found.other_files += len(files)
        if monotonic() > end:
            found.is_complete = False
            return found
    return found


def _was_seen(place: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a link led to this folder before."""
    try:
        state = Path(place).stat()
    except OSError:
        return True
    was_seen = (identity := (state.st_dev, state.st_ino)) in seen
    seen.add(identity)
    return was_seen


def find_logs_here() -> str:
    """The current folder, if event files are in it at any depth."""
    here = Path.cwd()
    found = search_folder(here)
    if not found.has_event_files:
        raise InvalidValue(
            f"No folder was named, and there are no event files in {plain(str(here))}: {found}.",
            hint="Event files have `tfevents` in their names. Name the folder that your training logs to, as in "
            "`aboard view runs/`; `aboard demo` writes sample runs.",
        )
    return "."


def list_empty_roots(roots: Iterable[Root]) -> list[str]:
    """What is in the roots instead of event files, one line for each."""
    lines: list[str] = []
    for root in roots:
        found = search_folder(root) if isinstance(root, Path) and root.is_dir() else None
        if found is None or not found.has_event_files:
            lines.append(f"No event files in {plain(str(root))} yet{f': {found}' if found else ''}.")
    return lines
