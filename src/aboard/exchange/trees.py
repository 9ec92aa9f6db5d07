# SPDX-License-Identifier: Apache-2.0
"""Every folder at or below a root, and what is wrong on the way: the folders of a board, with nothing kept silent."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aboard.events.file_names import is_event_file
from aboard.exchange.findings import Finding

# As for a board: links may make one folder appear in several places, and few links can make it very many.
_MOST_WAYS_INTO_A_FOLDER = 64
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder that was entered, named from the root, which is called `.`."""

    name: str
    path: Path
    event_files: list[str]
    other_files: list[str]
    links: list[str]  # that were not followed because the caller wants them as they are


def walk(
    root: Path,
    tell: Callable[[Finding], None],
    *,
    is_kept: Callable[[Path], bool] = lambda _: False,
    is_left_out: Callable[[_Identity], bool] = lambda _: False,
) -> Iterator[Folder]:
    """The folders at or below `root`, parents first and in the order of their names.

    A root that is a file is a folder of this file alone. Links are followed, except those that `is_kept` claims, but no
    folder is entered twice on one way down, so a loop of links ends. Folders that `is_left_out` claims are passed over.
    """
    if not root.is_dir():
        yield Folder(".", root.parent, [root.name], [], [])
        return
    ways: Counter[_Identity] = Counter()
    # Folders still to be entered, the next one last. Not by recursion, which the depth of a tree would break.
    ahead: list[tuple[Path, str, frozenset[_Identity], bool]] = [(root, ".", frozenset(), False)]
    while ahead:
        path, name, above, is_below_link = ahead.pop()
        try:
            status = path.stat()
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue  # it was there a moment ago
        except OSError as error:
            tell(_unreadable(path, error))
            continue
        identity = (status.st_dev, status.st_ino)
        if is_left_out(identity):
            continue
        if identity in above:
            tell(Finding("link-loop", str(path), "this link leads back to a folder above it; it is not followed"))
            continue
        ways[identity] += is_below_link
        if is_below_link and ways[identity] > _MOST_WAYS_INTO_A_FOLDER:
            tell(Finding("many-ways", str(path), "links have led to this folder 64 times already; it is passed over"))
            continue
        folder = Folder(name, path, [], [], [])
        below = [entry for entry in entries if _takes_in(folder, entry, tell, is_kept)]
        yield folder
        start = "" if name == "." else f"{name}/"
        for entry in reversed(below):
            below_link = is_below_link or entry.is_symlink()
            ahead.append((path / entry.name, start + entry.name, above | {identity}, below_link))


def _takes_in(
    folder: Folder, entry: os.DirEntry[str], tell: Callable[[Finding], None], is_kept: Callable[[Path], bool]
) -> bool:
    """Put an entry into its place; True when it is a folder to be entered."""
    if entry.is_symlink() and is_kept(folder.path / entry.name):
        folder.links.append(entry.name)
        return False
    try:
        if entry.is_dir():
            return True
    except OSError as error:
        # An event file is told of when it is read.
        if not is_event_file(entry.name):
            tell(_unreadable(folder.path / entry.name, error))
            return False
    (folder.event_files if is_event_file(entry.name) else folder.other_files).append(entry.name)
    return False


def _unreadable(path: Path, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        return Finding("link-loop", str(path), "this link leads to itself")
    words = f"cannot be listed: {error.strerror}"
    return Finding("unreadable-folder", str(path), words, details={"errno": error.errno})
