# SPDX-License-Identifier: Apache-2.0
"""When a store is polled again, and how its failures are reported.

Polling backs off while nothing changes. A problem is logged when it begins and when it is over, however often it is
met. Failures of several runs in a row count as a failure of the store, and the other runs are not tried.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from aboard.errors import AboardError


class PollSchedule:
    """When something is polled next, in seconds of the monotonic clock: soon after a change, less often without one."""

    def __init__(
        self, shortest: float, longest: float, growth: float = 1.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shortest, self._longest, self._growth, self._clock = shortest, longest, growth, clock
        self._pause = shortest
        self.due_at = float("-inf")

    def is_due(self) -> bool:
        return self._clock() >= self.due_at

    def changed(self) -> None:
        """There was something new: poll again soon."""
        self._pause = self._shortest
        self._rest()

    def unchanged(self, longest: float | None = None) -> None:
        """There was nothing, or it failed: wait longer than before."""
        self._rest()
        longest = self._longest if longest is None else longest
        self._pause = max(self._shortest, min(self._pause * self._growth, longest))

    def at_once(self) -> None:
        """Poll as soon as possible."""
        self._pause, self.due_at = self._shortest, float("-inf")

    def never(self) -> None:
        """Do not poll again."""
        self.due_at = float("inf")

    def _rest(self) -> None:
        # Many runs must not all be polled at the same moment.
        self.due_at = self._clock() + self._pause * random.uniform(0.9, 1.0)


_LOG = logging.getLogger("aboard.reader")
_MOST_REPORTED = 20  # of one store: with a thousand damaged runs, the first ones and the count say enough


class ProblemLog:
    """The problems of one store by what they concern; each is logged once while it lasts."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._current: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()

    @property
    def current(self) -> list[str]:
        with self._lock:
            return list(self._current.values())

    def note(self, concerns: str, error: Exception | str) -> None:
        """Note that something cannot be read, and log it unless it was logged before."""
        words = _words(error)
        if concerns not in words and concerns != self._store:
            words = f"{concerns}: {words}"
        with self._lock:
            self._current[concerns] = words
            kind = error.code if isinstance(error, AboardError) else words
            is_new = (concerns, kind) not in self._reported and len(self._reported) < _MOST_REPORTED
            self._reported.add((concerns, kind))
        if is_new:
            place = "" if self._store in words else f"{self._store}: "
            _LOG.warning("%s%s (It is tried again, and all else is shown.)", place, words)

    def solved(self, concerns: str) -> None:
        """Note that it can be read."""
        with self._lock:
            was_there = self._current.pop(concerns, None) is not None
            if was_there:
                self._reported = {reported for reported in self._reported if reported[0] != concerns}
        if was_there:
            _LOG.warning("%s: %s can be read again.", self._store, concerns)


def _words(error: Exception | str) -> str:
    if isinstance(error, AboardError):
        hint = f" {error.hint.rstrip('.')}." if error.hint else ""
        return f"{error.message.rstrip('.')}.{hint}"
    return f"{str(error).rstrip('.')}."


_IN_A_ROW = 4  # of different runs


class StoreFailures:
    """Failures of one round over runs and folders, which several threads report."""

    def __init__(self, problems: ProblemLog) -> None:
        self._problems = problems
        self._count = 0
        self._last: AboardError | None = None
        self.is_stopped = False
        """Whether nobody wants to know any more."""

    def begin(self) -> None:
        self._count = 0

    def succeeded(self, concerns: str) -> None:
        """Something could be read."""
        self._count = 0
        self._problems.solved(concerns)

    def failed(self, concerns: str, error: AboardError) -> None:
        """Something could not be read; it is logged, unless the store itself fails."""
        self._last = error
        self._count += 1
        if not self.gives_up:
            self._problems.note(concerns, error)

    @property
    def gives_up(self) -> bool:
        """Whether nothing else is to be tried in this round."""
        return self._count >= _IN_A_ROW or self.is_stopped

    def refuse_if_all_failed(self, tried: int, *, has_anything: bool) -> None:
        """Where everything fails, it is the store, and one error says so."""
        enough = _IN_A_ROW if has_anything else min(tried, _IN_A_ROW)
        if tried and self._last is not None and self._count >= enough and not self.is_stopped:
            raise self._last
