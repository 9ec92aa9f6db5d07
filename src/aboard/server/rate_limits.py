# SPDX-License-Identifier: Apache-2.0
"""How often something may go wrong: so many failures at once, then as many as time forgives; in bounded memory."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict

_MOST_KEPT = 20_000
clock = time.monotonic


class FailureLimit:
    """Counts failures by who caused them. `most` may come at once; one is forgiven every `seconds` / `most`."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._each = most, seconds / most
        # The moment at which all failures of one are forgiven; the longest untouched is forgotten first.
        self._forgiven: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait_seconds(self, who: str) -> float:
        """How long to wait before the next try; 0 for now."""
        with self._lock:
            forgiven = self._forgiven.get(who, 0.0)
        return max(0.0, forgiven - clock() - self._each * (self._most - 1))

    def failed(self, who: str) -> None:
        """Note a failure."""
        with self._lock:
            at = clock()
            self._forgiven[who] = max(self._forgiven.pop(who, at), at) + self._each
            while len(self._forgiven) > _MOST_KEPT:
                self._forgiven.popitem(last=False)


def network_of(address: str) -> str:
    """Who an address stands for: of IPv6 the network, because one person has as many addresses as they like."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
