# SPDX-License-Identifier: Apache-2.0
"""Which failures are those of one file, and which those of the store; files that failed rest for a while."""

from __future__ import annotations

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
from aboard.store.run.logical_file import ManifestOutdated
from aboard.upload.conditions import Conditions
from aboard.upload.scan import Found

REST_SECONDS = 30.0
_OF_THE_STORE = (AccessDenied, CredentialsMissing, CredentialsRefused, NoSuchStore, StoreReadOnly, WrongRegion)


class Superseded(Exception):
    """A later attempt works on the run: this one has nothing more to write."""


def is_about_one_file(error: AboardError) -> bool:
    """Whether other files may well be shipped."""
    if not isinstance(error, StoreError) or isinstance(error, ManifestOutdated):
        return True
    return not error.temporary and not isinstance(error, _OF_THE_STORE)


class RestingFiles:
    """Files that could not be shipped for a reason of their own: said once, tried again after half a minute."""

    def __init__(self, conditions: Conditions, monotonic: Callable[[], float]) -> None:
        self._conditions = conditions
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def add(self, found: Found, reason: str) -> None:
        """Let a file rest."""
        self._until[found.source] = self._monotonic() + REST_SECONDS
        self._conditions.wrong(str(found.path), reason)

    def has(self, found: Found) -> bool:
        """Whether it is too early to try again."""
        return self._until.get(found.source, 0) > self._monotonic()

    def well(self, found: Found) -> None:
        """A file was shipped."""
        if self._until.pop(found.source, None) is not None:
            self._conditions.well(str(found.path), "it is shipped now.")
