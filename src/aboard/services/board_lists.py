# SPDX-License-Identifier: Apache-2.0
"""Lists of boards: whose, where, in what order, and page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aboard.catalog.cursors import Cursor
from aboard.catalog.page import Page, check_limit
from aboard.errors import InvalidValue
from aboard.model.board import Board
from aboard.model.times import time_text

Key = Callable[[Board], str]


def _moment(name: str) -> Key:
    return lambda board: time_text(at) if (at := getattr(board, name)) is not None else ""


_ORDERS: dict[str, Key] = {
    "id": lambda board: board.id,
    "name": lambda board: board.name,
    "owner": lambda board: board.owner.casefold(),
    "description": lambda board: board.description.casefold(),
    "state": lambda board: board.state.value,
    "exit_status": lambda board: board.exit_status,
    "workspace": lambda board: board.workspace.casefold(),
    **{name: _moment(name) for name in ("created", "started", "last_used", "ended")},
}
SORTED_BY = tuple(_ORDERS)


def page_of(
    boards: Sequence[Board], *, sort_by: str, descending: bool, limit: int, after: str | None = None
) -> Page[Board]:
    """One page of boards; `after` is what `next` of the page before said. Of equals the one with the smaller id."""
    check_limit(limit)
    if sort_by not in _ORDERS:
        raise InvalidValue(f"boards are not sorted by {sort_by!r}", hint=f"allowed are {', '.join(SORTED_BY)}")
    key, order = _ORDERS[sort_by], f"boards {'-' * descending}{sort_by}"
    ranked = sorted(((key(board), board.id, board) for board in boards), key=lambda one: one[:2], reverse=descending)
    if after is not None:
        place = Cursor.read(after, order).value
        if not isinstance(place, str) or "\0" not in place:
            raise InvalidValue(f"{after!r} is not where a page of this list ended", hint="give back what `next` said")
        value, _, board_id = place.rpartition("\0")
        last = value, board_id
        ranked = [one for one in ranked if (one[:2] < last if descending else one[:2] > last)]
    items = [board for *_, board in ranked[:limit]]
    if len(ranked) <= limit:
        return Page(items, None)
    value, board_id, _ = ranked[limit - 1]
    return Page(items, Cursor(0, f"{value}\0{board_id}", 0).text(order))
