# SPDX-License-Identifier: Apache-2.0
"""Look-up by name: index keys, text conditions, and the workspaces that a user may see.

Names ignore case. A workspace that the user may not see is unknown, and the error suggests the closest known name.
Conditions are written so that SQLite and PostgreSQL match the same rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, func, select, true

from aboard.catalog.columns import storable
from aboard.catalog.schema import LONGEST_KEY, workspaces
from aboard.errors import UnknownName
from aboard.foundation.text import closest_names
from aboard.model.names import folded
from aboard.model.query.tree import LikePattern, Pattern, ascii_lower


def stored_fold(name: str) -> str:
    """The form of a name in which it is found: capitals make no difference."""
    return stored_key(folded(name))


def stored_key(name: str) -> str:
    """A name that fits into an index; a very long one keeps its beginning and gets a digest for the rest."""
    name = storable(name)
    if len(name) <= LONGEST_KEY:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: LONGEST_KEY - 20]}…{digest}"


def text_fits(column: ColumnElement[str], pattern: Pattern, wanted: str, *, is_sqlite: bool) -> ColumnElement[bool]:
    """Whether the text in a column fits, as `aboard.model.query.evaluate.text_fits` says it."""
    text = storable(wanted)
    match pattern:
        case Pattern.CONTAINS:
            return (func.instr if is_sqlite else func.strpos)(column, text) > 0
        case Pattern.STARTS:
            return func.substr(column, 1, len(text)) == text
        case Pattern.ENDS if not text:
            return true()
        case Pattern.ENDS:
            return (func.substr(column, -len(text)) if is_sqlite else func.right(column, len(text))) == text
        case Pattern.LIKE:
            return _fits_pattern(column, LikePattern(text), is_sqlite)
        case Pattern.ILIKE:
            # The collation C and SQLite both make only A to Z small.
            small = func.lower(column if is_sqlite else column.collate("C"))
            return _fits_pattern(small, LikePattern(ascii_lower(text)), is_sqlite)


def _fits_pattern(column: ColumnElement[str], pattern: LikePattern, is_sqlite: bool) -> ColumnElement[bool]:
    # LIKE of SQLite takes capitals for small letters, so its GLOB is used.
    return column.op("GLOB", is_comparison=True)(pattern.as_glob()) if is_sqlite else column.like(pattern.as_like())


VisibleWorkspaces = frozenset[str] | None
"""The folded names of workspaces; None for all of them."""


def visible_workspaces(seen: VisibleWorkspaces) -> list[ColumnElement[bool]]:
    """What must hold for a row of `workspaces`."""
    return [] if seen is None else [workspaces.c.name_key.in_(sorted(map(stored_key, seen)))]


def in_visible_workspaces(column: ColumnElement[int], seen: VisibleWorkspaces) -> list[ColumnElement[bool]]:
    """What must hold for a row whose workspace is in the column."""
    return [] if seen is None else [column.in_(select(workspaces.c.id).where(*visible_workspaces(seen)))]


def visible_workspace_ids(connection: Connection, seen: Iterable[str]) -> tuple[int, ...]:
    """The keys of these workspaces, also of those in the bin."""
    return tuple(connection.scalars(select(workspaces.c.id).where(*visible_workspaces(frozenset(seen)))))


def workspace_id(connection: Connection, name: str, seen: VisibleWorkspaces = None) -> int:
    """The key of a workspace that is not in the bin."""
    return workspace_ids(connection, [name], seen)[0]


def workspace_ids(connection: Connection, names: Iterable[str], seen: VisibleWorkspaces = None) -> list[int]:
    """The keys of workspaces that are not in the bin, each once; those that are not `seen` are not there."""
    query = select(workspaces.c.name_key, workspaces.c.id).where(
        workspaces.c.deleted.is_(None), *visible_workspaces(seen)
    )
    keys = {stored_fold(name): name for name in names}
    found = dict(iter(connection.execute(query.where(workspaces.c.name_key.in_(keys)))))
    missing = [name for key, name in keys.items() if key not in found]
    if missing:
        raise unknown_workspace_error(missing[0], [name for name, _ in connection.execute(query)], seen)
    return [found[key] for key in keys]


def unknown_workspace_error(name: str, all_names: list[str], seen: VisibleWorkspaces) -> UnknownName:
    """The error for a workspace that is not there, or not for who asks."""
    error = unknown_name_error("workspace", name, all_names)
    if all_names:
        error.hint += "; `aboard workspaces list` shows those that you may use"
    elif seen is None:
        error.hint = "there is none yet: `aboard workspaces add NAME` makes one"
    else:
        error.hint = "an administrator of the server can give you a role in a workspace"
    return error


def unknown_name_error(what: str, name: str, all_names: list[str]) -> UnknownName:
    """The error for a name that nobody has, with the nearest ones that somebody has."""
    near = closest_names(stored_fold(name), all_names, 3, cutoff=0.5) or sorted(all_names)[:5]
    hint = f"nearest: {', '.join(near)}" if near else f"there is no {what} yet"
    return UnknownName(f"there is no {what} {name!r}", hint=hint)
