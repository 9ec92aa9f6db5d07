# SPDX-License-Identifier: Apache-2.0
"""Workspaces, their experiments and their saved views, on a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from aboard.api.groups import (
    ExperimentChange,
    NewExperiment,
    NewSavedView,
    NewWorkspace,
    SavedViewChange,
    WorkspaceChange,
)
from aboard.api.wire import Page
from aboard.client.board import ServedExperiment
from aboard.client.transport import Transport, quote_path_part
from aboard.model.groups import ExperimentRecord, SavedView, Workspace

_LONG_SECONDS = 3600.0  # each run of a group is changed in its store


class WorkspacesClient:
    """The workspaces of a server; `Client.workspaces`."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._transport = transport

    def list(self, *, in_bin: bool = False) -> Page[Workspace]:
        """All workspaces by name, with how much is in them."""
        return self._transport().get(Page[Workspace], "workspaces", {"bin": in_bin})

    def get(self, name: str) -> Workspace:
        """One workspace, also when it is in the bin."""
        return self._transport().get(Workspace, f"workspaces/{quote_path_part(name)}")

    def add(self, name: str, *, description: str = "") -> Workspace:
        return self._transport().send(Workspace, "POST", "workspaces", NewWorkspace(name=name, description=description))

    def change(self, name: str, *, new_name: str | None = None, description: str | None = None) -> Workspace:
        change = WorkspaceChange(name=new_name, description=description)
        return self._transport().send(
            Workspace, "PATCH", f"workspaces/{quote_path_part(name)}", change, timeout=_LONG_SECONDS
        )

    def delete(self, name: str) -> Workspace:
        """Put a workspace into the bin, with its experiments and runs."""
        return self._transport().send(
            Workspace, "POST", f"workspaces/{quote_path_part(name)}/delete", timeout=_LONG_SECONDS
        )

    def restore(self, name: str) -> Workspace:
        """Take a workspace out of the bin, and what went with it."""
        return self._transport().send(
            Workspace, "POST", f"workspaces/{quote_path_part(name)}/restore", timeout=_LONG_SECONDS
        )


class ExperimentsClient:
    """The experiments of a server; `Client.experiments`. One is named `exp7`, `job7`, `7`, or `workspace/name`."""

    def __init__(
        self, transport: Callable[[], Transport], served: Callable[[ExperimentRecord], ServedExperiment]
    ) -> None:
        self._transport, self._served = transport, served

    def list(
        self,
        *,
        workspaces: str | Sequence[str] | None = None,
        limit: int = 50,
        after: str | None = None,
        in_bin: bool = False,
    ) -> Page[ServedExperiment]:
        """One page of experiments, newest first, with how many runs are in which state."""
        names = (workspaces,) if isinstance(workspaces, str) else tuple(workspaces or ())
        query = {"workspace": names, "limit": limit, "after": after, "bin": in_bin}
        page = self._transport().get(Page[ExperimentRecord], "experiments", query)
        return Page(tuple(map(self._served, page.items)), page.next)

    def get(self, experiment: str, *, exact: bool = False) -> ServedExperiment:
        """One experiment, also when it is in the bin; `exact` as for `Client.runs.select`."""
        path = f"experiments/{quote_path_part(experiment)}"
        return self._served(self._transport().get(ExperimentRecord, path, {"exact": exact}))

    def add(self, workspace: str, name: str, *, description: str = "") -> ServedExperiment:
        new = NewExperiment(workspace=workspace, name=name, description=description)
        return self._served(self._transport().send(ExperimentRecord, "POST", "experiments", new))

    def change(
        self,
        experiment: str,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> ExperimentRecord:
        """Rename an experiment, describe it, or give it other tags."""
        change = ExperimentChange(name=name, description=description, tags=tags)
        path = f"experiments/{quote_path_part(experiment)}"
        return self._transport().send(ExperimentRecord, "PATCH", path, change, timeout=_LONG_SECONDS)

    def delete(self, experiment: str) -> ExperimentRecord:
        """Put an experiment into the bin, with its runs."""
        path = f"experiments/{quote_path_part(experiment)}/delete"
        return self._transport().send(ExperimentRecord, "POST", path, timeout=_LONG_SECONDS)

    def restore(self, experiment: str) -> ExperimentRecord:
        """Take an experiment out of the bin, and the runs that went with it."""
        path = f"experiments/{quote_path_part(experiment)}/restore"
        return self._transport().send(ExperimentRecord, "POST", path, timeout=_LONG_SECONDS)


class SavedViewsClient:
    """The saved views of a server; `Client.saved_views`. `address` is what follows `/w/<workspace>/`."""

    def __init__(self, transport: Callable[[], Transport]) -> None:
        self._transport = transport

    def list(self, workspace: str | None = None) -> Page[SavedView]:
        """The views of a workspace, or of all, by name."""
        return self._transport().get(Page[SavedView], "saved-views", {"workspace": workspace})

    def add(self, workspace: str, name: str, address: str) -> SavedView:
        """Save a view for all who see the workspace."""
        new = NewSavedView(workspace=workspace, name=name, address=address)
        return self._transport().send(SavedView, "POST", "saved-views", new)

    def change(self, view: int, *, name: str | None = None, address: str | None = None) -> SavedView:
        """Rename a view, or have it show something else."""
        change = SavedViewChange(name=name, address=address)
        return self._transport().send(SavedView, "PATCH", f"saved-views/{view}", change)

    def delete(self, view: int) -> SavedView:
        return self._transport().send(SavedView, "DELETE", f"saved-views/{view}")
