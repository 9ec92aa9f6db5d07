# SPDX-License-Identifier: Apache-2.0
"""Tells the other servers that this host is there, and finds out which hosts are not.

A host is a home folder of a machine with all its server processes. Each of them prolongs the lease of the host, and it
runs out by itself when the last one is gone.
"""

from __future__ import annotations

import time

from aboard.catalog.catalog import Catalog

_SECONDS = 30.0
_EVERY, _STEADY = 5.0, 15.0
_LONG_AGO = 86400.0


class BoardHost:
    """The host of this process. Its methods are called by one thread."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self.name = name
        self._catalog = catalog
        self._said = self._since = float("-inf")

    @property
    def is_alone(self) -> bool:
        """Whether no other server can work with the catalog: a file has one at a time, whatever it was called."""
        return not self._catalog.is_shared

    def stay(self) -> None:
        """Say that it is there, often enough."""
        at = time.monotonic()
        if self.is_alone or at - self._said < _EVERY:
            return
        lease = _lease(self.name)
        self._catalog.leases.take(lease, lease, _SECONDS, {})
        if at - self._said > _STEADY:
            self._since = at
            self._catalog.leases.clear(_LONG_AGO)
        self._said = at

    def others_that_live(self) -> set[str] | None:
        """The other hosts that are there; None as long as that cannot be told.

        Who was away itself, or could not reach the database, cannot tell who else could not.
        """
        if self.is_alone:
            return set()
        at = time.monotonic()
        if at - self._since < _SECONDS or at - self._said > _STEADY:
            return None
        return {name.removeprefix(_lease("")) for name in self._catalog.leases.held()}


def _lease(host: str) -> str:
    return f"boards of {host}"
