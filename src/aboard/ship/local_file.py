# SPDX-License-Identifier: Apache-2.0
"""Reads local files that others are writing: what comes is what was asked for, or an error says that it changed."""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

from aboard.ship.scan import Identity, identity_of

PIECE_BYTES = 1 << 20


class SourceChanged(Exception):
    """A file was changed while it was read: look at it again later."""


class SourceUnreadable(Exception):
    """A file cannot be read; the text says why."""


@contextlib.contextmanager
def opened(path: Path) -> Generator[int]:
    """A descriptor of a plain file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SourceChanged(f"{path} was deleted.") from None
    except OSError as error:
        raise SourceUnreadable(f"The file cannot be read: {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise SourceChanged(f"{path} is no longer a file.")
        yield file
    finally:
        os.close(file)


def identity(file: int) -> Identity:
    """The state of an open file now."""
    return identity_of(os.fstat(file))


def pieces(file: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes of a range, all of them, a megabyte at a time."""
    while start < end:
        try:
            piece = os.pread(file, min(PIECE_BYTES, end - start), start)
        except OSError as error:
            raise SourceUnreadable(f"The file cannot be read: {error.strerror}.") from None
        if not piece:
            raise SourceChanged("The file became shorter.")
        start += len(piece)
        yield piece


def read(file: int, start: int, end: int) -> bytes:
    """The bytes of a range, all of them."""
    return b"".join(pieces(file, start, end))


def checksum(file: int, start: int, end: int, before: int = 0) -> int:
    """The crc32 of a range, going on from `before`."""
    crc = before
    for piece in pieces(file, start, end):
        crc = zlib.crc32(piece, crc)
    return crc


class Snapshot:
    """The content of a file at one moment: reading it to the end fails if anybody wrote meanwhile."""

    def __init__(self, file: int) -> None:
        self._file = file
        self.identity = identity(file)
        self.crc32 = 0

    def __iter__(self) -> Iterator[bytes]:
        crc = 0
        for piece in pieces(self._file, 0, self.identity.size):
            crc = zlib.crc32(piece, crc)
            yield piece
        if identity(self._file) != self.identity:
            raise SourceChanged("The file was written while it was read.")
        self.crc32 = crc
