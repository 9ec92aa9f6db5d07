# SPDX-License-Identifier: Apache-2.0
"""Folders with event files below a root, named as TensorBoard names runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aboard.events.file_names import is_event_file


def find_logdirs(root: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """(name, folder, event files) of each folder at or below `root` that has any; the root itself is called `.`.

    A root that is a file is a run of this file alone.

    Links are followed, but no folder is entered twice on one way down, so a loop of links ends.
    """
    if root.is_file():
        yield ".", root.parent, [root.name]
    else:
        yield from _walk(root, ".", frozenset())


def _walk(folder: Path, name: str, above: frozenset[tuple[int, int]]) -> Iterator[tuple[str, Path, list[str]]]:
    try:
        status = folder.stat()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # vanished, or not ours to read: the doctor tells, a board shows what it can
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        return
    files = [entry.name for entry in entries if is_event_file(entry.name) and not _is_folder(entry)]
    if files:
        yield name, folder, files
    for entry in entries:
        if _is_folder(entry):
            below = entry.name if name == "." else f"{name}/{entry.name}"
            yield from _walk(folder / entry.name, below, above | {identity})


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
