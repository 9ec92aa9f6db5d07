# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/workspaces`, `experiments` and `saved-views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from starlette.routing import Route

from aboard.api.groups import (
    ExperimentChange,
    NewExperiment,
    NewSavedView,
    NewWorkspace,
    SavedViewChange,
    WorkspaceChange,
)
from aboard.api.wire import Page
from aboard.model.groups import ExperimentRecord, SavedView, Workspace
from aboard.server.routes.binding import Path
from aboard.server.routes.operations import CurrentAccess, Operations, request_body
from aboard.server.routes.parameters import After, Exact, ExperimentName, InBin, Limit, WorkspaceName, Workspaces

if TYPE_CHECKING:
    from aboard.services.services import Services


class GroupRoutes:
    """Answers questions about workspaces and experiments; `is_fresh` as for runs."""

    def __init__(self, control: Services, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[Route]:
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

    def list_workspaces(self, access: CurrentAccess, in_bin: InBin = False) -> Page[Workspace]:
        """All workspaces, with how much is in them."""
        self._refresh()
        return Page(tuple(self._control.seen_by(access).catalog.workspaces.list(in_bin=in_bin)))

    def add_workspace(
        self, new: Annotated[NewWorkspace, request_body(NewWorkspace)], access: CurrentAccess
    ) -> Workspace:
        """Make a workspace."""
        return self._control.seen_by(access).groups.add_workspace(new)

    def get_workspace(self, name: WorkspaceName, access: CurrentAccess) -> Workspace:
        """One workspace, also when it is in the bin."""
        self._refresh()
        return self._control.seen_by(access).catalog.workspaces.get(name)

    def change_workspace(
        self,
        name: WorkspaceName,
        change: Annotated[WorkspaceChange, request_body(WorkspaceChange)],
        access: CurrentAccess,
    ) -> Workspace:
        """Rename or describe a workspace."""
        return self._control.seen_by(access).groups.change_workspace(name, change)

    def delete_workspace(self, name: WorkspaceName, access: CurrentAccess) -> Workspace:
        """Put a workspace into the bin, with its experiments and runs."""
        return self._control.seen_by(access).groups.delete_workspace(name)

    def restore_workspace(self, name: WorkspaceName, access: CurrentAccess) -> Workspace:
        """Take a workspace out of the bin, and what went with it."""
        return self._control.seen_by(access).groups.restore_workspace(name)

    def list_experiments(
        self,
        workspaces: Workspaces,
        access: CurrentAccess,
        limit: Limit = 50,
        after: After = None,
        in_bin: InBin = False,
    ) -> Page[ExperimentRecord]:
        """A page of experiments, newest first, with how many runs are in which state."""
        self._refresh()
        page = self._control.seen_by(access).catalog.experiments.list(
            workspaces=workspaces or None, limit=limit, after=after or None, in_bin=in_bin
        )
        return Page(tuple(page.items), page.next)

    def add_experiment(
        self, new: Annotated[NewExperiment, request_body(NewExperiment)], access: CurrentAccess
    ) -> ExperimentRecord:
        """Make an experiment."""
        return self._control.seen_by(access).groups.add_experiment(new)

    def get_experiment(self, name: ExperimentName, access: CurrentAccess, exact: Exact = False) -> ExperimentRecord:
        """One experiment, also when it is in the bin."""
        self._refresh()
        return self._control.seen_by(access).references.experiment(name, exact=exact)

    def change_experiment(
        self,
        name: ExperimentName,
        change: Annotated[ExperimentChange, request_body(ExperimentChange)],
        access: CurrentAccess,
    ) -> ExperimentRecord:
        """Rename or describe an experiment, or give it other tags."""
        return self._control.seen_by(access).groups.change_experiment(name, change)

    def delete_experiment(self, name: ExperimentName, access: CurrentAccess) -> ExperimentRecord:
        """Put an experiment into the bin, with its runs."""
        return self._control.seen_by(access).groups.delete_experiment(name)

    def restore_experiment(self, name: ExperimentName, access: CurrentAccess) -> ExperimentRecord:
        """Take an experiment out of the bin, and the runs that went with it."""
        return self._control.seen_by(access).groups.restore_experiment(name)

    def _refresh(self) -> None:
        if self._is_fresh:
            self._control.look_now()


_Id = Annotated[int, Path(ge=0, le=2**63 - 1, description="The id that the list has.")]


class SavedViewRoutes:
    """Answers questions about saved views."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("saved_views")
        operations.add("GET", "saved-views", self.list)
        operations.add("POST", "saved-views", self.add)
        operations.add("PATCH", "saved-views/{view}", self.change)
        operations.add("DELETE", "saved-views/{view}", self.delete)
        return operations.routes

    def list(self, workspaces: Workspaces, access: CurrentAccess) -> Page[SavedView]:
        """The saved views of workspaces, by name."""
        return Page(tuple(self._control.seen_by(access).catalog.saved_views.list(workspaces=workspaces or None)))

    def add(self, new: Annotated[NewSavedView, request_body(NewSavedView)], access: CurrentAccess) -> SavedView:
        """Save a view for all who see its workspace; this needs the role editor there."""
        return self._control.seen_by(access).saved_views.add(new)

    def change(
        self, view: _Id, change: Annotated[SavedViewChange, request_body(SavedViewChange)], access: CurrentAccess
    ) -> SavedView:
        """Rename a view or have it show something else: for its owner, and administrators of the workspace."""
        return self._control.seen_by(access).saved_views.change(view, change)

    def delete(self, view: _Id, access: CurrentAccess) -> SavedView:
        """Forget a view: for its owner, and administrators of the workspace."""
        return self._control.seen_by(access).saved_views.delete(view)
