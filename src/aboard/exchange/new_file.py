# SPDX-License-Identifier: Apache-2.0
"""A file that is there as a whole or not at all: written aside, made durable, then given its name."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Self

from aboard.errors import StorageUnavailable


class NewFile:
    """The file `target` while it is written. Without `finish`, nothing stays behind.

    It is made within the `with`: Ctrl-C between a file's making and the block would leave it behind.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        # Not a name that any reader would take for an event file.
        self._aside = target.parent / f".aboard-{os.getpid()}.partial"
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        with contextlib.suppress(OSError):  # finished, it has another name
            self._aside.unlink()

    @property
    def descriptor(self) -> int:
        """Where to write; makes the file when it is not there yet."""
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise cannot_write(self._target, error) from error
        return self._descriptor

    def write(self, data: bytes) -> None:
        """Add bytes."""
        view, descriptor = memoryview(data), self.descriptor
        try:
            while view:
                view = view[os.write(descriptor, view) :]
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def finish(self, like: os.stat_result) -> None:
        """Give the file the mode and times of another, make it durable and put it in its place."""
        descriptor = self.descriptor
        try:
            # Its owner may always read it, else the copy could not be checked.
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode) | stat.S_IRUSR)
            os.utime(descriptor, ns=(like.st_atime_ns, like.st_mtime_ns))
            os.fsync(descriptor)
            self._close()
            self._aside.rename(self._target)
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def cannot_write(path: Path, error: OSError) -> StorageUnavailable:
    """What to say when the copy cannot be written."""
    return StorageUnavailable(
        f"cannot write {str(path)!r}: {error.strerror}",
        hint="what was copied before is whole and stays; make room or choose another folder, and start again",
    )
