# SPDX-License-Identifier: Apache-2.0
"""Folders with event files below a root, named as TensorBoard names runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from aboard.events.file_names import is_event_file

# Links may make one folder appear in several places, and few links can make it very many.
_MOST_WAYS_INTO_A_FOLDER = 64


def find_logdirs(root: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """(name, folder, event files) of each folder at or below `root` that has any; the root itself is called `.`.

    A root that is a file is a run of this file alone. Links are followed, but no folder is entered twice on one way
    down, so a loop of links ends.
    """
    if root.is_file():
        yield ".", root.parent, [root.name]
        return
    ways: Counter[tuple[int, int]] = Counter()
    # Folders still to be entered, the next one last: with its name and the folders above it. Not by recursion, which
    # the depth of a tree would break.
    ahead: list[tuple[Path, str, frozenset[tuple[int, int]]]] = [(root, ".", frozenset())]
    while ahead:
        folder, name, above = ahead.pop()
        try:
            status = folder.stat()
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue  # vanished, or not ours to read: the doctor tells, a board shows what it can
        identity = (status.st_dev, status.st_ino)
        ways[identity] += 1
        if identity in above or ways[identity] > _MOST_WAYS_INTO_A_FOLDER:
            continue
        files = [entry.name for entry in entries if is_event_file(entry.name) and not _is_folder(entry)]
        if files:
            yield name, folder, files
        folders = [entry.name for entry in entries if _is_folder(entry)]
        ahead.extend((folder / below, _joined(name, below), above | {identity}) for below in reversed(folders))


def _joined(name: str, below: str) -> str:
    return below if name == "." else f"{name}/{below}"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
