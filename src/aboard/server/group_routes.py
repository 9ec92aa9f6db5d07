# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/workspaces` and `/api/v1/experiments`."""

from __future__ import annotations

from typing import Annotated

from fastapi.routing import APIRoute

from aboard.api.groups import ExperimentChange, NewExperiment, NewWorkspace, WorkspaceChange
from aboard.api.page import Page
from aboard.model.experiment import Experiment
from aboard.model.workspace import Workspace
from aboard.server.actors import Asking
from aboard.server.answering import Operations, sent
from aboard.server.parameters import After, Exact, ExperimentName, InBin, Limit, WorkspaceName, Workspaces
from aboard.services.services import Control


class GroupRoutes:
    """Answers questions about workspaces and experiments; `is_fresh` as for runs."""

    def __init__(self, control: Control, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[APIRoute]:
        operations = Operations("groups")
        operations.add("GET", "workspaces", self.list_workspaces)
        operations.add("POST", "workspaces", self.add_workspace)
        operations.add("GET", "workspaces/{name}", self.get_workspace)
        operations.add("PATCH", "workspaces/{name}", self.change_workspace)
        operations.add("POST", "workspaces/{name}/delete", self.delete_workspace)
        operations.add("POST", "workspaces/{name}/restore", self.restore_workspace)
        operations.add("GET", "experiments", self.list_experiments)
        operations.add("POST", "experiments", self.add_experiment)
        operations.add("POST", "experiments/{name}/delete", self.delete_experiment)
        operations.add("POST", "experiments/{name}/restore", self.restore_experiment)
        operations.add("GET", "experiments/{name}", self.get_experiment)
        operations.add("PATCH", "experiments/{name}", self.change_experiment)
        return operations.routes

    def list_workspaces(self, access: Asking, in_bin: InBin = False) -> Page[Workspace]:
        """All workspaces, with how much is in them."""
        self._look()
        return Page(tuple(self._control.seen_by(access).catalog.workspaces.list(in_bin=in_bin)))

    def add_workspace(self, new: Annotated[NewWorkspace, sent(NewWorkspace)], access: Asking) -> Workspace:
        """Make a workspace."""
        return self._control.seen_by(access).groups.add_workspace(new)

    def get_workspace(self, name: WorkspaceName, access: Asking) -> Workspace:
        """One workspace, also when it is in the bin."""
        self._look()
        return self._control.seen_by(access).catalog.workspaces.get(name)

    def change_workspace(
        self, name: WorkspaceName, change: Annotated[WorkspaceChange, sent(WorkspaceChange)], access: Asking
    ) -> Workspace:
        """Rename or describe a workspace."""
        return self._control.seen_by(access).groups.change_workspace(name, change)

    def delete_workspace(self, name: WorkspaceName, access: Asking) -> Workspace:
        """Put a workspace into the bin, with its experiments and runs."""
        return self._control.seen_by(access).groups.delete_workspace(name)

    def restore_workspace(self, name: WorkspaceName, access: Asking) -> Workspace:
        """Take a workspace out of the bin, and what went with it."""
        return self._control.seen_by(access).groups.restore_workspace(name)

    def list_experiments(
        self, workspaces: Workspaces, access: Asking, limit: Limit = 50, after: After = None, in_bin: InBin = False
    ) -> Page[Experiment]:
        """A page of experiments, newest first, with how many runs are in which state."""
        self._look()
        page = self._control.seen_by(access).catalog.experiments.list(
            workspaces=workspaces or None, limit=limit, after=after or None, in_bin=in_bin
        )
        return Page(tuple(page.items), page.next)

    def add_experiment(self, new: Annotated[NewExperiment, sent(NewExperiment)], access: Asking) -> Experiment:
        """Make an experiment."""
        return self._control.seen_by(access).groups.add_experiment(new)

    def get_experiment(self, name: ExperimentName, access: Asking, exact: Exact = False) -> Experiment:
        """One experiment, also when it is in the bin."""
        self._look()
        return self._control.seen_by(access).references.experiment(name, exact=exact)

    def change_experiment(
        self, name: ExperimentName, change: Annotated[ExperimentChange, sent(ExperimentChange)], access: Asking
    ) -> Experiment:
        """Rename or describe an experiment, or give it other tags."""
        return self._control.seen_by(access).groups.change_experiment(name, change)

    def delete_experiment(self, name: ExperimentName, access: Asking) -> Experiment:
        """Put an experiment into the bin, with its runs."""
        return self._control.seen_by(access).groups.delete_experiment(name)

    def restore_experiment(self, name: ExperimentName, access: Asking) -> Experiment:
        """Take an experiment out of the bin, and the runs that went with it."""
        return self._control.seen_by(access).groups.restore_experiment(name)

    def _look(self) -> None:
        if self._is_fresh:
            self._control.look_now()
