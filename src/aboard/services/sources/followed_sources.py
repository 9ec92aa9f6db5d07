# SPDX-License-Identifier: Apache-2.0
"""The read-only sources of a server: one follower for each, and where the files of their runs are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from aboard.api.server import StoreStatus
from aboard.catalog.catalog import Catalog
from aboard.errors import Forbidden
from aboard.model.runs import RunRecord
from aboard.model.selections import SelectedRun
from aboard.services.boards.folders import AllowedFolder
from aboard.services.leases import LeaseKeeper
from aboard.services.read_only_source import Source
from aboard.services.runs.open_runs import RunLocation
from aboard.services.sources.following import SourceFollower
from aboard.services.stores.indexing import RunIndexer

_FOUND_SECONDS = 1.0


class FollowedSources:
    """The sources of the settings. Safe to use from any thread."""

    def __init__(
        self,
        catalog: Catalog,
        indexer: RunIndexer,
        leases: LeaseKeeper,
        sources: Sequence[Source],
        find: Callable[[str], AllowedFolder],
        *,
        folder_interval: float,
        bucket_interval: float,
    ) -> None:
        """`find` says where a source is, and raises where it may not be shown or is not there."""
        self._find = find
        self._found: dict[str, tuple[float, AllowedFolder]] = {}
        self._followers = {
            source.uri: SourceFollower(
                catalog,
                indexer,
                source,
                find,
                interval=bucket_interval if "://" in source.uri else folder_interval,
                lease=leases.lease,
            )
            for source in sources
        }

    def start(self) -> None:
        """Follow the sources."""
        for follower in self._followers.values():
            follower.start()

    def stop(self) -> None:
        """Have all followers end after what they are doing."""
        for follower in self._followers.values():
            follower.stop()

    def join(self, seconds: float) -> None:
        """Wait for the followers to end, at most so long in all."""
        end = time.monotonic() + seconds
        for follower in self._followers.values():
            follower.join(max(0.0, end - time.monotonic()))

    def look_now(self) -> None:
        """Have all sources looked at; does not wait for it."""
        for follower in self._followers.values():
            follower.look_now()

    def statuses(self) -> list[StoreStatus]:
        """The status of each source."""
        return [follower.status() for follower in self._followers.values()]

    def place_of(self, run: RunRecord | SelectedRun) -> RunLocation:
        """Where the files of a run are; only what the settings name is ever opened."""
        follower = self._followers.get(run.store)
        if follower is None or run.source_path is None:
            raise Forbidden(
                f"This server does not read {run.store}.",
                hint=f"Name it in serve.sources, as {run.workspace}={run.store}.",
            )
        if "://" in run.store:
            return RunLocation(run.store, run.uid, run.source_path)
        root, within = self._folder_of(run.store)
        return RunLocation(str(root), run.uid, run.source_path, str(within or root))

    def _folder_of(self, uri: str) -> AllowedFolder:
        """Looked up at most once a second: a comparison has hundreds of runs."""
        at, found = self._found.get(uri, (float("-inf"), None))
        if found is None or time.monotonic() - at > _FOUND_SECONDS:
            found = self._find(uri)
            self._found[uri] = time.monotonic(), found
        return found
