# SPDX-License-Identifier: Apache-2.0
"""Saved views of the page, asked from a server."""

from __future__ import annotations

from collections.abc import Callable

from aboard.api.page import Page
from aboard.api.saved_views import NewSavedView, SavedViewChange
from aboard.client.transport import Transport
from aboard.model.saved_view import SavedView


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
        """Forget a view."""
        return self._transport().send(SavedView, "DELETE", f"saved-views/{view}")
