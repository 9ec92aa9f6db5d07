# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/saved-views`: what the page showed, under names that a workspace shares."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from fastapi.routing import APIRoute

from aboard.api.page import Page
from aboard.api.saved_views import NewSavedView, SavedViewChange
from aboard.model.saved_view import SavedView
from aboard.server.actors import Asking
from aboard.server.answering import Operations, sent
from aboard.server.parameters import Workspaces
from aboard.services.services import Control

_Id = Annotated[int, Path(ge=0, le=2**63 - 1, description="The id that the list has.")]


class SavedViewRoutes:
    """Answers questions about saved views."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def routes(self) -> list[APIRoute]:
        operations = Operations("saved_views")
        operations.add("GET", "saved-views", self.list)
        operations.add("POST", "saved-views", self.add)
        operations.add("PATCH", "saved-views/{view}", self.change)
        operations.add("DELETE", "saved-views/{view}", self.delete)
        return operations.routes

    def list(self, workspaces: Workspaces, access: Asking) -> Page[SavedView]:
        """The saved views of workspaces, by name."""
        return Page(tuple(self._control.seen_by(access).catalog.saved_views.list(workspaces=workspaces or None)))

    def add(self, new: Annotated[NewSavedView, sent(NewSavedView)], access: Asking) -> SavedView:
        """Save a view for all who see its workspace; this needs the role editor there."""
        return self._control.seen_by(access).saved_views.add(new)

    def change(self, view: _Id, change: Annotated[SavedViewChange, sent(SavedViewChange)], access: Asking) -> SavedView:
        """Rename a view or have it show something else: for its owner, and administrators of the workspace."""
        return self._control.seen_by(access).saved_views.change(view, change)

    def delete(self, view: _Id, access: Asking) -> SavedView:
        """Forget a view: for its owner, and administrators of the workspace."""
        return self._control.seen_by(access).saved_views.delete(view)
