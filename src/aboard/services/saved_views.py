# SPDX-License-Identifier: Apache-2.0
"""Saved views, for one person: editors of a workspace save them; their owners and its administrators change them."""

from __future__ import annotations

from aboard.api.saved_views import NewSavedView, SavedViewChange
from aboard.catalog.catalog import SeenCatalog
from aboard.errors import Forbidden
from aboard.model.access import Access
from aboard.model.saved_view import SavedView
from aboard.model.user import Role


class SavedViewChanges:
    """What one person does with saved views."""

    def __init__(self, access: Access, catalog: SeenCatalog) -> None:
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
