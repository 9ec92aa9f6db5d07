# SPDX-License-Identifier: Apache-2.0
"""The few threads that read from one store, and how many may wait for it at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_THREADS = 4
_WAITING = 24


class StoreReaders:
    """Reads from one store. Who would be one too many to wait is told so at once: threads that answer are few."""

    def __init__(self, *, threads: int = _THREADS, waiting: int = _WAITING) -> None:
        self._threads = ThreadPoolExecutor(threads, "aboard-reading")
        self._waiting = threading.BoundedSemaphore(waiting)

    def submit(self, work: Callable[[], None]) -> Future[None] | None:
        """Have something read; None after `close`."""
        try:
            return self._threads.submit(work)
        except RuntimeError:
            return None

    def wait(self, reading: threading.Event, seconds: float) -> None:
        """Wait for the end of a reading, unless too many do so already."""
        if reading.is_set() or not self._waiting.acquire(blocking=False):
            return
        try:
            reading.wait(seconds)
        finally:
            self._waiting.release()

    def close(self) -> None:
        """Begin nothing any more; what is under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
