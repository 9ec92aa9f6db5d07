# SPDX-License-Identifier: Apache-2.0
"""Names and deletion of workspaces and experiments.

A run's document says to which of them it belongs, so a change of the group is one in the catalog, for all to see at
once, and one in the document of each of its runs.
"""

from __future__ import annotations

from dataclasses import replace

from aboard.api.groups import ExperimentChange, WorkspaceChange
from aboard.api.runs import RunProblem
from aboard.catalog.catalog import Catalog
from aboard.control.indexing import RunIndexer
from aboard.control.references import References
from aboard.control.run_edits import Edit, RunEditor
from aboard.errors import StoreError
from aboard.model.experiment import Experiment
from aboard.model.names import experiment_name
from aboard.model.query.syntax import Column, ColumnKind, Comparison, Order, Query
from aboard.model.run import Run
from aboard.model.times import now
from aboard.model.workspace import Workspace

_PAGE = 1000


class GroupChanges:
    """What people do with workspaces and experiments."""

    def __init__(self, catalog: Catalog, references: References, indexer: RunIndexer, editor: RunEditor) -> None:
        self._catalog, self._references, self._indexer, self._editor = catalog, references, indexer, editor

    def change_experiment(self, text: str, asked: ExperimentChange, actor: str) -> Experiment:
        """Rename an experiment, describe it, or give it other tags."""
        experiment = self._references.experiment(text)
        number, name = experiment.number, asked.name
        if name is not None and name != experiment.name:
            runs = self._runs_of(number)
            with self._indexer.changing(run.uid for run in runs):
                self._catalog.experiments.rename(number, name)
                self._write(runs, lambda run: replace(run, experiment=name, experiment_number=number))
        self._catalog.experiments.describe(number, description=asked.description, tags=asked.tags)
        self._catalog.audit.record(actor, "change", experiment_name(number))
        return self._catalog.experiments.get(number)

    def delete_experiment(self, text: str, actor: str) -> Experiment:
        """Put an experiment into the bin, with its runs."""
        number = self._references.experiment(text).number
        runs = self._runs_of(number, in_bin=False)
        self._catalog.bin.delete_experiment(number)
        self._bin(runs)
        self._catalog.audit.record(actor, "delete", experiment_name(number))
        return self._catalog.experiments.get(number)

    def restore_experiment(self, text: str, actor: str) -> Experiment:
        """Take an experiment out of the bin, and the runs that went with it."""
        number = self._references.experiment(text).number
        binned = self._runs_of(number, in_bin=True)
        self._catalog.bin.restore_experiment(number)
        self._unbin(binned)
        self._catalog.audit.record(actor, "restore", experiment_name(number))
        return self._catalog.experiments.get(number)

    def change_workspace(self, name: str, asked: WorkspaceChange, actor: str) -> Workspace:
        """Rename a workspace, or describe it."""
        workspace = self._catalog.workspaces.get(name)
        new_name = asked.name if asked.name is not None else workspace.name
        if asked.description is not None:
            self._catalog.workspaces.describe(workspace.name, asked.description)
        if new_name != workspace.name:
            runs = self._runs_in(workspace.name)
            with self._indexer.changing(run.uid for run in runs):
                self._catalog.workspaces.rename(workspace.name, new_name)
                self._write(runs, lambda run: replace(run, workspace=new_name))
        self._catalog.audit.record(actor, "change", f"workspace {new_name}")
        return self._catalog.workspaces.get(new_name)

    def delete_workspace(self, name: str, actor: str) -> Workspace:
        """Put a workspace into the bin, with its experiments and runs."""
        name = self._catalog.workspaces.get(name).name
        runs = self._runs_in(name, in_bin=False)
        self._catalog.bin.delete_workspace(name)
        self._bin(runs)
        self._catalog.audit.record(actor, "delete", f"workspace {name}")
        return self._catalog.workspaces.get(name)

    def restore_workspace(self, name: str, actor: str) -> Workspace:
        """Take a workspace out of the bin, and what went with it."""
        name = self._catalog.workspaces.get(name).name
        self._catalog.bin.restore_workspace(name)
        # All live runs of it, because those that were in the bin cannot be listed while it was in it, too.
        self._unbin(self._runs_in(name, in_bin=False))
        self._catalog.audit.record(actor, "restore", f"workspace {name}")
        return self._catalog.workspaces.get(name)

    def _bin(self, runs: list[Run]) -> None:
        at = now()
        self._write(runs, lambda run: replace(run, deleted=run.deleted or at))

    def _unbin(self, runs: list[Run]) -> None:
        back = [run for run in runs if self._catalog.runs.get(run.number or 0).deleted is None]
        self._write(back, lambda run: replace(run, deleted=None))

    def _write(self, runs: list[Run], change: Edit) -> None:
        """What cannot be written now would come back with the next reindexing, so it is told."""
        if not runs:
            return
        stored = [run for run in runs if run.store]
        problems = self._editor.edit_all(stored, change).problems if stored else []
        if problems:
            raise _partly(problems, len(runs))

    def _runs_of(self, experiment: int, *, in_bin: bool | None = None) -> list[Run]:
        return self._all(Comparison(Column("experiment_number", ColumnKind.NUMBER), Order.EQUAL, experiment), in_bin)

    def _runs_in(self, workspace: str, *, in_bin: bool | None = None) -> list[Run]:
        return self._all(Comparison(Column("workspace", ColumnKind.TEXT), Order.EQUAL, workspace), in_bin)

    def _all(self, where: Query, in_bin: bool | None) -> list[Run]:
        found: list[Run] = []
        for bin_too in (False, True) if in_bin is None else (in_bin,):
            after: str | None = None
            while True:
                page = self._catalog.runs.list(
                    where=where, limit=_PAGE, after=after, in_bin=bin_too, hparams=(), metrics=()
                )
                found += page.items
                after = page.next
                if after is None:
                    break
        return found


def _partly(problems: list[RunProblem], count: int) -> StoreError:
    first = problems[0]
    return StoreError(
        f"the catalog is changed, but the documents of {len(problems)} of {count} runs in their stores are not: "
        f"{first.run}: {first.message}",
        hint="do it once more when the store can be written; until then a reindexing would bring back the old state",
    )
