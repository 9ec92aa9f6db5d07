# SPDX-License-Identifier: Apache-2.0
"""What happens to boards, told on the bus of changes."""

from __future__ import annotations

from aboard.model.board import Board
from aboard.services.board_selection import workspaces_of
from aboard.services.changes import Changes


class BoardNews:
    """Tells who may see a board what became of it."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    def tell(self, board: Board, changed: str) -> None:
        """Let watchers know; `board` is as it is now."""
        facts = {
            "id": board.id,
            "name": board.name,
            "owner": board.owner,
            "workspace": board.workspace,
            "state": str(board.state),
            "run_count": board.run_count,
            "changed": changed,
        }
        self._changes.tell("board", board.workspace, facts, beside=tuple(sorted(workspaces_of(board))))
