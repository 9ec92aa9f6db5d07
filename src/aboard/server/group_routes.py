# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/workspaces` and `/api/v1/experiments`."""

from __future__ import annotations

from starlette.routing import Route

from aboard.api.groups import ExperimentChange, NewExperiment, NewWorkspace, WorkspaceChange
from aboard.api.page import Page
from aboard.control.control import Control
from aboard.model.experiment import Experiment
from aboard.model.workspace import Workspace
from aboard.server.answering import Call, route

_LOOK_SECONDS = 3.0


class GroupRoutes:
    """Answers questions about workspaces and experiments; `is_fresh` as for runs."""

    def __init__(self, control: Control, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[Route]:
        return [
            route("workspaces", self.list_workspaces),
            route("workspaces", self.add_workspace, "POST"),
            route("workspaces/{name}", self.get_workspace),
            route("workspaces/{name}", self.change_workspace, "PATCH"),
            route("workspaces/{name}/delete", self.delete_workspace, "POST"),
            route("workspaces/{name}/restore", self.restore_workspace, "POST"),
            route("experiments", self.list_experiments),
            route("experiments", self.add_experiment, "POST"),
            route("experiments/{name}/delete", self.delete_experiment, "POST"),
            route("experiments/{name}/restore", self.restore_experiment, "POST"),
            route("experiments/{name}", self.get_experiment),
            route("experiments/{name}", self.change_experiment, "PATCH"),
        ]

    def list_workspaces(self, call: Call) -> Page[Workspace]:
        self._look()
        return Page(tuple(self._control.catalog.workspaces.list(in_bin=call.flag("bin"))))

    def add_workspace(self, call: Call) -> Workspace:
        new = call.body(NewWorkspace)
        return self._control.catalog.workspaces.add(new.name, description=new.description)

    def get_workspace(self, call: Call) -> Workspace:
        self._look()
        return self._control.catalog.workspaces.get(call.name("name"))

    def change_workspace(self, call: Call) -> Workspace:
        return self._control.groups.change_workspace(call.name("name"), call.body(WorkspaceChange), call.actor)

    def delete_workspace(self, call: Call) -> Workspace:
        return self._control.groups.delete_workspace(call.name("name"), call.actor)

    def restore_workspace(self, call: Call) -> Workspace:
        return self._control.groups.restore_workspace(call.name("name"), call.actor)

    def list_experiments(self, call: Call) -> Page[Experiment]:
        self._look()
        page = self._control.catalog.experiments.list(
            workspaces=call.texts("workspace") or None,
            limit=call.number("limit", 50),
            after=call.text("after"),
            in_bin=call.flag("bin"),
        )
        return Page(tuple(page.items), page.next)

    def add_experiment(self, call: Call) -> Experiment:
        new = call.body(NewExperiment)
        return self._control.catalog.experiments.add(new.workspace, new.name, description=new.description)

    def get_experiment(self, call: Call) -> Experiment:
        self._look()
        return self._control.references.experiment(call.name("name"))

    def change_experiment(self, call: Call) -> Experiment:
        return self._control.groups.change_experiment(call.name("name"), call.body(ExperimentChange), call.actor)

    def delete_experiment(self, call: Call) -> Experiment:
        return self._control.groups.delete_experiment(call.name("name"), call.actor)

    def restore_experiment(self, call: Call) -> Experiment:
        return self._control.groups.restore_experiment(call.name("name"), call.actor)

    def _look(self) -> None:
        if self._is_fresh:
            self._control.look_now(_LOOK_SECONDS)
