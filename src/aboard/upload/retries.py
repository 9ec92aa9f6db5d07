# SPDX-License-Identifier: Apache-2.0
"""The retry rule of uploads: what is retried, when, and how failures are reported.

Errors of the store (network, credentials) stop a lane, which backs off exponentially up to a minute. Errors of one file
delay that file alone, for half a minute. Each change for the worse or the better is logged once.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable

from aboard.errors import (
    AboardError,
    AccessDenied,
    CredentialsMissing,
    CredentialsRefused,
    NoSuchStore,
    StoreError,
    StoreReadOnly,
    WrongRegion,
)
from aboard.store.run.run_folder import ManifestOutdated
from aboard.upload.scan import LocalFile

USUAL_SECONDS = 1.0
LONGEST_SECONDS = 60.0
LOOKING_SHARE = 0.1


class UploadPace:
    """The pauses of one loop, `usual_seconds` while all is well."""

    def __init__(self, usual_seconds: float = USUAL_SECONDS) -> None:
        self._usual_seconds = usual_seconds
        self._failures = 0

    def after_success(self, looking_seconds: float) -> float:
        """Looking takes at most a tenth of the time."""
        self._failures = 0
        return max(self._usual_seconds - looking_seconds, looking_seconds / LOOKING_SHARE, 0.05)

    def after_failure(self) -> float:
        """Twice as long each time, up to a minute, and never in step with others."""
        self._failures += 1
        longest = min(LONGEST_SECONDS, self._usual_seconds * 2.0 ** min(self._failures, 10))
        return longest * random.uniform(0.5, 1.0)


_log = logging.getLogger("aboard.upload")


class UploadProblems:
    """Current problems by subject; each change is logged once."""

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
        with self._lock:
            return dict(self._wrong)


REST_SECONDS = 30.0
_OF_THE_STORE = (AccessDenied, CredentialsMissing, CredentialsRefused, NoSuchStore, StoreReadOnly, WrongRegion)


class Superseded(Exception):
    """A later attempt works on the run: this one has nothing more to write."""


def is_about_one_file(error: AboardError) -> bool:
    """Whether other files may well be shipped."""
    if not isinstance(error, StoreError) or isinstance(error, ManifestOutdated):
        return True
    return not error.temporary and not isinstance(error, _OF_THE_STORE)


class FailedFiles:
    """Files that could not be uploaded for a reason of their own: logged once, retried after half a minute."""

    def __init__(self, conditions: UploadProblems, monotonic: Callable[[], float]) -> None:
        self._conditions = conditions
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def add(self, found: LocalFile, reason: str) -> None:
        self._until[found.source] = self._monotonic() + REST_SECONDS
        self._conditions.wrong(str(found.path), reason)

    def has(self, found: LocalFile) -> bool:
        """Whether it is too early to try again."""
        return self._until.get(found.source, 0) > self._monotonic()

    def well(self, found: LocalFile) -> None:
        if self._until.pop(found.source, None) is not None:
            self._conditions.well(str(found.path), "it is shipped now.")
