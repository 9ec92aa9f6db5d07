# SPDX-License-Identifier: Apache-2.0
"""The use cases of runs over a folder source: what `aboard view` offers of what a server does.

There are no people, stores, boards or jobs here. Whoever reaches the application may do everything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

from aboard.api.runs import NewRun, RetentionRequest, RunChange
from aboard.api.series import Annotations
from aboard.errors import InvalidValue, UnknownName
from aboard.model.names import check_name
from aboard.model.people import Access
from aboard.model.run_edits import RunEdit
from aboard.model.runs import Note
from aboard.model.selections import SelectedRun
from aboard.model.times import now
from aboard.reader.run import RunReader
from aboard.services.changes import ChangeBus
from aboard.services.folders.catalog import FolderCatalog
from aboard.services.folders.edits import document_of, with_changes
from aboard.services.folders.folder_run import FolderRun
from aboard.services.folders.saved_views import FolderSavedViews
from aboard.services.folders.source import FolderSource
from aboard.services.periodic_task import PeriodicTask
from aboard.services.runs.editing import EditResult, RunEdits
from aboard.services.runs.groups import SavedViewEdits
from aboard.services.runs.media import Media
from aboard.services.runs.open_runs import OpenRuns, RunLocation, readable_runs
from aboard.services.runs.references import References, Selections
from aboard.services.runs.series import CurveQuery, CurveSet, curves_of
from aboard.store.run.run_folder import RunFolder

_T = TypeVar("_T")
_PUBLISH_SECONDS = 1.0
_NO_STORE = "`aboard view` shows folders as they are. `aboard sync FOLDER STORE` makes them runs of a store."


class FolderServices:
    """What the routes of an application need, over one source. Safe to use from any thread."""

    def __init__(self, source: FolderSource) -> None:
        self.source = source
        self.changes = ChangeBus()
        assert source.home is not None, "edits are kept somewhere"
        views = FolderSavedViews(document_of(source.home, source.location).with_suffix(".views.json"), source.workspace)
        self.catalog = FolderCatalog(source, views)
        self.open_runs = cast("OpenRuns", FolderReaders(source))
        self._published = source.version
        self._publishing = PeriodicTask(
            "aboard-folder-changes", self._publish, looks_after="changes of folders", rest_after_failure=5.0
        )

    def start(self) -> None:
        """Publish changes from now on."""
        self._publishing.start()

    def close(self) -> None:
        self._publishing.stop()
        self.changes.close()

    def seen_by(self, access: Access) -> FolderScope:
        """The use cases for one request."""
        return FolderScope(access, self)

    def look_now(self) -> None:
        """Nothing to do: the follower reads changes as they come."""

    def place_of(self, run: SelectedRun) -> RunLocation:
        return RunLocation(run.store, run.uid)

    def seen(self, name: str, access: Access) -> SelectedRun:
        (run,) = self.seen_by(access).references.selected([name])
        return run

    def media(self, name: str, access: Access) -> Media:
        return Media(self.open_runs, self.place_of(self.seen(name, access)))

    def curves(self, runs: Sequence[str], asked: CurveQuery, access: Access) -> CurveSet:
        named = self.seen_by(access).references.selected(runs)
        found = readable_runs(named, self.place_of)
        return curves_of(self.open_runs, found, asked, asked.windows_of([run.uid for run in named]))

    def annotations(self, runs: Sequence[str], access: Access) -> Annotations:
        """Event files hold no annotations."""
        self.seen_by(access).references.selected(runs)
        return Annotations(items=(), left_out=0, problems=())

    def with_files(self, name: str, access: Access, read: Callable[[RunFolder], _T]) -> _T:
        run = self.seen(name, access)
        raise UnknownName(
            f"{run.name} is a folder of event files, and has no other files here.",
            hint="`aboard run` keeps the files and output of a training.",
        )

    def _publish(self) -> float:
        self.source.runs()
        if self.source.version != self._published:
            self._published = self.source.version
            self.changes.tell("run", self.source.workspace, {"changed": ["metrics"]})
        return _PUBLISH_SECONDS


class FolderScope:
    """The use cases of one request; `UserScope` is that of a server."""

    def __init__(self, access: Access, services: FolderServices) -> None:
        self.access = access
        self.catalog = cast("Any", services.catalog)
        self.references = References(self.catalog)
        self.selections = Selections(self.catalog, self.references)
        self.runs = FolderRunEdits(access, services)
        self.saved_views = SavedViewEdits(access, cast("Any", _WithoutAudit(services.catalog)))

    @property
    def groups(self) -> NoReturn:
        raise InvalidValue("Workspaces and experiments cannot be changed here.", hint=_NO_STORE)

    def register(self, _: NewRun) -> NoReturn:
        raise InvalidValue("Runs cannot be registered here.", hint=_NO_STORE)

    def heartbeat(self, _: str) -> NoReturn:
        raise InvalidValue("Runs of folders have no heartbeat.", hint=_NO_STORE)

    def retain(self, _: RetentionRequest) -> NoReturn:
        raise InvalidValue("Files of folders are never deleted here.", hint=_NO_STORE)


class _WithoutAudit:
    """A catalog whose changes nobody records: they are one person's own."""

    def __init__(self, catalog: FolderCatalog) -> None:
        self.workspaces, self.saved_views, self.audit = catalog.workspaces, catalog.saved_views, self

    def record(self, *_: object) -> None:
        """Forget it."""


class FolderRunEdits:
    """Edits of runs. They are kept under `$ABOARD_HOME`, and never written into the folder."""

    def __init__(self, access: Access, services: FolderServices) -> None:
        self._access, self._services = access, services
        self._references = References(cast("Any", services.catalog))

    def change(self, asked: RunChange) -> EditResult:
        if asked.workspace is not None or asked.experiment is not None:
            raise InvalidValue(
                "Runs of folders cannot be moved to a workspace or an experiment.",
                hint="`aboard sync FOLDER STORE` makes them runs of a store.",
            )
        RunEdits.check_texts(asked)
        if asked.name:
            check_name(asked.name, "a run")
        note = None
        if asked.note is not None:
            note = Note(text=asked.note, author=asked.author or self._access.name, written=now())
        return self._edit(
            asked.runs,
            lambda edit: with_changes(
                edit, name=asked.name, set_tags=asked.set_tags, remove_tags=asked.remove_tags, note=note
            ),
        )

    def delete(self, runs: Sequence[Any], *, files: bool) -> EditResult:
        if files:
            raise InvalidValue(
                "Files of folders are never deleted here.", hint="Delete the folder yourself, or hide the run."
            )
        at = now()
        return self._edit([run.uid for run in runs], lambda edit: replace(edit, deleted=edit.deleted or at))

    def restore(self, runs: Sequence[Any]) -> EditResult:
        return self._edit([run.uid for run in runs], lambda edit: replace(edit, deleted=None))

    def _edit(self, names: Sequence[str], change: Callable[[RunEdit], RunEdit]) -> EditResult:
        find = self._services.catalog.runs.find
        runs = [find(run.number) for run in self._references.selected(names)]
        self._services.source.edit(runs, change)
        return EditResult([run.record() for run in runs], [])


class FolderReaders:
    """The pool of open runs of a folder source: every run is open, and read by the source's follower."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source

    @contextmanager
    def fresh(
        self, places: Sequence[RunLocation], *, max_age: float = 0.0, patience: float = 0.0
    ) -> Generator[list[OpenFolderRun]]:
        by_uid = {run.uid: run for run in self._source.runs()}
        yield [OpenFolderRun(place, by_uid.get(place.uid)) for place in places]


class OpenFolderRun:
    """A run as readers see it; it needs no lease."""

    def __init__(self, place: RunLocation, run: FolderRun | None) -> None:
        self.place = place
        self.problem = None if run else UnknownName("This run is gone.", hint="Its folder was removed or renamed.")
        self.failure = self.problem
        self.is_read = run is not None
        self.logdirs: Mapping[str, RunReader] = run.logdirs if run else {}

    def call(self, work: Callable[[], _T]) -> _T:
        return work()
