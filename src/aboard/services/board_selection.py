# SPDX-License-Identifier: Apache-2.0
"""What a board is about: the selection that was settled when it was made, asked again at any later time."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from aboard.catalog.catalog import Catalog
from aboard.errors import UnknownName
from aboard.model.access import Access
from aboard.model.board import Board
from aboard.model.names import folded
from aboard.model.query.parser import parse_query
from aboard.model.query.syntax import Among, Column, Comparison, conditions
from aboard.model.selected_run import SelectedRun
from aboard.model.selection import Entry, Folder, NumberKind, Numbers, Selection, is_wild
from aboard.model.selection_words import hint_for_nothing, parse_word
from aboard.services.references import References
from aboard.services.selections import Resolved, Selections


def selections_of(catalog: Catalog, access: Access) -> Selections:
    """Selections as this person means them."""
    seen = catalog.seen_by(access.seen)
    return Selections(seen, References(seen))


def check_found(settled: Selection, resolved: Resolved) -> None:
    """Refuse what selects nothing, as long as no experiment or store is meant, whose runs will come."""
    awaited = {str(one) for one in settled.entries if isinstance(one, Folder) or _is_experiment(one)}
    missed = [word for word in resolved.empty if word not in awaited]
    if not missed:
        return
    if settled.where:
        hint = "`aboard runs list` shows what there is"
        raise UnknownName(f"there is no run for which {settled.where} holds", hint=hint)
    raise UnknownName(f"there is no run like {missed[0]!r}", hint=hint_for_nothing(missed[0]))


def _is_experiment(entry: Entry) -> bool:
    return isinstance(entry, Numbers) and entry.kind is NumberKind.EXPERIMENT and entry.is_one


def kept_selection(board: Board) -> Selection:
    """The selection that a board keeps, which was settled: its words mean the same to everybody."""
    return Selection(where=board.where).with_entries([parse_word(source) for source in board.sources])


def named_numbers(board: Board, kind: NumberKind) -> tuple[int, ...]:
    """The runs or experiments that a board names one by one."""
    entries = kept_selection(board).entries
    return tuple(one.first for one in entries if isinstance(one, Numbers) and one.kind is kind and one.is_one)


def workspaces_of(board: Board) -> frozenset[str]:
    """Folded names of the workspaces that a board names or has shown: who may not see all of them may not see it."""
    return _named_workspaces(board.sources, board.where, board.scope).union(board.shown)


@functools.lru_cache(4096)  # used by every request to a board
def _named_workspaces(sources: tuple[str, ...], where: str, scope: tuple[str, ...] | None) -> frozenset[str]:
    """Only those that its maker could see: others are perhaps not there, and their names reveal nothing."""
    entries = [parse_word(source) for source in sources]
    named = {entry.workspace for entry in entries if not isinstance(entry, Folder) and not is_wild(entry.workspace)}
    for condition in conditions(parse_query(where)) if where else ():
        if isinstance(condition.field, Column) and condition.field.name == "workspace":
            values = condition.values if isinstance(condition, Among) else ()
            values = (condition.value,) if isinstance(condition, Comparison) else values
            named |= {value for value in values if isinstance(value, str)}
    found = frozenset(folded(name) for name in named if name)
    return found if scope is None else found.intersection(scope)


class BoardSelection:
    """The selection of one board. Of workspaces that its maker could not look into, it never finds anything."""

    def __init__(self, board: Board, catalog: Catalog) -> None:
        self._selection = kept_selection(board)
        seen = catalog.seen_by(None if board.scope is None else frozenset(board.scope))
        self._selections = Selections(seen, References(seen))
        self.is_live = self._selection.is_live
        self.folders: Sequence[str] = ()
        if self._selection.entries:
            self.folders = self._selections.resolve(self._selection).folders

    def resolve(self) -> list[SelectedRun]:
        """The runs that are meant now."""
        return list(self._selections.resolve(self._selection).runs)
