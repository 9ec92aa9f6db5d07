# SPDX-License-Identifier: Apache-2.0
"""When something is asked again: soon after it changed, ever more seldom while it does not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable


class Pace:
    """Times of questions, in seconds of the monotonic clock."""

    def __init__(
        self, shortest: float, longest: float, growth: float = 1.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._shortest, self._longest, self._growth, self._clock = shortest, longest, growth, clock
        self._pause = shortest
        self.due_at = float("-inf")

    def is_due(self) -> bool:
        """Whether it is time."""
        return self._clock() >= self.due_at

    def changed(self) -> None:
        """There was something new: ask again soon."""
        self._pause = self._shortest
        self._rest()

    def unchanged(self, longest: float | None = None) -> None:
        """There was nothing, or it failed: wait longer than before."""
        self._rest()
        longest = self._longest if longest is None else longest
        self._pause = max(self._shortest, min(self._pause * self._growth, longest))

    def at_once(self) -> None:
        """Ask as soon as possible."""
        self._pause, self.due_at = self._shortest, float("-inf")

    def never(self) -> None:
        """Do not ask again."""
        self.due_at = float("inf")

    def _rest(self) -> None:
        # Many runs must not all be asked in the same moment.
        self.due_at = self._clock() + self._pause * random.uniform(0.9, 1.0)
