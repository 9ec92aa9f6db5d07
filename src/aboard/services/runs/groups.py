# SPDX-License-Identifier: Apache-2.0
"""Editing workspaces, experiments and saved views.

The document of a run names its workspace and experiment. A change of a group is therefore made in the catalog,
where everybody sees it at once, and in the document of each of its runs. Saved views are written by editors of a
workspace and changed by their owners and its administrators.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from aboard.api.groups import (
    ExperimentChange,
    NewExperiment,
    NewSavedView,
    NewWorkspace,
    SavedViewChange,
    WorkspaceChange,
)
from aboard.api.runs import RunProblem
from aboard.api.wire import on_all_pages
from aboard.errors import Conflict, Forbidden, StoreError
from aboard.model.groups import ExperimentRecord, SavedView, Workspace
from aboard.model.names import experiment_name
from aboard.model.people import Access, Role
from aboard.model.query.tree import ColumnField, ColumnKind, FieldComparison, Operator, Query
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.services.runs.editing import Edit, RunEditor
from aboard.services.runs.references import References

if TYPE_CHECKING:
    from aboard.catalog.catalog import VisibleCatalog
    from aboard.services.stores.indexing import RunIndexer

_PAGE = 1000


class GroupEdits:
    """Edits of workspaces and experiments by one user."""

    def __init__(
        self, access: Access, catalog: VisibleCatalog, references: References, indexer: RunIndexer, editor: RunEditor
    ) -> None:
        self._access, self._catalog, self._references = access, catalog, references
        self._indexer, self._editor = indexer, editor

    def add_experiment(self, asked: NewExperiment) -> ExperimentRecord:
        """Make an experiment."""
        self._access.check(Role.EDITOR, self._catalog.workspaces.get(asked.workspace).name)
        made = self._catalog.experiments.add(asked.workspace, asked.name, description=asked.description)
        self._record("add", experiment_name(made.number))
        return made

    def add_workspace(self, asked: NewWorkspace) -> Workspace:
        """Make a workspace, in which nobody but administrators has a role yet."""
        self._access.check_administrator()
        made = self._catalog.workspaces.add(asked.name, description=asked.description)
        self._record("add", f"workspace {made.name}")
        return made

    def change_experiment(self, text: str, asked: ExperimentChange) -> ExperimentRecord:
        """Rename an experiment, describe it, or give it other tags."""
        experiment = self._experiment(text)
        number, name = experiment.number, asked.name
        if name is not None and name != experiment.name:
            runs = self._runs_of(number)
            with self._indexer.changing(run.uid for run in runs):
                self._catalog.experiments.rename(number, name)
                self._write(runs, lambda run: replace(run, experiment=name, experiment_number=number))
        self._catalog.experiments.describe(number, description=asked.description, tags=asked.tags)
        self._record("change", experiment_name(number))
        return self._catalog.experiments.get(number)

    def delete_experiment(self, text: str) -> ExperimentRecord:
        """Put an experiment into the bin, with its runs."""
        number = self._experiment(text).number
        runs = self._runs_of(number, in_bin=False)
        self._catalog.bin.delete_experiment(number)
        self._bin(runs)
        self._record("delete", experiment_name(number))
        return self._catalog.experiments.get(number)

    def restore_experiment(self, text: str) -> ExperimentRecord:
        """Take an experiment out of the bin, and the runs that went with it."""
        found = self._references.experiment_in_bin(text)
        self._access.check(Role.EDITOR, found.workspace)
        number = found.number
        binned = self._runs_of(number, in_bin=True)
        self._catalog.bin.restore_experiment(number)
        self._unbin(binned)
        self._record("restore", experiment_name(number))
        return self._catalog.experiments.get(number)

    def change_workspace(self, name: str, asked: WorkspaceChange) -> Workspace:
        """Rename a workspace, or describe it."""
        workspace = self._workspace(name)
        new_name = asked.name if asked.name is not None else workspace.name
        description = workspace.description if asked.description is None else asked.description
        if description != workspace.description:
            self._catalog.workspaces.describe(workspace.name, description)
        if new_name != workspace.name:
            runs = self._runs_in(workspace.name)
            if source := next((run.store for run in runs if run.is_read_only), ""):
                raise Conflict(
                    f"The workspace {workspace.name} shows runs of the source {source}, which names it.",
                    hint="Rename it in serve.sources, and restart the server: its runs move along.",
                )
            with self._indexer.changing(run.uid for run in runs):
                self._catalog.workspaces.rename(workspace.name, new_name)
                self._write(runs, lambda run: replace(run, workspace=new_name))
        self._record("change", f"workspace {new_name}")
        return replace(workspace, name=new_name, description=description)

    def delete_workspace(self, name: str) -> Workspace:
        """Put a workspace into the bin, with its experiments and runs."""
        name = self._workspace(name).name
        runs = self._runs_in(name, in_bin=False)
        self._catalog.bin.delete_workspace(name)
        self._bin(runs)
        self._record("delete", f"workspace {name}")
        return self._catalog.workspaces.get(name)

    def restore_workspace(self, name: str) -> Workspace:
        """Take a workspace out of the bin, and what went with it."""
        name = self._workspace(name).name
        self._catalog.bin.restore_workspace(name)
        # All live runs of it, because those that were in the bin cannot be listed while it was in it, too.
        self._unbin(self._runs_in(name, in_bin=False))
        self._record("restore", f"workspace {name}")
        return self._catalog.workspaces.get(name)

    def _experiment(self, text: str) -> ExperimentRecord:
        found = self._references.experiment(text, exact=True)
        self._access.check(Role.EDITOR, found.workspace)
        return found

    def _workspace(self, name: str) -> Workspace:
        found = self._catalog.workspaces.get(name)
        self._access.check(Role.ADMIN, found.name)
        return found

    def _record(self, action: str, target: str) -> None:
        self._catalog.audit.record(self._access.name, action, target)

    def _bin(self, runs: list[RunRecord]) -> None:
        at = now()
        self._write(runs, lambda run: replace(run, deleted=run.deleted or at))

    def _unbin(self, runs: list[RunRecord]) -> None:
        back = [run for run in runs if self._catalog.runs.get(run.number or 0).deleted is None]
        self._write(back, lambda run: replace(run, deleted=None))

    def _write(self, runs: list[RunRecord], change: Edit) -> None:
        """What cannot be written now would come back with the next reindexing, so it is told."""
        if not runs:
            return
        stored = [run for run in runs if run.store]
        problems = self._editor.edit_all(stored, change).problems if stored else []
        if problems:
            raise _partly(problems, len(runs))

    def _runs_of(self, experiment: int, *, in_bin: bool | None = None) -> list[RunRecord]:
        return self._all(
            FieldComparison(ColumnField("experiment_number", ColumnKind.NUMBER), Operator.EQUAL, experiment), in_bin
        )

    def _runs_in(self, workspace: str, *, in_bin: bool | None = None) -> list[RunRecord]:
        return self._all(FieldComparison(ColumnField("workspace", ColumnKind.TEXT), Operator.EQUAL, workspace), in_bin)

    def _all(self, where: Query, in_bin: bool | None) -> list[RunRecord]:
        bins = (False, True) if in_bin is None else (in_bin,)
        return [run for one in bins for run in self._all_in(where, one)]

    def _all_in(self, where: Query, in_bin: bool) -> Iterator[RunRecord]:
        runs = self._catalog.runs
        return on_all_pages(
            lambda after: runs.list(where=where, limit=_PAGE, after=after, in_bin=in_bin, hparams=(), metrics=())
        )


def _partly(problems: list[RunProblem], count: int) -> StoreError:
    first = problems[0]
    return StoreError(
        f"the catalog is changed, but the documents of {len(problems)} of {count} runs in their stores are not: "
        f"{first.run}: {first.message}",
        hint="do it once more when the store can be written; until then a reindexing would bring back the old state",
    )


class SavedViewEdits:
    """Edits of saved views by one user."""

    def __init__(self, access: Access, catalog: VisibleCatalog) -> None:
        self._access, self._catalog = access, catalog

    def add(self, asked: NewSavedView) -> SavedView:
        """Keep a view for all who see the workspace."""
        self._access.check(Role.EDITOR, self._catalog.workspaces.get(asked.workspace).name)
        made = self._catalog.saved_views.add(asked.workspace, asked.name, asked.address, owner=self._access.name)
        self._record("add", made)
        return made

    def change(self, number: int, asked: SavedViewChange) -> SavedView:
        """Rename a view, or have it show something else."""
        self._owned(number)
        changed = self._catalog.saved_views.change(number, name=asked.name, address=asked.address)
        self._record("change", changed)
        return changed

    def delete(self, number: int) -> SavedView:
        """Forget a view; what it was."""
        gone = self._owned(number)
        self._catalog.saved_views.delete(number)
        self._record("delete", gone)
        return gone

    def _owned(self, number: int) -> SavedView:
        view = self._catalog.saved_views.get(number)
        self._access.check(Role.EDITOR, view.workspace)
        if view.owner != self._access.name and not self._access.may(Role.ADMIN, view.workspace):
            hint = f"save it under another name, or ask an administrator of the workspace {view.workspace}"
            raise Forbidden(f"the saved view {view.name!r} is of {view.owner}", hint=hint)
        return view

    def _record(self, action: str, view: SavedView) -> None:
        self._catalog.audit.record(self._access.name, action, f"saved view {view.name} of {view.workspace}")
