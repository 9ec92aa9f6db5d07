# SPDX-License-Identifier: Apache-2.0
"""Walks a folder in the order of the keys, which is not the order of names: `a-b` comes before `a/b`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from aboard.errors import InvalidValue
from aboard.folder_files import opened_folder
from aboard.store.folder_errors import check_root
from aboard.store.keys import check_key, join_key


class _Found(NamedTuple):
    order: str
    """The name, with a slash at its end if it is a folder: sorting by this is sorting by keys."""
    name: str
    is_folder: bool
    state: os.stat_result | None


def list_files(root: Path, folder: str, start_after: str) -> Iterator[tuple[str, os.stat_result]]:
    """Keys and states of all files below `folder` that come after `start_after`."""
    for found in _read(root, folder):
        key = join_key(folder, found.name)
        if found.state is not None:
            if key > start_after:
                yield key, found.state
        elif f"{key}/" > start_after or start_after.startswith(f"{key}/"):
            yield from list_files(root, key, start_after)


def list_subfolders(root: Path, folder: str, start_after: str) -> Iterator[str]:
    """Names of the folders directly in `folder`."""
    for found in _read(root, folder):
        if found.is_folder and (not start_after or found.order > f"{start_after}/"):
            yield found.name


def _read(root: Path, folder: str) -> list[_Found]:
    """What is in one folder, sorted; a missing folder is empty, as in a bucket."""
    try:
        with opened_folder(root, folder) as descriptor, os.scandir(descriptor) as entries:
            return sorted(filter(None, map(_found, entries)))
    except (FileNotFoundError, NotADirectoryError):
        check_root(root)
        return []


def _found(entry: os.DirEntry[str]) -> _Found | None:
    """Nothing for links, pipes, files being written, and names that are no keys."""
    try:
        check_key(entry.name)
        if entry.is_dir(follow_symlinks=False):
            return _Found(f"{entry.name}/", entry.name, True, None)
        if entry.is_file(follow_symlinks=False):
            return _Found(entry.name, entry.name, False, entry.stat(follow_symlinks=False))
    except (InvalidValue, FileNotFoundError):  # the second: deleted meanwhile
        pass
    return None
