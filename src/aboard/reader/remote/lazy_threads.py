# SPDX-License-Identifier: Apache-2.0
"""Threads that are there while there is work: a process may have many stores open that nobody asks for anything."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class LazyThreads:
    """At most `count` threads. `rest` lets go of them until the next call; `close` for good."""

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._is_closed = False

    def submit(
        self, call: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> Future[_Result]:
        """Do something on one of the threads."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("this store was closed")
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._count, thread_name_prefix=self._name)
            return self._threads.submit(call, *args, **kwargs)

    def rest(self) -> None:
        """Let the threads end when they have done what they were given."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)

    def close(self) -> None:
        """Begin nothing more; what is under way is not waited for."""
        with self._lock:
            self._is_closed = True
            threads = self._threads
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
