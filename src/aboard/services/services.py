# SPDX-License-Identifier: Apache-2.0
"""The facade of the use cases: a catalog, the stores that are followed into it, and everything done with both."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from aboard.api.series import Annotations
from aboard.api.server import StoreStatus
from aboard.catalog.catalog import Catalog
from aboard.errors import CatalogUnavailable, UnknownName
from aboard.jobs.records import JobRecords
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.people import Access
from aboard.model.runs import RunRecord
from aboard.model.selections import SelectedRun
from aboard.model.states import UnitState
from aboard.services.boards.expiry import BoardExpiry
from aboard.services.boards.folders import OpenFolders
from aboard.services.boards.hosting import Hosting
from aboard.services.boards.lifecycle import BoardChangePublisher, BoardRules, BoardService
from aboard.services.boards.process_boards import ProcessBoards, ProcessOptions
from aboard.services.boards.selection import BoardRefreshIntervals
from aboard.services.changes import ALIVE, PEOPLE, TRIES, ChangeBridge, ChangeBus, RunChangePublisher
from aboard.services.leases import LeaseKeeper
from aboard.services.people.accounts import AccountService
from aboard.services.people.login_attempts import LoginAttempts
from aboard.services.people.logins import LoginOptions, Logins
from aboard.services.read_only_source import check_sources
from aboard.services.runs.editing import RunEditor
from aboard.services.runs.files import annotations_of
from aboard.services.runs.media import Media
from aboard.services.runs.open_runs import OpenRuns, ReadingPatience, RunLocation, readable_runs
from aboard.services.runs.series import CurveQuery, CurveSet, curves_of
from aboard.services.sources.followed_sources import FollowedSources
from aboard.services.stores.followed_stores import FollowedStores, StoreOptions, check_roots_apart
from aboard.services.stores.indexing import Reindexer, RunIndexer
from aboard.services.stores.jobs import JobCheckIntervals, JobReconciler
from aboard.services.user_scope import UserScope
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import TrafficCount

_T = TypeVar("_T")
_LEAVE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions(StoreOptions):
    """The configuration of a server's use cases."""

    logins: LoginOptions = field(default_factory=LoginOptions)
    reading_patience: ReadingPatience = field(default_factory=ReadingPatience)
    """Timeouts of stores while points of runs are read."""
    boards: BoardRules = field(default_factory=BoardRules)
    board_intervals: BoardRefreshIntervals = field(default_factory=BoardRefreshIntervals)
    template: str = "{workspace}_{run}_{logdir}"
    """The default template for names of runs on boards."""
    process_home: Path | None = None
    """A folder on a local disk for the mirrors of process boards; None: the server has no process boards."""
    jobs_home: Path | None = None
    """The home folder whose jobs are reconciled; None: no jobs are."""
    job_intervals: JobCheckIntervals = field(default_factory=JobCheckIntervals)
    login_clock: Callable[[], float] = time.monotonic
    """The clock of the rate limit of failed login attempts."""


class Services:
    """All that is done with runs. Its parts may be used by several threads at once."""

    def __init__(self, catalog: Catalog, options: ServiceOptions) -> None:
        named = [*options.stores, *map(str, filter(None, [options.own_store]))]
        check_roots_apart(options.roots or (), named)
        check_sources(options.sources, options.roots, named)
        self.catalog = catalog
        self.logins = Logins(catalog, options.logins)
        self.login_tries = LoginAttempts(clock=options.login_clock)
        self.leases = LeaseKeeper(catalog)
        self.changes = ChangeBus()
        self._news = RunChangePublisher(self.changes)
        self._indexer = RunIndexer(catalog, self._news.tell)
        self._stores = FollowedStores(catalog, self._indexer, self.leases, options)
        self._editor = RunEditor(catalog, self._indexer, self._stores.get, self._forget)
        self._reindexer = Reindexer(catalog)
        self.open_runs = OpenRuns(patience=options.reading_patience)
        self._folders = OpenFolders(options.roots, options.sources)
        self._sources = FollowedSources(
            catalog,
            self._indexer,
            self.leases,
            options.sources,
            self._folders.check,
            folder_interval=options.folder_interval,
            bucket_interval=options.bucket_interval,
        )
        self._board_news = news = BoardChangePublisher(self.changes)
        self.hosting = Hosting(
            catalog,
            self.open_runs,
            self._folders,
            self.place_of,
            on_change=news.tell,
            plugins=options.boards.plugins,
            default_template=options.template,
            intervals=options.board_intervals,
        )
        self.processes = ProcessBoards(
            catalog,
            self._folders,
            self._stores.by_uri,
            ProcessOptions(
                home=options.process_home,
                default_template=options.template,
                executors=options.boards.executors,
            ),
            news.tell,
        )
        self._expiry = BoardExpiry(catalog, self.hosting, news.tell, self.processes.used_at)
        rules = replace(options.boards, has_processes=self.processes.can_start)
        self.boards = BoardService(
            catalog, self.hosting, self._folders, rules, self.processes.preview, self._tell_of_board
        )
        self._jobs: JobReconciler | None = None
        if options.jobs_home is not None:
            self._jobs = JobReconciler(
                catalog, JobRecords(options.jobs_home), self._indexer.noticed, intervals=options.job_intervals
            )
        self._bridge: ChangeBridge | None = None
        if catalog.is_shared:
            self._bridge = bridge = ChangeBridge(catalog.notices, self.changes, self._heard)
            self.logins.pass_on(lambda: bridge.tell_servers(PEOPLE, {}))
            self.login_tries.pass_on(lambda facts: bridge.tell_servers(TRIES, facts))
            self._stores.pass_on(lambda uid: bridge.tell_servers(ALIVE, {"uid": uid}))
            bridge.start()
        self._stores.start()
        self._sources.start()

    def seen_by(self, access: Access) -> UserScope:
        """The use cases scoped to one user. The methods here check no permissions."""
        return UserScope(
            access, self.catalog, self._stores, self._sources, self._indexer, self._editor, self._reindexer
        )

    def people_for(self, access: Access) -> AccountService:
        """What this person may see and change of people."""
        return AccountService(access, self.catalog, self.logins)

    def close(self) -> None:
        """Leave off following; the catalog is the caller's to close."""
        self.changes.close()
        if self._bridge is not None:
            self._bridge.stop(_LEAVE_SECONDS)
        self._reindexer.stop()
        self._expiry.stop(_LEAVE_SECONDS)
        self.processes.stop(_LEAVE_SECONDS)
        if self._jobs is not None:
            self._jobs.stop(_LEAVE_SECONDS)
        self.hosting.close()
        self._folders.close()
        self.open_runs.close()
        self._stores.stop()
        self._sources.stop()
        self._sources.join(_LEAVE_SECONDS)
        self.leases.stop(_LEAVE_SECONDS)
        self._stores.join(_LEAVE_SECONDS)

    def _heard(self, kind: str, facts: Mapping[str, object]) -> None:
        """What changed through another server process; an empty kind: something, and nobody knows what."""
        if kind in ("", PEOPLE):
            self.logins.forget_here()
        if kind in ("", "board"):
            self._expiry.wake()
            self.processes.wake()
        if kind == "board":
            board_id = str(facts.get("id", ""))
            self.processes.look_anew(board_id)
            if facts.get("changed") != "runs":
                self.hosting.look_anew(board_id)
        uid = str(facts.get("uid", ""))
        if kind == "run" and "purged" in str(facts.get("changed", "")):
            self.open_runs.forget(uid)
            self._stores.forget(uid)
        if kind == ALIVE:
            self._stores.hear_of(uid)
        if kind == TRIES:
            self.login_tries.hear(facts)

    def _tell_of_board(self, board: BoardRecord, changed: str) -> None:
        self._expiry.wake()  # it may end at another time than before
        if board.kind is BoardKind.PROCESS:
            self.processes.wake()
        self._board_news.tell(board, changed)

    def keep_boards(self) -> None:
        """Look after boards and jobs from now on: those whose time is over end, and processes start and stop."""
        self._expiry.start()
        self.processes.start()
        if self._jobs is not None:
            self._jobs.start()

    def stores(self) -> list[StoreStatus]:
        """The stores that are followed."""
        return self._stores.statuses()

    def sources(self) -> list[StoreStatus]:
        """The read-only sources."""
        return self._sources.statuses()

    def traffic(self) -> dict[str, TrafficCount]:
        """The requests to each store for following it and editing runs."""
        return self._stores.traffic()

    def add_store(self, uri: str) -> StoreStatus:
        """Follow another store."""
        return self._stores.add(uri).status()

    def look_now(self) -> None:
        """Have all stores listed, unless that happened just now; slow ones are waited for only so long."""
        self._sources.look_now()
        self._stores.look_now()

    def busy(self) -> str:
        """What a restart of this process would interrupt; empty if nothing."""
        try:
            running = self.catalog.boards.list(states=[state for state in UnitState if not state.is_ended])
        except CatalogUnavailable:  # what the server is must be known when its database is down, too
            return "The catalog does not answer."
        if names := [board.name for board in running if board.kind is BoardKind.PROCESS]:
            return f"Boards run as processes: {', '.join(names)}."
        if self._reindexer.is_running:
            return "A store is being reindexed."
        return "A page is open in a browser." if self.changes.watcher_count else ""

    def place_of(self, run: RunRecord | SelectedRun) -> RunLocation:
        """Where the files of a run are, for the pool of open runs; only what is followed is ever opened."""
        if run.source_path is not None:
            return self._sources.place_of(run)
        if not run.store:
            raise UnknownName(f"{run.name} has no files yet", hint="they come when it begins")
        return RunLocation(self._stores.get(run.store).uri, run.uid)

    def seen(self, name: str, access: Access) -> SelectedRun:
        """The run that is meant, if who asks may see it; else it is as if it were not there."""
        (run,) = self.seen_by(access).references.selected([name])
        return run

    def media(self, name: str, access: Access) -> Media:
        """Values of a run that are no numbers."""
        return Media(self.open_runs, self.place_of(self.seen(name, access)))

    def with_files(self, name: str, access: Access, read: Callable[[RunFolder], _T]) -> _T:
        """Read documents or files of a run, on the threads of its store."""
        return self._with_files_of(self.seen(name, access), read)

    def annotations(self, runs: Sequence[str], access: Access) -> Annotations:
        """What trainings said about moments of these runs; a run that has not begun has said nothing."""
        named = self.seen_by(access).references.selected(runs)
        return annotations_of(
            named,
            lambda run: (
                self._with_files_of(run, RunFolder.read_summary) if run.store and run.source_path is None else None
            ),
        )

    def curves(self, runs: Sequence[str], asked: CurveQuery, access: Access) -> CurveSet:
        """Curves of several runs at once; of the only one that is named it is an error if it has no files."""
        named = self.seen_by(access).references.selected(runs)
        found = readable_runs(named, self.place_of)
        if not found.places:
            self.place_of(named[0])
        return curves_of(self.open_runs, found, asked, asked.windows_of([run.uid for run in named]))

    def _with_files_of(self, run: SelectedRun, read: Callable[[RunFolder], _T]) -> _T:
        if run.source_path is not None:
            raise UnknownName(
                f"{run.name} is a folder of event files in the source {run.store}, and has no other files here.",
                hint="`aboard run` keeps the files and output of a training.",
            )
        place = self.place_of(run)
        folder = RunFolder(self._stores.get(run.store), run.uid)
        return self.open_runs.readers(place.store).call(lambda: read(folder))

    def _forget(self, uid: str) -> None:
        self.open_runs.forget(uid)
        with contextlib.suppress(UnknownName):
            self._news.tell_purged(self.catalog.runs.by_uid(uid))
        self._stores.forget(uid)
