# SPDX-License-Identifier: Apache-2.0
"""Leases by which several servers of one catalog agree who does what.

One server process at a time follows a store or applies retention; another takes over when its lease expires.
A host, which is a home folder of a machine with all its server processes, has a lease of its own: each of its
processes renews it, and the boards of a host whose lease has expired are taken over by others.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from aboard.catalog.catalog import Catalog
from aboard.errors import CatalogUnavailable
from aboard.services.periodic_task import PeriodicTask

_log = logging.getLogger("aboard.services")
_SECONDS = 8.0
_EVERY = 2.0
_SAFELY = _SECONDS - 2.0
"""Left off a little before others may begin: answers of the database take time."""


class Lease:
    """One thing to be done by one process. `facts` is what this process tells the others while it does it."""

    def __init__(self, name: str, facts: Callable[[], Mapping[str, Any]] = dict, *, is_ours: bool = False) -> None:
        self.name, self.facts = name, facts
        self.holder_facts: Mapping[str, Any] = {}
        """The newest facts of the process that holds it."""
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
        self._task = PeriodicTask(
            "aboard-leases", self._prolong, looks_after="leases", rest_after_failure=_EVERY, first_after=_EVERY
        )
        if catalog.is_shared:
            self._task.start()

    def lease(self, name: str, facts: Callable[[], Mapping[str, Any]] = dict) -> Lease:
        """Try to get a lease from now on; where nobody has it, it is there at once."""
        lease = Lease(name, facts, is_ours=not self._catalog.is_shared)
        if self._catalog.is_shared:
            self._try(lease)
            self._leases = [*self._leases, lease]
        return lease

    def stop(self, seconds: float) -> None:
        """Leave everything to the others."""
        self._task.stop()
        if not self._catalog.is_shared:
            return
        self._task.join(seconds)
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
                lease.holder_facts = self._catalog.leases.facts(lease.name)
        except CatalogUnavailable:
            return  # what is held runs out, as nothing can be done without the catalog
        except Exception:
            _log.exception("The lease of %s could not be prolonged", lease.name)


_HOST_SECONDS = 30.0
_HOST_EVERY, _HOST_STEADY = 5.0, 15.0
_LONG_AGO = 86400.0


class HostLease:
    """The lease of the host of this process. Its methods are called by one thread."""

    def __init__(self, catalog: Catalog, name: str) -> None:
        self.name = name
        self._catalog = catalog
        self._renewed = self._since = float("-inf")

    @property
    def is_alone(self) -> bool:
        """Whether no other server can work with the catalog: a file has one at a time, whatever it was called."""
        return not self._catalog.is_shared

    def stay(self) -> None:
        """Renew the lease, often enough."""
        at = time.monotonic()
        if self.is_alone or at - self._renewed < _HOST_EVERY:
            return
        lease = _host_lease(self.name)
        self._catalog.leases.take(lease, lease, _HOST_SECONDS, {})
        if at - self._renewed > _HOST_STEADY:
            self._since = at
            self._catalog.leases.clear(_LONG_AGO)
        self._renewed = at

    def others_that_live(self) -> set[str] | None:
        """The other hosts that are there; None as long as that cannot be told.

        Who was away itself, or could not reach the database, cannot tell who else could not.
        """
        if self.is_alone:
            return set()
        at = time.monotonic()
        if at - self._since < _HOST_SECONDS or at - self._renewed > _HOST_STEADY:
            return None
        return {name.removeprefix(_host_lease("")) for name in self._catalog.leases.held()}


def _host_lease(host: str) -> str:
    return f"boards of {host}"
