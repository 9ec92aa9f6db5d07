# SPDX-License-Identifier: Apache-2.0
"""Answers that cost much to make, kept for as long as nothing changes of what they tell.

A page asks for all its curves again at every reload, every 30 seconds when a person wants that.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

_LARGEST_PART = 4  # an answer may take a quarter of the room


class _Kept(NamedTuple):
    stamp: int
    body: bytes


class AnswerCache:
    """The bodies of answers by question, up to a number of bytes; the ones asked for longest ago go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0

    def find(self, question: Hashable, stamp: int) -> bytes | None:
        """The answer that was given when things stood as `stamp` says."""
        with self._lock:
            kept = self._kept.get(question)
            if kept is None or kept.stamp != stamp:
                return None
            self._kept.move_to_end(question)
            return kept.body

    def keep(self, question: Hashable, stamp: int, body: bytes) -> None:
        """Keep an answer that was made after `stamp` was taken."""
        if len(body) > self._most_bytes // _LARGEST_PART:
            return
        with self._lock:
            self._forget(question)
            self._kept[question] = _Kept(stamp, body)
            self._bytes += len(body)
            while self._bytes > self._most_bytes:
                self._forget(next(iter(self._kept)))

    def _forget(self, question: Hashable) -> None:
        kept = self._kept.pop(question, None)
        if kept is not None:
            self._bytes -= len(kept.body)


ANSWERS = AnswerCache(64 << 20)
"""One for all boards of the process."""
