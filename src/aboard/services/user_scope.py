# SPDX-License-Identifier: Apache-2.0
"""Use cases scoped to the authenticated user.

Every request goes through this module, so that no use case can skip the permission check.
"""

from __future__ import annotations

from dataclasses import replace

from aboard.api.runs import NewRun, RetentionRequest, RetentionResult
from aboard.api.server import ReindexState, StoreStatus
from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, UnknownName
from aboard.model.names import check_uid, check_workspace_name
from aboard.model.people import Access, Role
from aboard.model.runs import RunRecord
from aboard.model.states import RunState
from aboard.services.runs.editing import RunEditor, RunEdits
from aboard.services.runs.groups import GroupEdits, SavedViewEdits
from aboard.services.runs.references import References, Selections
from aboard.services.runs.retention import retain
from aboard.services.sources.followed_sources import FollowedSources
from aboard.services.stores.followed_stores import FollowedStores
from aboard.services.stores.indexing import Reindexer, RunIndexer


class UserScope:
    """The use cases for one request. It is cheap to make; resources the user cannot access do not exist in it."""

    def __init__(
        self,
        access: Access,
        catalog: Catalog,
        stores: FollowedStores,
        sources: FollowedSources,
        indexer: RunIndexer,
        editor: RunEditor,
        reindexer: Reindexer,
    ) -> None:
        self.access = access
        self.catalog = catalog.seen_by(access.seen)
        self.references = References(self.catalog)
        self.selections = Selections(self.catalog, self.references)
        self.runs = RunEdits(access, self.catalog, self.references, editor)
        self.groups = GroupEdits(access, self.catalog, self.references, indexer, editor)
        self.saved_views = SavedViewEdits(access, self.catalog)
        self._stores, self._sources, self._indexer, self._reindexer = stores, sources, indexer, reindexer

    def retain(self, asked: RetentionRequest) -> RetentionResult:
        """Delete what a rule names."""
        return retain(self.access, self.catalog, self.runs, asked)

    def register(self, new: NewRun) -> RunRecord:
        """Give a run that is about to begin its number; a workspace that is not there is made for administrators."""
        check_workspace_name(new.workspace)
        if not self.access.is_administrator:
            self.access.check(Role.EDITOR, self.catalog.workspaces.get(new.workspace).name)
        else:
            self.access.check(Role.EDITOR, new.workspace)
        run = self._indexer.register(new)
        if not self.access.sees(run.workspace):
            raise Conflict(f"The uid {new.uid} is in use.", hint="Register the run with a new uid.")
        self.access.check(Role.EDITOR, run.workspace)  # a run that was there before may be elsewhere
        return run

    def heartbeat(self, uid: str) -> RunState:
        """Note a sign of life."""
        self.access.check(Role.EDITOR, self.catalog.runs.by_uid(check_uid(uid)).workspace)
        return self._stores.heartbeat(uid)

    def stores(self) -> list[StoreStatus]:
        """The stores and sources that are followed; all of them for administrators, else those with visible runs."""
        found = [*self._stores.statuses(), *self._sources.statuses()]
        if self.access.is_administrator:
            return found
        shown = [one for one in found if self.catalog.selected.has_store(one.uri)]
        return [replace(one, live=0, waiting=0, problem="", damaged=None) for one in shown]

    def run_store(self) -> str:
        """Where who asks puts new runs: the first store, for who may write."""
        return self._stores.run_store if self.access.writes else ""

    def add_store(self, uri: str) -> StoreStatus:
        """Follow another store."""
        self.access.check_administrator()
        return self._stores.add(uri).status()

    def reindex(self, uri: str) -> ReindexState:
        """Read all runs of a store anew."""
        self.access.check_administrator()
        return self._reindexer.start(self._stores.add(uri).store)

    def reindex_state(self, task: str) -> ReindexState:
        """How far a reindexing is."""
        if not self.access.is_administrator:
            raise UnknownName(f"there is no reindexing {task!r}")
        return self._reindexer.state(task)
