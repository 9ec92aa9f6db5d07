# SPDX-License-Identifier: Apache-2.0
"""Unpacking that writes nothing outside its folder, and leaves no link that leads out of it.

Python's own filters are not used: there are none before 3.11.4, and those of many later versions pass a link whose way
is changed by a link that comes after it.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable


def extract_below(archive: tarfile.TarFile, folder: str | os.PathLike[str]) -> None:
    """Unpack all of an archive into a folder, which is empty or not there."""
    root, entries = Path(folder), archive.getmembers()
    links = {posixpath.normpath(entry.name): entry for entry in entries if entry.issym()}
    for entry in entries:
        if not _stays_below(entry, links):
            raise _refused(entry)
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Files before all links, so that nothing is ever written through one.
        for entry in entries:
            if not entry.issym():
                _write(archive, entry, root / entry.name)
        _link(root, links)
    except OSError as error:
        raise StorageUnavailable(f"the source cannot be unpacked into {root}: {error.strerror}") from error


def _stays_below(entry: tarfile.TarInfo, links: Iterable[str]) -> bool:
    """Whether its name says where it is: no way up, through no link, and itself none unless it is one."""
    if not (entry.isreg() or entry.isdir() or entry.islnk() or entry.issym()):
        return False
    parts = posixpath.normpath(entry.name).split("/")
    passed = {"/".join(parts[:length]) for length in range(1, len(parts) + (0 if entry.issym() else 1))}
    return not posixpath.isabs(entry.name) and ".." not in entry.name.split("/") and passed.isdisjoint(links)


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, place: Path) -> None:
    """A folder or file. Of its rights only that it can be executed is kept; it belongs to who unpacks it."""
    if entry.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    try:
        content = archive.extractfile(entry)  # of a hard link, what it is a link to within the archive
    except KeyError:
        content = None
    if content is None:
        raise _refused(entry)
    place.parent.mkdir(parents=True, exist_ok=True)
    with content, place.open("wb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(0o755 if entry.mode & 0o100 else 0o644)
    os.utime(place, (entry.mtime, entry.mtime))


def _link(root: Path, links: dict[str, tarfile.TarInfo]) -> None:
    for name, entry in links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(entry.linkname)
    below = os.path.realpath(root)
    # Where a link leads is known only when all the others are there.
    for name, entry in links.items():
        if posixpath.isabs(entry.linkname) or not Path(os.path.realpath(root / name)).is_relative_to(below):
            for each in links:
                (root / each).unlink()
            raise _refused(entry)


def _refused(entry: tarfile.TarInfo) -> InvalidValue:
    hint = "submit the job again from a folder without it"
    return InvalidValue(f"the archive has {entry.name!r}, which does not stay in its folder", hint=hint)
