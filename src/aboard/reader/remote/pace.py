# SPDX-License-Identifier: Apache-2.0
"""When something is asked again: soon after it changed, ever more seldom while it does not."""

from __future__ import annotations

import random
import time


class Pace:
    """Times of questions, in seconds of the monotonic clock."""

    def __init__(self, shortest: float, longest: float, growth: float = 1.5) -> None:
        self._shortest, self._longest, self._growth = shortest, longest, growth
        self._pause = shortest
        self.due_at = float("-inf")

    def is_due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self.due_at

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
        self.due_at = time.monotonic() + self._pause * random.uniform(0.9, 1.0)
