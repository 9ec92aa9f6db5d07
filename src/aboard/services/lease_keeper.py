# SPDX-License-Identifier: Apache-2.0
"""Sees to it that of several server processes one does what is to be done once, and another when that one is gone."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from aboard.catalog.catalog import Catalog
from aboard.errors import CatalogUnavailable
from aboard.services.repeated_rounds import RepeatedRounds

_log = logging.getLogger("aboard.services")
_SECONDS = 8.0
_EVERY = 2.0
_SAFELY = _SECONDS - 2.0
"""Left off a little before others may begin: answers of the database take time."""


class Lease:
    """One thing to be done by one process. `facts` is what this process tells the others while it does it."""

    def __init__(self, name: str, facts: Callable[[], Mapping[str, Any]] = dict, *, is_ours: bool = False) -> None:
        self.name, self.facts = name, facts
        self.told: Mapping[str, Any] = {}
        """What the process that has it said last."""
        self._until = float("inf") if is_ours else float("-inf")

    @property
    def is_held(self) -> bool:
        """Whether it is for this process to do."""
        return time.monotonic() < self._until

    def hold(self, until: float) -> None:
        """Have it until a moment of this machine's clock."""
        self._until = until


class LeaseKeeper:
    """Takes and prolongs leases on a thread; where there is one process alone, every lease is its own."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._holder = secrets.token_hex(8)
        self._leases: list[Lease] = []
        self._rounds = RepeatedRounds(
            "aboard-leases", self._prolong, looks_after="leases", rest_after_failure=_EVERY, first_after=_EVERY
        )
        if catalog.is_shared:
            self._rounds.start()

    def lease(self, name: str, facts: Callable[[], Mapping[str, Any]] = dict) -> Lease:
        """Try to get a lease from now on; where nobody has it, it is there at once."""
        lease = Lease(name, facts, is_ours=not self._catalog.is_shared)
        if self._catalog.is_shared:
            self._try(lease)
            self._leases = [*self._leases, lease]
        return lease

    def stop(self, seconds: float) -> None:
        """Leave everything to the others."""
        self._rounds.stop()
        if not self._catalog.is_shared:
            return
        self._rounds.join(seconds)
        for lease in self._leases:
            lease.hold(float("-inf"))
        try:
            self._catalog.leases.leave(self._holder)
        except CatalogUnavailable:
            _log.info("Leases run out by themselves: the catalog does not answer.")

    def _prolong(self) -> float:
        for lease in self._leases:
            self._try(lease)
        return _EVERY

    def _try(self, lease: Lease) -> None:
        at = time.monotonic()
        try:
            if self._catalog.leases.take(lease.name, self._holder, _SECONDS, lease.facts()):
                lease.hold(at + _SAFELY)
            else:
                lease.told = self._catalog.leases.facts(lease.name)
        except CatalogUnavailable:
            return  # what is held runs out, as nothing can be done without the catalog
        except Exception:
            _log.exception("The lease of %s could not be prolonged", lease.name)
