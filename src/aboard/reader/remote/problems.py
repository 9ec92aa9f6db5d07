# SPDX-License-Identifier: Apache-2.0
"""What cannot be read from a store: told once when it begins and once when it is over, however often it is met."""

from __future__ import annotations

import logging
import threading

from aboard.errors import AboardError

_LOG = logging.getLogger("aboard.reader")
_MOST_TOLD = 20  # of one store: with a thousand damaged runs, the first ones and the count say enough


class Problems:
    """The problems of one store, by what they concern."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._current: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()

    @property
    def current(self) -> list[str]:
        """Those that there are now, in words."""
        with self._lock:
            return list(self._current.values())

    def note(self, concerns: str, error: Exception | str) -> None:
        """Note that something cannot be read, and tell it unless it was told before."""
        words = _words(error)
        if concerns not in words and concerns != self._store:
            words = f"{concerns}: {words}"
        with self._lock:
            self._current[concerns] = words
            kind = error.code if isinstance(error, AboardError) else words
            is_new = (concerns, kind) not in self._told and len(self._told) < _MOST_TOLD
            self._told.add((concerns, kind))
        if is_new:
            place = "" if self._store in words else f"{self._store}: "
            _LOG.warning("%s%s (It is tried again, and all else is shown.)", place, words)

    def solved(self, concerns: str) -> None:
        """Note that it can be read."""
        with self._lock:
            was_there = self._current.pop(concerns, None) is not None
            if was_there:
                self._told = {told for told in self._told if told[0] != concerns}
        if was_there:
            _LOG.warning("%s: %s can be read again.", self._store, concerns)


def _words(error: Exception | str) -> str:
    if isinstance(error, AboardError):
        hint = f" {error.hint.rstrip('.')}." if error.hint else ""
        return f"{error.message.rstrip('.')}.{hint}"
    return f"{str(error).rstrip('.')}."
