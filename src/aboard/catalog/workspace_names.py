# SPDX-License-Identifier: Apache-2.0
"""Workspaces by name: capitals make no difference, and an unknown name is an error that tells the nearest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sqlalchemy import Connection, select

from aboard.catalog.keys import stored_fold
from aboard.catalog.schema import workspaces
from aboard.catalog.seen import Seen, seen_names
from aboard.errors import UnknownName


def workspace_id(connection: Connection, name: str, seen: Seen = None) -> int:
    """The key of a workspace that is not in the bin."""
    return workspace_ids(connection, [name], seen)[0]


def workspace_ids(connection: Connection, names: Iterable[str], seen: Seen = None) -> list[int]:
    """The keys of workspaces that are not in the bin, each once; those that are not `seen` are not there."""
    query = select(workspaces.c.name_key, workspaces.c.id).where(workspaces.c.deleted.is_(None), *seen_names(seen))
    keys = {stored_fold(name): name for name in names}
    found = dict(iter(connection.execute(query.where(workspaces.c.name_key.in_(keys)))))
    missing = [name for key, name in keys.items() if key not in found]
    if missing:
        raise no_workspace(missing[0], [name for name, _ in connection.execute(query)], seen)
    return [found[key] for key in keys]


def no_workspace(name: str, all_names: list[str], seen: Seen) -> UnknownName:
    """The error for a workspace that is not there, or not for who asks."""
    error = not_found("workspace", name, all_names)
    if all_names:
        error.hint += "; `aboard workspaces list` shows those that you may use"
    elif seen is None:
        error.hint = "there is none yet: `aboard workspaces add NAME` makes one"
    else:
        error.hint = "an administrator of the server can give you a role in a workspace"
    return error


def not_found(what: str, name: str, all_names: list[str]) -> UnknownName:
    """The error for a name that nobody has, with the nearest ones that somebody has."""
    near = difflib.get_close_matches(stored_fold(name), all_names, n=3, cutoff=0.5) or sorted(all_names)[:5]
    hint = f"nearest: {', '.join(near)}" if near else f"there is no {what} yet"
    return UnknownName(f"there is no {what} {name!r}", hint=hint)
