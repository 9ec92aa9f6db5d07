# SPDX-License-Identifier: Apache-2.0
"""Work on many runs or folders at once, in which the slow ones do not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import Any

from aboard.reader.remote.lazy_threads import LazyThreads

_AT_ONCE = 32  # each waits for one answer after the other
_WAIT_SECONDS = 5.0  # for those that answer slowly, before the others are asked again


class UnitWork:
    """Threads, and the keys of what somebody is still waiting for."""

    def __init__(self) -> None:
        self._threads = LazyThreads(_AT_ONCE, "aboard-store")
        self._busy: set[str] = set()
        self.submit = self._threads.submit
        self.rest = self._threads.rest
        self.close = self._threads.close

    def is_busy(self, key: str) -> bool:
        """Whether the work on something has not come to its end."""
        return key in self._busy

    def late(self, work: Iterable[Future[Any]], *, patient: bool) -> set[Future[Any]]:
        """Wait, for all who is patient, else a moment; what is not done by then."""
        return wait(list(work), None if patient else _WAIT_SECONDS).not_done

    def leave_alone(self, key: str, work: Future[Any], then: Callable[[bool], None] = lambda _: None) -> None:
        """Do not touch something until the work on it has come to its end."""
        self._busy.add(key)

        def ended(done: Future[Any]) -> None:
            try:
                then(not done.cancelled() and bool(done.result()))
            finally:
                self._busy.discard(key)

        work.add_done_callback(ended)
