# SPDX-License-Identifier: Apache-2.0
"""Saved views of a folder source, kept in a document under `$ABOARD_HOME/folders`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from aboard.errors import Conflict, UnknownName
from aboard.foundation.documents import fields_of, parse_document, render_document
from aboard.foundation.files import make_private_folder, written_aside
from aboard.foundation.locks import locked
from aboard.model.documents import DocumentFields
from aboard.model.groups import SavedView, check_view_address, check_view_name
from aboard.model.names import folded
from aboard.model.times import now, time_text

_T = TypeVar("_T")
_FORMAT = "aboard.saved-views"
_MOST_VIEWS = 1000


class FolderSavedViews:
    """The saved views of one source. Several processes may change them; each change reads the newest first."""

    def __init__(self, file: Path, workspace: str) -> None:
        self._file, self._workspace = file, workspace

    def list(self, *, workspaces: Sequence[str] | None = None) -> Sequence[SavedView]:
        """All views, by name."""
        return sorted(self._read(), key=lambda view: (folded(view.name), view.id))

    def get(self, number: int) -> SavedView:
        for view in self._read():
            if view.id == number:
                return view
        raise UnknownName(f"There is no saved view {number}.", hint="It may have been deleted. Reload the list.")

    def add(self, workspace: str, name: str, address: str, *, owner: str) -> SavedView:
        check_view_name(name)
        check_view_address(address)

        def change(views: list[SavedView]) -> SavedView:
            _refuse_taken(views, name)
            if len(views) >= _MOST_VIEWS:
                raise Conflict(
                    f"There are {_MOST_VIEWS} saved views already.", hint="Delete some that you do not need."
                )
            at, number = now(), 1 + max((view.id for view in views), default=0)
            views.append(
                SavedView(
                    id=number,
                    workspace=self._workspace,
                    name=name,
                    address=address,
                    owner=owner,
                    created=at,
                    changed=at,
                )
            )
            return views[-1]

        return self._change(change)

    def change(self, number: int, *, name: str | None = None, address: str | None = None) -> SavedView:
        """Rename a view, or let it show something else."""
        if name is not None:
            check_view_name(name)
        if address is not None:
            check_view_address(address)

        def change(views: list[SavedView]) -> SavedView:
            for index, view in enumerate(views):
                if view.id == number:
                    if name is not None:
                        _refuse_taken([other for other in views if other.id != number], name)
                    views[index] = replace(view, name=name or view.name, address=address or view.address, changed=now())
                    return views[index]
            raise UnknownName(f"There is no saved view {number}.", hint="It may have been deleted. Reload the list.")

        return self._change(change)

    def delete(self, number: int) -> None:
        def change(views: list[SavedView]) -> None:
            views[:] = [view for view in views if view.id != number]

        self._change(change)

    def _change(self, change: Callable[[list[SavedView]], _T]) -> _T:
        make_private_folder(self._file.parent)
        with locked(self._file.with_suffix(".lock")):
            views = self._read()
            result = change(views)
            with written_aside(self._file) as file:
                file.write(render_document(_FORMAT, {"views": [_to_json(view) for view in views]}))
        return result

    def _read(self) -> list[SavedView]:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return []
        where = str(self._file)
        with fields_of(where):
            document = DocumentFields(parse_document(content, _FORMAT, where), where)
            return [self._from_json(DocumentFields(entry, where)) for entry in document.entries("views")]

    def _from_json(self, fields: DocumentFields) -> SavedView:
        at = fields.time("changed") or now()
        return SavedView(
            id=fields.required_integer("id"),
            workspace=self._workspace,
            name=fields.required_text("name"),
            address=fields.required_text("address"),
            owner=fields.text("owner"),
            created=fields.time("created") or at,
            changed=at,
        )


def _to_json(view: SavedView) -> dict[str, object]:
    return {
        "id": view.id,
        "name": view.name,
        "address": view.address,
        "owner": view.owner,
        "created": time_text(view.created),
        "changed": time_text(view.changed),
    }


def _refuse_taken(views: Sequence[SavedView], name: str) -> None:
    if any(folded(view.name) == folded(name) for view in views):
        raise Conflict(f"There is already a saved view {name!r}.", hint="Choose another name, or change that view.")
