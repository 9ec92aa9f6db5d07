# SPDX-License-Identifier: Apache-2.0
"""Reads local files that others are writing: what comes is what was asked for, or an error says that it changed."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

from aboard.foundation.files import ASIDE_PREFIX
from aboard.upload.scan import Identity, identity_of

PIECE_BYTES = 1 << 20
_COPIES = 3
_SETTLE_SECONDS = 0.1


class SourceChanged(Exception):
    """A file was changed while it was read: look at it again later."""


class SourceUnreadable(Exception):
    """A file cannot be read; the text says why."""


def _open(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SourceChanged(f"{path} was deleted.") from None
    except OSError as error:
        raise SourceUnreadable(f"The file cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise SourceChanged(f"{path} is no longer a file.")
    return file


@contextlib.contextmanager
def opened(path: Path) -> Generator[int]:
    """A descriptor of a plain file."""
    file = _open(path)
    try:
        yield file
    finally:
        os.close(file)


class HeldFile:
    """A file that is kept open, so that its content stays readable after another file has taken its name."""

    def __init__(self, path: Path, now: float) -> None:
        self._file: int | None = _open(path)
        self._identity = identity(self._file)
        self._since = now

    def seconds_unchanged(self, now: float) -> float | None:
        """For how long nobody has written to it; None if somebody has since it was opened."""
        return now - self._since if identity(self.descriptor) == self._identity else None

    @property
    def descriptor(self) -> int:
        assert self._file is not None
        return self._file

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        if hasattr(self, "_file"):  # not when it could not be opened
            self.close()


def identity(file: int) -> Identity:
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

    @property
    def modified(self) -> float:
        """When the file was last written."""
        return self.identity.modified_ns / 1e9

    def __iter__(self) -> Iterator[bytes]:
        crc = 0
        for piece in pieces(self._file, 0, self.identity.size):
            crc = zlib.crc32(piece, crc)
            yield piece
        if identity(self._file) != self.identity:
            raise SourceChanged("The file was written while it was read.")
        self.crc32 = crc


class SettledCopy(Snapshot):
    """A copy of a file that is written all the time: nobody reads it but its owner, so that reading it never fails."""

    def __init__(self, file: int, source: Snapshot) -> None:
        super().__init__(file)
        self._source = source

    @property
    def modified(self) -> float:
        return self._source.modified


@contextlib.contextmanager
def settled_copy(path: Path, largest: int) -> Generator[SettledCopy]:
    """Copy a file at a moment at which nobody writes to it.

    The copy counts if the file has not changed for a tenth of a second after it, or has only grown: by appending to
    what is as large as the `largest` size seen, not by a rewrite that had just begun. Anything else may be half of two
    versions, and is never handed out.
    """
    for _ in range(_COPIES):
        with opened(path) as file, _scratch(path.parent) as copy:
            source = Snapshot(file)
            try:
                for piece in source:
                    copy.write(piece)
                copy.flush()
            except SourceChanged:
                continue
            except OSError as error:
                raise SourceUnreadable(
                    f"The file changes all the time and cannot be copied: {error.strerror}."
                ) from None
            settle()
            if source.identity.size and _is_settled(file, source, largest):
                yield SettledCopy(copy.fileno(), source)
                return
    raise SourceChanged("The file is written all the time.")


def settle() -> None:
    """Wait as long as most programs need from the beginning of a rewrite to its end."""
    time.sleep(_SETTLE_SECONDS)


def _is_settled(file: int, source: Snapshot, largest: int) -> bool:
    now, then = identity(file), source.identity
    if now == then:
        return True
    try:
        return now.size > then.size >= largest and checksum(file, 0, then.size) == source.crc32
    except SourceChanged:
        return False


def _scratch(folder: Path) -> IO[bytes]:
    """A file without a name beside the original, where there is most likely room for it; else where there is any."""
    try:
        return tempfile.TemporaryFile(dir=folder, prefix=ASIDE_PREFIX)
    except OSError:
        return tempfile.TemporaryFile()
