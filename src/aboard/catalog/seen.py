# SPDX-License-Identifier: Apache-2.0
"""Which workspaces somebody may look at: questions to the catalog are narrowed to these, as if there were no others."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, select

from aboard.catalog.keys import stored_key
from aboard.catalog.schema import workspaces

Seen = frozenset[str] | None
"""The folded names of workspaces; None for all of them."""


def seen_names(seen: Seen) -> list[ColumnElement[bool]]:
    """What must hold for a row of `workspaces`."""
    return [] if seen is None else [workspaces.c.name_key.in_(sorted(map(stored_key, seen)))]


def inside_seen(column: ColumnElement[int], seen: Seen) -> list[ColumnElement[bool]]:
    """What must hold for a row whose workspace is in the column."""
    return [] if seen is None else [column.in_(select(workspaces.c.id).where(*seen_names(seen)))]


def seen_ids(connection: Connection, seen: Iterable[str]) -> tuple[int, ...]:
    """The keys of these workspaces, also of those in the bin."""
    return tuple(connection.scalars(select(workspaces.c.id).where(*seen_names(frozenset(seen)))))
