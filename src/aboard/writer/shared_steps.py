# SPDX-License-Identifier: Apache-2.0
"""Counters that threads and processes share: each number of a series is given out exactly once, from 0."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Generator
from multiprocessing.util import Finalize
from pathlib import Path

from aboard.writer.lifecycle import renew_in_child

_COUNTER_BYTES = 8


class SharedSteps:
    """One small file per series below a private folder; the lock on it is what processes share.

    Copies made by pickling or fork count on the same numbers. The process that made the first one removes the folder
    at its end, after the children that multiprocessing waits for.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="aboard-steps-"))
        self.become_child()
        renew_in_child(self)
        Finalize(None, shutil.rmtree, (self._folder,), {"ignore_errors": True}, exitpriority=-100)

    def become_child(self) -> None:
        """Have a lock that no thread of the parent holds."""
        self._threads = threading.RLock()  # a signal handler may log in the middle of `next`

    def next(self, series: str) -> int:
        """The next number of `series`."""
        name = hashlib.sha256(series.encode("utf-8", "surrogatepass")).hexdigest()
        # Locks of fcntl belong to the process and end when any descriptor of the file is closed: hence the thread lock.
        with self._threads, _locked(self._folder / name) as counter:
            number = int.from_bytes(os.pread(counter, _COUNTER_BYTES, 0), "little")
            os.pwrite(counter, (number + 1).to_bytes(_COUNTER_BYTES, "little"), 0)
            return number

    def __getstate__(self) -> dict[str, object]:
        return {"_folder": self._folder}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.become_child()
        renew_in_child(self)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[int]:
    """An exclusive lock on a file, made when missing."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
