# SPDX-License-Identifier: Apache-2.0
"""Files on local disk: opened without following symbolic links, private folders, and files that appear whole.

Files below a root are opened one folder at a time, so that no symbolic link can lead out of it, not even in a race.
A file that must appear whole is written beside its place, forced to the disk and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from pathlib import Path
from typing import IO

from aboard.errors import AboardError, StorageUnavailable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a named pipe must not make us wait


class LinkFound(OSError):
    """A symbolic link stands where a file or folder below a root was expected."""


@contextlib.contextmanager
def opened_folder(root: Path, folder: str, *, create: bool = False) -> Generator[int]:
    """A descriptor of a folder below `root`; with `create` the folders on the way are made."""
    descriptor = os.open(root, _FOLDER)
    try:
        for part in filter(None, folder.split("/")):
            descriptor, above = _step(part, descriptor, create=create), descriptor
            os.close(above)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened_file(root: Path, key: str) -> Generator[tuple[int, os.stat_result]]:
    """A descriptor of a file below `root` to read, and its state when it was opened."""
    folder, _, name = key.rpartition("/")
    with opened_folder(root, folder) as within:
        descriptor = open_at(name, within, os.O_RDONLY)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise IsADirectoryError(errno.EISDIR, "not a file")
        yield descriptor, state
    finally:
        os.close(descriptor)


def make_private_folder(path: Path) -> None:
    """Make a folder and what is missing above it, readable by its owner alone; folders that exist stay as they are."""
    missing = [path, *itertools.takewhile(lambda above: not above.exists(), path.parents)]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def open_at(name: str, folder: int, flags: int) -> int:
    """Open a file in an open folder; a symbolic link is an error of its own."""
    try:
        return os.open(name, flags | _FILE, 0o666, dir_fd=folder)
    except OSError as error:
        raise _with_links_named(error, name, folder) from None


def write_all(descriptor: int, data: bytes | memoryview, position: int) -> None:
    """Write all bytes at a position, whatever the system takes at a time."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, position)
        view, position = view[written:], position + written


def read_all(descriptor: int, start: int, length: int) -> bytes:
    """Read up to `length` bytes at `start`; fewer at the end of the file."""
    pieces: list[bytes] = []
    while length > 0 and (piece := os.pread(descriptor, length, start)):
        pieces.append(piece)
        start, length = start + len(piece), length - len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _step(part: str, above: int, *, create: bool) -> int:
    if part == "..":
        raise OSError(errno.EXDEV, "leads out of the folder")
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        if not create:
            raise
        with contextlib.suppress(FileExistsError):  # another writer made it meanwhile
            os.mkdir(part, dir_fd=above)
        return _step(part, above, create=False)
    except OSError as error:
        raise _with_links_named(error, part, above) from None


def _with_links_named(error: OSError, name: str, folder: int) -> OSError:
    """The error itself, unless a symbolic link is its reason: systems report those as ELOOP or as ENOTDIR."""
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return LinkFound(errno.ELOOP, "symbolic link")
    return error


def aside_name() -> str:
    """A name that no other writer has, and that no reader of event files looks at."""
    return f"{ASIDE_PREFIX}{secrets.token_hex(8)}"


@contextlib.contextmanager
def replaced(path: Path, *, mode: int = 0o666, fsync: bool = False) -> Generator[IO[bytes]]:
    """A file to write that becomes `path` when the block ends well, and vanishes when it does not; raises OSError."""
    aside = path.parent / aside_name()
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            yield file
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


def replace_file(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace the content of a file, whole or not at all; raises OSError."""
    with replaced(path, mode=mode) as file:
        file.write(data)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with its times, whole or not at all; raises OSError."""
    aside = target.parent / aside_name()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, aside)
        aside.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def written_aside(path: Path) -> Generator[IO[bytes]]:
    """As `replaced`, forced to the disk, in a folder that is made; what goes wrong is StorageUnavailable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path, fsync=True) as file:
            yield file
    except OSError as error:
        if isinstance(error, AboardError):
            raise
        raise StorageUnavailable(f"{path} cannot be written: {error.strerror}.") from None


def open_source(path: Path, key: str) -> IO[bytes]:
    """A local file that is about to be put under `key`."""
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        return path.open("rb")
    except OSError as error:
        raise StorageUnavailable(f"{path} cannot be read to put it as {key}: {error.strerror}.") from None


ASIDE_PREFIX = ".aboard-aside-"  # folders write here before they rename
