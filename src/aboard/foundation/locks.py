# SPDX-License-Identifier: Apache-2.0
"""A lock that one process holds and the system drops when that process ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Wait for the lock on a file and hold it during the block."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
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
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
