# SPDX-License-Identifier: Apache-2.0
"""What tests ask of boards that run on an executor, through the server that has them."""

from __future__ import annotations

from aboard.api.boards import BoardInfo
from aboard.model.states import UnitState
from support.team_servers import BOSS, TeamServer


def has_started(server: TeamServer, board: BoardInfo) -> bool:
    """Whether it answers; a board that has ended instead is an error with its log."""
    found = server.client().boards.get(board.id)
    assert not found.state.is_ended, (found.reason, server.client().boards.logs(board.id))
    return found.state is UnitState.RUNNING


def runs_of(server: TeamServer, board: BoardInfo) -> list[str]:
    """The runs on its page, as the proxy shows it; else what the proxy says."""
    answer = server.ask_board(f"/boards/{board.id}/data/runs", who=BOSS)
    return sorted(answer.document) if answer.status == 200 else [str(answer.body)]
