# SPDX-License-Identifier: Apache-2.0
"""Boards as rows of their table and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from aboard.catalog.schema import boards, workspaces
from aboard.model.board import Board, BoardKind
from aboard.model.unit_states import UnitState

_PLAIN = ("id", "name", "owner", "description", "where", "template", "exit_status", "reason", "run_count")
_TIMES = ("created", "started", "last_used", "ended")


def selection_of(board: Board) -> str:
    """A digest of what a board shows; it is the same for the same."""
    shown = [board.kind, sorted(board.sources), board.where, board.template, dict(board.settings)]
    if board.scope is not None:
        shown.append(sorted(board.scope))
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


def row_of(board: Board) -> dict[str, Any]:
    """All columns but state and workspace."""
    return {
        **{name: getattr(board, name) for name in (*_PLAIN, *_TIMES)},
        "kind": str(board.kind),
        "sources": list(board.sources),
        "settings": dict(board.settings),
        "selection": selection_of(board),
        "idle_timeout": board.idle_timeout.total_seconds() if board.idle_timeout is not None else None,
        "max_runtime": board.max_runtime.total_seconds() if board.max_runtime is not None else None,
        "scope": None if board.scope is None else sorted(board.scope),
        "shown": list(board.shown),
        "secret": board.secret,
    }


def read_boards(connection: Connection, where: Sequence[ColumnElement[bool]], limit: int | None = None) -> list[Board]:
    """The boards for which something holds, oldest first."""
    query = select(boards, workspaces.c.name.label("workspace")).join_from(boards, workspaces).where(*where)
    rows = connection.execute(query.order_by(boards.c.created, boards.c.id).limit(limit)).mappings()
    return [
        Board(
            workspace=row["workspace"],
            kind=BoardKind(row["kind"]),
            state=UnitState(row["state"]),
            sources=tuple(row["sources"]),
            settings=row["settings"],
            idle_timeout=_span(row["idle_timeout"]),
            max_runtime=_span(row["max_runtime"]),
            scope=None if row["scope"] is None else tuple(row["scope"]),
            shown=tuple(row["shown"] or ()),
            secret=row["secret"] or "",
            unit=row["unit"] or "",
            unit_host=row["unit_host"] or "",
            **{name: row[name] for name in (*_PLAIN, *_TIMES)},
        )
        for row in rows
    ]


def rename_workspace(connection: Connection, old: str, new: str) -> None:
    """Have boards know a workspace by its new name; both are folded."""
    for board in read_boards(connection, []):
        renamed = replace(
            board,
            sources=tuple(
                f"{new}/{one[len(old) + 1 :]}" if one.startswith(f"{old}/") else one for one in board.sources
            ),
            scope=None if board.scope is None else _renamed(board.scope, old, new),
            shown=_renamed(board.shown, old, new),
        )
        if renamed != board:
            row = row_of(renamed)
            values = {name: row[name] for name in ("sources", "scope", "shown", "selection")}
            connection.execute(update(boards).where(boards.c.id == board.id).values(**values))


def _renamed(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(sorted(new if name == old else name for name in names))


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
