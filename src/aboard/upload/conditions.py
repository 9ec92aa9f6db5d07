# SPDX-License-Identifier: Apache-2.0
"""Tells people how shipping goes, each change once: a store that cannot be reached, a file that cannot be read."""

from __future__ import annotations

import logging
import threading

from aboard.errors import AboardError

_log = logging.getLogger("aboard.upload")


class Conditions:
    """What is wrong at the moment, by subject."""

    def __init__(self, destination: str) -> None:
        self._destination = destination
        self._lock = threading.Lock()
        self._wrong: dict[str, str] = {}
        self._store_errors: dict[str, tuple[str, str]] = {}
        """By lane: code and message."""

    def wrong(self, subject: str, text: str) -> None:
        """Something is wrong with a subject; said when it was well before or something else was wrong."""
        with self._lock:
            known = self._wrong.get(subject) == text
            self._wrong[subject] = text
        if not known:
            _log.warning("%s: %s", subject, text)

    def well(self, subject: str, text: str = "it goes on.") -> None:
        """A subject is well; said when it was not."""
        with self._lock:
            was_wrong = self._wrong.pop(subject, None) is not None
        if was_wrong:
            _log.info("%s: %s", subject, text)

    def store_failed(self, lane: str, error: AboardError) -> None:
        """The store refuses or cannot be reached; shipping tries again."""
        with self._lock:
            known = error.code in {code for code, _ in self._store_errors.values()}
            self._store_errors[lane] = error.code, error.message
        if not known:
            place = "" if self._destination in error.message else f"{self._destination}: "
            text = f"{place}{error.message} Everything is kept here and shipped later. {error.hint}"
            _log.warning("%s", text.rstrip())

    def store_well(self, lane: str) -> None:
        """The store took what it was given."""
        with self._lock:
            was_failing = self._store_errors.pop(lane, None) is not None
            is_well = was_failing and not self._store_errors
        if is_well:
            _log.info("%s: the store takes files again.", self._destination)

    @property
    def store_error(self) -> str:
        """Why the store takes nothing, or not everything; empty when it does."""
        with self._lock:
            return next((message for _, message in self._store_errors.values()), "")

    def superseded(self) -> None:
        """Another attempt has taken the run."""
        text = "A later attempt works on this run, so nothing more is shipped from here. The files stay where they are."
        self.wrong(self._destination, text)

    def note(self, subject: str, text: str) -> None:
        """Something happened that a person may want to know."""
        _log.info("%s: %s", subject, text)

    @property
    def all(self) -> dict[str, str]:
        """What is wrong now."""
        with self._lock:
            return dict(self._wrong)
