# SPDX-License-Identifier: Apache-2.0
"""The few threads that read from one store, and how many may wait for it at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from aboard.errors import StoreUnreachable

_THREADS = 6
_ANSWER_SECONDS = 30.0
_WAITING = 24
_T = TypeVar("_T")


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

    def call(self, work: Callable[[], _T], seconds: float = _ANSWER_SECONDS) -> _T:
        """Have something done, and wait for it."""
        if not self._waiting.acquire(blocking=False):
            raise StoreUnreachable("too many wait for this store already", hint="try again in a while")
        try:
            future = self._threads.submit(work)
        except RuntimeError as error:
            self._waiting.release()
            raise StoreUnreachable("the server is ending", hint="ask again when it is back") from error
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise StoreUnreachable(f"the store has not answered for {seconds:g} s", hint="try again later") from None
        finally:
            self._waiting.release()

    def close(self) -> None:
        """Begin nothing any more; what is under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
