# SPDX-License-Identifier: Apache-2.0
"""A lock that one process holds and the system drops when that process ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path

_LOOK_SECONDS = 0.05


def lock_descriptor(descriptor: int, *, shared: bool = False, wait: bool = False) -> None:
    """Lock an open file or folder until its descriptor is closed.

    Raises BlockingIOError when it is held and `wait` is false, and other OSErrors where there are no locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock on a file that is there; raises OSError."""
    with path.open("rb") as file:
        try:
            lock_descriptor(file.fileno(), shared=True)
        except BlockingIOError:
            return True
    return False


@contextlib.contextmanager
def locked(path: Path, *, seconds: float | None = None) -> Generator[None]:
    """Wait for the lock on a file and hold it during the block; raises LockHeld after `seconds` of waiting."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                lock_descriptor(file, wait=end is None)
                break
            except BlockingIOError:
                if end is not None and time.monotonic() > end:
                    raise LockHeld("") from None
                time.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(file)


class LockHeld(Exception):
    """Another process has the lock; `holder` is its number as text, or empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"held by process {holder or 'unknown'}")
        self.holder = holder


class ProcessLock:
    """The lock on a file, whose text is the number of the process that holds it. Taking it may raise OSError."""

    def __init__(self, path: Path, *, mode: int = 0o600) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            lock_descriptor(self._file)
        except OSError:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise LockHeld(holder) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it; the file stays, because removing it would let two hold locks on two files."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.close(self._file)
