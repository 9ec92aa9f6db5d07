# SPDX-License-Identifier: Apache-2.0
"""The rate limit of failed login attempts, counted by all server processes together, in bounded memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

_MOST_KEPT = 20_000


class FailureRateLimit:
    """A token bucket per key: `most` failures may come at once, and one more every `seconds` / `most`."""

    def __init__(self, most: int, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._each, self._clock = most, seconds / most, clock
        # The moment at which all failures of one are forgiven; the longest untouched is forgotten first.
        self._forgiven: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, who: str) -> float:
        """How long to wait before the next try; 0 for now."""
        with self._lock:
            forgiven = self._forgiven.get(who, 0.0)
        return max(0.0, forgiven - self._clock() - self._each * (self._most - 1))

    def failed(self, who: str) -> None:
        """Note a failure."""
        with self._lock:
            at = self._clock()
            self._forgiven[who] = max(self._forgiven.pop(who, at), at) + self._each
            while len(self._forgiven) > _MOST_KEPT:
                self._forgiven.popitem(last=False)


_MINUTE = 60.0
_PER_ADDRESS, _PER_TOKEN = 30, 10


class LoginAttempts:
    """Counts failed login attempts by client address and by token. Safe to use from any thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = FailureRateLimit(_PER_ADDRESS, _MINUTE, clock=clock)
        self._tokens = FailureRateLimit(_PER_TOKEN, _MINUTE, clock=clock)
        self._pass_on: Callable[[Mapping[str, str]], None] = lambda _: None

    def pass_on(self, to: Callable[[Mapping[str, str]], None]) -> None:
        """Have `to` called for each failed attempt, so that other processes can `hear` of it."""
        self._pass_on = to

    def wait_seconds(self, address: str, token: str = "") -> float:
        """How long to wait before the next try; 0 for now."""
        return max(self._addresses.wait_seconds(address), self._tokens.wait_seconds(token) if token else 0.0)

    def failed(self, address: str, token: str = "") -> None:
        """Count a failed attempt."""
        self._count(address, token)
        self._pass_on({"address": address, "token": token})

    def hear(self, facts: Mapping[str, object]) -> None:
        """Count a failed attempt at another process."""
        self._count(str(facts.get("address", "")), str(facts.get("token", "")))

    def _count(self, address: str, token: str) -> None:
        self._addresses.failed(address)
        if token:
            self._tokens.failed(token)
