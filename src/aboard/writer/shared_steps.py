# SPDX-License-Identifier: Apache-2.0
"""Counters that threads and processes share: each number of a series is given out exactly once, from 0."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

_COUNTER_BYTES = 8


class SharedSteps:
    """One small file per series below a private folder; the lock on it is what processes share.

    Copies made by pickling or fork count on the same numbers. The process that made the first one removes the folder.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="aboard-steps-"))
        self._owner = os.getpid()
        self._threads = threading.Lock()
        atexit.register(self._remove_folder)

    def next(self, series: str) -> int:
        """The next number of `series`."""
        name = hashlib.sha256(series.encode("utf-8", "surrogatepass")).hexdigest()
        # Locks of fcntl belong to the process and end when any descriptor of the file is closed: hence the thread lock.
        with self._threads, _locked(self._folder / name) as counter:
            number = int.from_bytes(os.pread(counter, _COUNTER_BYTES, 0), "little")
            os.pwrite(counter, (number + 1).to_bytes(_COUNTER_BYTES, "little"), 0)
            return number

    def _remove_folder(self) -> None:
        if os.getpid() == self._owner:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __getstate__(self) -> dict[str, object]:
        return {"_folder": self._folder, "_owner": self._owner}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._threads = threading.Lock()


class _locked:  # noqa: N801 - reads as a verb phrase where it is used
    """An exclusive lock on a file, made when missing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> int:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
