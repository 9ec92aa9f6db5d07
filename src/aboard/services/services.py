# SPDX-License-Identifier: Apache-2.0
"""The facade of the use cases: a catalog, the stores that are followed into it, and everything done with both."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from aboard.api.runs import NewRun
from aboard.api.series import Annotations
from aboard.api.server import ReindexState, StoreStatus
from aboard.catalog.catalog import Catalog
from aboard.errors import CatalogUnavailable, Forbidden, UnknownName
from aboard.jobs.records import JobRecords
from aboard.model.boards import Board, BoardKind
from aboard.model.ids import check_uid
from aboard.model.names import check_name, check_workspace_name
from aboard.model.people import Access
from aboard.model.runs import Run
from aboard.model.selections import SelectedRun
from aboard.model.states import RunState, UnitState
from aboard.model.times import now
from aboard.services.boards.expiry import BoardExpiry
from aboard.services.boards.folders import OpenFolders, check_roots_apart
from aboard.services.boards.hosting import Hosting
from aboard.services.boards.lifecycle import BoardChangePublisher, BoardRules, BoardService
from aboard.services.boards.process_boards import ProcessBoards, ProcessOptions
from aboard.services.boards.selection import BoardRefreshIntervals
from aboard.services.changes import ALIVE, PEOPLE, TRIES, ChangeBridge, ChangeBus, RunChangePublisher
from aboard.services.leases import LeaseKeeper
from aboard.services.people.accounts import AccountService
from aboard.services.people.login_attempts import LoginAttempts
from aboard.services.people.logins import LoginOptions, Logins
from aboard.services.runs.editing import RunEditor
from aboard.services.runs.files import annotations_of
from aboard.services.runs.media import Media
from aboard.services.runs.open_runs import OpenRuns, ReadingPatience, RunLocation, readable_runs
from aboard.services.runs.series import CurveQuery, CurveSet, WholeSeries, curves_of, run_series
from aboard.services.stores.following import StoreFollower
from aboard.services.stores.indexing import Reindexer, RunIndexer
from aboard.services.stores.jobs import JobCheckIntervals, JobReconciler
from aboard.services.user_scope import UserScope
from aboard.store.connection import Patience
from aboard.store.opening import open_store
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store, TrafficCount
from aboard.store.uri import parse_uri

_T = TypeVar("_T")
_LEAVE_SECONDS = 5.0
# Somebody waits for the answer.
_PATIENCE = Patience(connect_seconds=5, stall_seconds=20, request_seconds=60, retries=3, retry_seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """How a server goes about its stores."""

    stores: Sequence[str] = ()
    own_store: Path | None = None
    """A store that need not be there yet."""
    may_add_stores: bool = False
    """Whether stores may be named later: by the one person whose server it is."""
    logins: LoginOptions = field(default_factory=LoginOptions)
    folder_interval: float = 1.0
    bucket_interval: float = 5.0
    fresh_seconds: float = 0.2
    """How long a look at the stores is good enough for who wants to see the latest."""
    look_seconds: float = 3.0
    """How long who wants to see the latest waits for stores that are slow."""
    patience: Patience = _PATIENCE
    """With stores, when runs are followed and changed."""
    reading_patience: ReadingPatience = field(default_factory=ReadingPatience)
    """With stores, when points of runs are read."""
    roots: Sequence[str] | None = None
    """Folders and URIs below which boards may show plain event files; None for anywhere: the server of one person."""
    boards: BoardRules = field(default_factory=BoardRules)
    board_pace: BoardRefreshIntervals = field(default_factory=BoardRefreshIntervals)
    template: str = "{workspace}_{run}_{logdir}"
    """How boards call runs of the catalog."""
    process_home: Path | None = None
    """Where boards that are processes keep copies of their runs, on a disk of this machine; None: there are none."""
    jobs_home: Path | None = None
    """The home folder whose jobs are looked after; None: nobody's."""
    job_pace: JobCheckIntervals = field(default_factory=JobCheckIntervals)
    login_clock: Callable[[], float] = time.monotonic
    """By which failed login attempts are forgiven."""


class Services:
    """All that is done with runs. Its parts may be used by several threads at once."""

    def __init__(self, catalog: Catalog, options: ServiceOptions) -> None:
        check_roots_apart(options.roots or (), [*options.stores, *map(str, filter(None, [options.own_store]))])
        self.catalog = catalog
        self.logins = Logins(catalog, options.logins)
        self.login_tries = LoginAttempts(clock=options.login_clock)
        self.leases = LeaseKeeper(catalog)
        self._options = options
        self.changes = ChangeBus()
        self._news = RunChangePublisher(self.changes)
        self._indexer = RunIndexer(catalog, self._news.tell)
        self._editor = RunEditor(catalog, self._indexer, self._store, self._forget)
        self._reindexing = Reindexer(catalog)
        self._followers: dict[str, StoreFollower] = {}
        self.open_runs = OpenRuns(patience=options.reading_patience)
        self._folders = OpenFolders(options.roots)
        self._board_news = news = BoardChangePublisher(self.changes)
        self.hosting = Hosting(
            catalog,
            self.open_runs,
            self._folders,
            lambda: self._followers,
            told=news.tell,
            plugins=options.boards.plugins,
            default_template=options.template,
            pace=options.board_pace,
        )
        self.processes = ProcessBoards(
            catalog,
            self._folders,
            lambda: {uri: one.store for uri, one in list(self._followers.items())},
            ProcessOptions(
                home=options.process_home,
                default_template=options.template,
                executors=options.boards.executors,
            ),
            news.tell,
        )
        self._keeper = BoardExpiry(catalog, self.hosting, news.tell, self.processes.used_at)
        rules = replace(options.boards, has_processes=self.processes.can_start)
        self.boards = BoardService(
            catalog, self.hosting, self._folders, rules, self.processes.preview, self._tell_of_board
        )
        self._jobs: JobReconciler | None = None
        if options.jobs_home is not None:
            self._jobs = JobReconciler(
                catalog, JobRecords(options.jobs_home), self._indexer.noticed, pace=options.job_pace
            )
        self._bridge: ChangeBridge | None = None
        if catalog.is_shared:
            self._bridge = bridge = ChangeBridge(catalog.notices, self.changes, self._heard)
            self.logins.pass_on(lambda: bridge.tell_servers(PEOPLE, {}))
            self.login_tries.pass_on(lambda facts: bridge.tell_servers(TRIES, facts))
            bridge.start()
        self._lock = threading.Lock()
        self._looked = 0.0
        if options.own_store is not None:
            self._follow(str(options.own_store))
        for uri in options.stores:
            self._follow(uri)

    def seen_by(self, access: Access) -> UserScope:
        """What this person may see and do. The methods here ask nobody who they are."""
        return UserScope(self, access, self._indexer, self._editor)

    def people_for(self, access: Access) -> AccountService:
        """What this person may see and change of people."""
        return AccountService(access, self.catalog, self.logins)

    def close(self) -> None:
        """Leave off following; the catalog is the caller's to close."""
        self.changes.close()
        if self._bridge is not None:
            self._bridge.stop(_LEAVE_SECONDS)
        self._reindexing.stop()
        self._keeper.stop(_LEAVE_SECONDS)
        self.processes.stop(_LEAVE_SECONDS)
        if self._jobs is not None:
            self._jobs.stop(_LEAVE_SECONDS)
        self.hosting.close()
        self._folders.close()
        self.open_runs.close()
        with self._lock:
            followers = list(self._followers.values())
        for follower in followers:
            follower.stop()
        self.leases.stop(_LEAVE_SECONDS)
        end = time.monotonic() + _LEAVE_SECONDS  # a store that does not answer is not waited for
        for follower in followers:
            follower.join(max(0.0, end - time.monotonic()))

    def _heard(self, kind: str, facts: Mapping[str, object]) -> None:
        """What changed through another server process; an empty kind: something, and nobody knows what."""
        if kind in ("", PEOPLE):
            self.logins.forget_here()
        if kind in ("", "board"):
            self._keeper.wake()
            self.processes.wake()
        if kind == "board":
            board_id = str(facts.get("id", ""))
            self.processes.look_anew(board_id)
            if facts.get("changed") != "runs":
                self.hosting.look_anew(board_id)
        uid = str(facts.get("uid", ""))
        if kind == "run" and "purged" in str(facts.get("changed", "")):
            self.open_runs.forget(uid)
            for follower in list(self._followers.values()):
                follower.forget(uid)
        if kind == ALIVE:
            self._hear_of(uid)
        if kind == TRIES:
            self.login_tries.hear(facts)

    def _tell_of_board(self, board: Board, changed: str) -> None:
        self._keeper.wake()  # it may end at another time than before
        if board.kind is BoardKind.PROCESS:
            self.processes.wake()
        self._board_news.tell(board, changed)

    def keep_boards(self) -> None:
        """Look after boards and jobs from now on: those whose time is over end, and processes start and stop."""
        self._keeper.start()
        self.processes.start()
        if self._jobs is not None:
            self._jobs.start()

    def stores(self) -> list[StoreStatus]:
        """The stores that are followed."""
        with self._lock:
            followers = list(self._followers.values())
        return [follower.status() for follower in followers]

    @property
    def run_store(self) -> str:
        """Where new runs go whose trainings are told no other place."""
        named = [*self._options.stores, *filter(None, [self._options.own_store])]
        return parse_uri(str(named[0])).uri if named else ""

    def traffic(self) -> dict[str, TrafficCount]:
        """What was asked of each store to follow it, and to change runs."""
        with self._lock:
            return {uri: follower.store.traffic.count() for uri, follower in self._followers.items()}

    def add_store(self, uri: str) -> StoreStatus:
        """Follow another store."""
        if not self._options.may_add_stores and parse_uri(uri).uri not in self._followers:
            raise Forbidden(
                f"this server does not follow {parse_uri(uri).uri}", hint="who runs it names its stores with --store"
            )
        return self._follow(uri).status()

    def look_now(self) -> None:
        """Have all stores looked at, unless that was done just now; those that are slow are waited for only so long."""
        if time.monotonic() - self._looked < self._options.fresh_seconds:
            return
        end = time.monotonic() + self._options.look_seconds
        for follower in list(self._followers.values()):
            follower.look_now(max(0.0, end - time.monotonic()))
        self._looked = time.monotonic()

    def reindex(self, uri: str) -> ReindexState:
        """Read all runs of a store anew."""
        return self._reindexing.start(self._follow_allowed(uri))

    def busy(self) -> str:
        """What a restart of this process would interrupt; empty if nothing."""
        try:
            running = self.catalog.boards.list(states=[state for state in UnitState if not state.is_ended])
        except CatalogUnavailable:  # what the server is must be known when its database is down, too
            return "The catalog does not answer."
        if names := [board.name for board in running if board.kind is BoardKind.PROCESS]:
            return f"Boards run as processes: {', '.join(names)}."
        if self._reindexing.is_running:
            return "A store is being reindexed."
        return "A page is open in a browser." if self.changes.watcher_count else ""

    def reindex_state(self, task: str) -> ReindexState:
        """How far a reindexing is."""
        return self._reindexing.state(task)

    def place_of(self, run: Run | SelectedRun) -> RunLocation:
        """Where the files of a run are, for the pool of open runs; only a store that is followed is ever opened."""
        if not run.store:
            raise UnknownName(f"{run.name} has no files yet", hint="they come when it begins")
        return RunLocation(self._store(run.store).uri, run.uid)

    def series(self, run: Run, tags: Sequence[str], logdirs: Sequence[str]) -> list[WholeSeries]:
        """Every point of curves of a run."""
        return run_series(self.open_runs, self.place_of(run), run, tags, logdirs)

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
            named, lambda run: self._with_files_of(run, RunFolder.read_summary) if run.store else None
        )

    def curves(self, runs: Sequence[str], asked: CurveQuery, access: Access) -> CurveSet:
        """Curves of several runs at once; of the only one that is named it is an error if it has no files."""
        named = self.seen_by(access).references.selected(runs)
        found = readable_runs(named, self.place_of)
        if not found.places:
            self.place_of(named[0])
        return curves_of(self.open_runs, found, asked, asked.windows_of([run.uid for run in named]))

    def register(self, new: NewRun) -> Run:
        """Give a run that is about to begin its number, and a name where it has none."""
        check_uid(new.uid)
        check_workspace_name(new.workspace)
        if new.experiment:
            check_name(new.experiment, "an experiment")
        if new.name:
            check_name(new.name, "a run")
        try:
            return self.catalog.runs.by_uid(new.uid)  # asked once more, because the answer was lost
        except UnknownName:
            pass
        run = Run(
            uid=new.uid,
            workspace=new.workspace,
            experiment=new.experiment or None,
            name=new.name,
            user=new.user,
            host=new.host,
            store=parse_uri(new.store).uri if new.store else "",
            created=now(),
        )
        return self._indexer.put(run)

    def heartbeat(self, uid: str) -> RunState:
        """Note a sign of life; the process that follows the store of the run hears of it too."""
        self._hear_of(check_uid(uid))
        if self._bridge is not None:
            self._bridge.tell_servers(ALIVE, {"uid": uid})
        return self.catalog.runs.heartbeat(uid)

    def _hear_of(self, uid: str) -> None:
        for follower in list(self._followers.values()):
            follower.heard_of(uid)

    def _with_files_of(self, run: SelectedRun, read: Callable[[RunFolder], _T]) -> _T:
        place = self.place_of(run)
        folder = RunFolder(self._store(run.store), run.uid)
        return self.open_runs.readers(place.store).call(lambda: read(folder))

    def _follow(self, uri: str) -> StoreFollower:
        address = parse_uri(uri)
        with self._lock:
            found = self._followers.get(address.uri)
            if found is not None:
                return found
            check_roots_apart(self._options.roots or (), [address.uri])
            is_folder = address.kind == "file"
            follower = StoreFollower(
                self.catalog,
                self._indexer,
                open_store(uri, patience=self._options.patience),
                interval=self._options.folder_interval if is_folder else self._options.bucket_interval,
                may_be_missing=is_folder and self._options.may_add_stores,
                lease=self.leases.lease,
            )
            self._followers[address.uri] = follower
        follower.start()
        return follower

    def _follow_allowed(self, uri: str) -> Store:
        self.add_store(uri)
        return self._follow(uri).store

    def _forget(self, uid: str) -> None:
        self.open_runs.forget(uid)
        with contextlib.suppress(UnknownName):
            self._news.tell_purged(self.catalog.runs.by_uid(uid))
        for follower in list(self._followers.values()):
            follower.forget(uid)

    def _store(self, uri: str) -> Store:
        """The store of a run that is to be changed: one that is followed, so that no document can name another."""
        follower = self._followers.get(uri)
        if follower is None:
            raise Forbidden(f"this server does not follow {uri}", hint="name it with --store, or in ABOARD_STORE")
        return follower.store
