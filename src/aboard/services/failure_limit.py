# SPDX-License-Identifier: Apache-2.0
"""How often something may go wrong: so many failures at once, then as many as time forgives; in bounded memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_KEPT = 20_000


class FailureLimit:
    """Counts failures by who caused them. `most` may come at once; one is forgiven every `seconds` / `most`."""

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
