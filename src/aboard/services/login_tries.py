# SPDX-License-Identifier: Apache-2.0
"""How often somebody has tried what opens nothing, counted by all server processes together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from aboard.services.failure_limit import FailureLimit

_MINUTE = 60.0
_PER_ADDRESS, _PER_TOKEN = 30, 10


class LoginTries:
    """Counts by the address that asks, and by the token that it means to have. Safe to use from any thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = FailureLimit(_PER_ADDRESS, _MINUTE, clock=clock)
        self._tokens = FailureLimit(_PER_TOKEN, _MINUTE, clock=clock)
        self._told: Callable[[Mapping[str, str]], None] = lambda _: None

    def pass_on(self, to: Callable[[Mapping[str, str]], None]) -> None:
        """Have `to` called for each try, so that other processes can `hear` of it."""
        self._told = to

    def wait_seconds(self, address: str, token: str = "") -> float:
        """How long to wait before the next try; 0 for now."""
        return max(self._addresses.wait_seconds(address), self._tokens.wait_seconds(token) if token else 0.0)

    def failed(self, address: str, token: str = "") -> None:
        """Note a try that opened nothing."""
        self._count(address, token)
        self._told({"address": address, "token": token})

    def hear(self, facts: Mapping[str, object]) -> None:
        """Note a try through another process."""
        self._count(str(facts.get("address", "")), str(facts.get("token", "")))

    def _count(self, address: str, token: str) -> None:
        self._addresses.failed(address)
        if token:
            self._tokens.failed(token)
