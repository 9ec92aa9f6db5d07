# SPDX-License-Identifier: Apache-2.0
"""Counts what a store was asked: requests by kind, bytes in and out; safe on threads.

Requests are those that the store decided to make. What the network layer repeats after a fault is not seen here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class TrafficCount:
    """What was counted up to one moment."""

    requests: Mapping[str, int]
    """By kind: get, head, list, put, append, delete."""
    bytes_in: int
    bytes_out: int

    @property
    def total_requests(self) -> int:
        return sum(self.requests.values())

    def __sub__(self, earlier: TrafficCount) -> TrafficCount:
        """What came between two counts."""
        kinds = {kind: count - earlier.requests.get(kind, 0) for kind, count in self.requests.items()}
        between = {kind: count for kind, count in kinds.items() if count}
        return TrafficCount(between, self.bytes_in - earlier.bytes_in, self.bytes_out - earlier.bytes_out)


class Traffic:
    """The counters of one store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._bytes_in = 0
        self._bytes_out = 0

    def add(self, kind: str, requests: int = 1, *, bytes_in: int = 0, bytes_out: int = 0) -> None:
        """Count requests of one kind, or bytes that came with them."""
        with self._lock:
            if requests:
                self._requests[kind] += requests
            self._bytes_in += bytes_in
            self._bytes_out += bytes_out

    def count(self) -> TrafficCount:
        """The counters now."""
        with self._lock:
            return TrafficCount(MappingProxyType(dict(self._requests)), self._bytes_in, self._bytes_out)
