# SPDX-License-Identifier: Apache-2.0
"""The stores that a server follows into its catalog. No other store is ever opened, whatever a document names."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.api.server import StoreStatus
from aboard.catalog.catalog import Catalog
from aboard.errors import Forbidden, InvalidValue
from aboard.model.names import check_uid
from aboard.model.states import RunState
from aboard.services.leases import LeaseKeeper
from aboard.services.read_only_source import Source, check_sources
from aboard.services.stores.following import StoreFollower
from aboard.services.stores.indexing import RunIndexer
from aboard.store.connection import Patience
from aboard.store.opening import open_store
from aboard.store.store import Store, TrafficCount
from aboard.store.uri import is_below, parse_uri, real_location

# A user waits for the response.
_PATIENCE = Patience(connect_seconds=5, stall_seconds=20, request_seconds=60, retries=3, retry_seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Which stores a server follows, and how."""

    stores: Sequence[str] = ()
    own_store: Path | None = None
    """A store that need not exist yet."""
    may_add_stores: bool = False
    """Whether stores can be added later; for a local server, which has one user."""
    folder_interval: float = 1.0
    bucket_interval: float = 5.0
    fresh_seconds: float = 0.2
    """A request for the latest state does not list a store again that was listed this recently."""
    look_seconds: float = 3.0
    """Maximum wait for slow stores when the latest state is requested."""
    patience: Patience = _PATIENCE
    """Timeouts of stores while runs are followed and edited."""
    roots: Sequence[str] | None = None
    """Folders and URIs below which boards may show plain event files; None for anywhere, on a local server."""
    sources: Sequence[Source] = ()
    """Read-only sources, whose runs are shown beside those of the stores."""


class FollowedStores:
    """One follower per store. Safe to use from any thread."""

    def __init__(self, catalog: Catalog, indexer: RunIndexer, leases: LeaseKeeper, options: StoreOptions) -> None:
        self._catalog, self._indexer, self._leases, self._options = catalog, indexer, leases, options
        self._lock = threading.Lock()
        self._followers: dict[str, StoreFollower] = {}
        self._looked = 0.0
        self._heartbeat_elsewhere: Callable[[str], None] = lambda _: None

    def start(self) -> None:
        """Follow the stores of the options."""
        if self._options.own_store is not None:
            self._follow(str(self._options.own_store))
        for uri in self._options.stores:
            self._follow(uri)

    def stop(self) -> None:
        """Have all followers end after what they are doing."""
        for follower in self._all():
            follower.stop()

    def join(self, seconds: float) -> None:
        """Wait for the followers to end, at most so long in all: a store may never answer."""
        end = time.monotonic() + seconds
        for follower in self._all():
            follower.join(max(0.0, end - time.monotonic()))

    def statuses(self) -> list[StoreStatus]:
        """The status of each store."""
        return [follower.status() for follower in self._all()]

    def traffic(self) -> dict[str, TrafficCount]:
        """The requests to each store for following it and editing runs."""
        with self._lock:
            return {uri: follower.store.traffic.count() for uri, follower in self._followers.items()}

    @property
    def run_store(self) -> str:
        """The store of new runs whose trainings name no other."""
        named = [*self._options.stores, *filter(None, [self._options.own_store])]
        return parse_uri(str(named[0])).uri if named else ""

    def by_uri(self) -> dict[str, Store]:
        """The stores by URI."""
        return {uri: follower.store for uri, follower in list(self._followers.items())}

    def get(self, uri: str) -> Store:
        """A store that is followed."""
        follower = self._followers.get(uri)
        if follower is None:
            raise Forbidden(f"this server does not follow {uri}", hint="name it with --store, or in ABOARD_STORE")
        return follower.store

    def add(self, uri: str) -> StoreFollower:
        """Follow another store, if the options allow it."""
        if not self._options.may_add_stores and parse_uri(uri).uri not in self._followers:
            raise Forbidden(
                f"this server does not follow {parse_uri(uri).uri}", hint="who runs it names its stores with --store"
            )
        return self._follow(uri)

    def look_now(self) -> None:
        """Have all stores listed, unless that happened just now; slow ones are waited for only so long."""
        if time.monotonic() - self._looked < self._options.fresh_seconds:
            return
        end = time.monotonic() + self._options.look_seconds
        for follower in list(self._followers.values()):
            follower.look_now(max(0.0, end - time.monotonic()))
        self._looked = time.monotonic()

    def pass_on(self, to: Callable[[str], None]) -> None:
        """Have `to` called with the uid of each heartbeat, for the process that follows the store of the run."""
        self._heartbeat_elsewhere = to

    def heartbeat(self, uid: str) -> RunState:
        """Note a heartbeat of a run."""
        self.hear_of(check_uid(uid))
        self._heartbeat_elsewhere(uid)
        return self._catalog.runs.heartbeat(uid)

    def hear_of(self, uid: str) -> None:
        """Note a heartbeat that another process received."""
        for follower in list(self._followers.values()):
            follower.heard_of(uid)

    def forget(self, uid: str) -> None:
        """Watch a run no more whose files are deleted."""
        for follower in list(self._followers.values()):
            follower.forget(uid)

    def _all(self) -> list[StoreFollower]:
        with self._lock:
            return list(self._followers.values())

    def _follow(self, uri: str) -> StoreFollower:
        address = parse_uri(uri)
        with self._lock:
            found = self._followers.get(address.uri)
            if found is not None:
                return found
            check_roots_apart(self._options.roots or (), [address.uri])
            check_sources(self._options.sources, self._options.roots, [address.uri])
            is_folder = address.kind == "file"
            follower = StoreFollower(
                self._catalog,
                self._indexer,
                open_store(uri, patience=self._options.patience),
                interval=self._options.folder_interval if is_folder else self._options.bucket_interval,
                may_be_missing=is_folder and self._options.may_add_stores,
                lease=self._leases.lease,
            )
            self._followers[address.uri] = follower
        follower.start()
        return follower


def check_roots_apart(roots: Iterable[str], stores: Iterable[str]) -> None:
    """Raise if a root of `serve.roots` overlaps with a store: folders have no roles, and runs of a store do."""
    real_stores = {store: real_location(parse_uri(store).uri) for store in stores}
    for root in roots:
        real = real_location(parse_uri(root).uri)
        for store, place in real_stores.items():
            if is_below(place, real) or is_below(real, place):
                raise InvalidValue(
                    f"serve.roots names {root}, which overlaps with the store {store}.",
                    hint="Everybody may open what is below serve.roots, whatever their roles. Name folders apart from "
                    "every store, or move the store.",
                )
