# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/boards`: create, list, change, start and stop boards; their logs and runs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import unquote

from starlette.routing import Route

from aboard.api.boards import BoardChange, BoardCreated, BoardInfo, BoardPreview, BoardReading, NewBoard
from aboard.api.wire import Page
from aboard.model.boards import BoardLine, BoardRecord, LineLevel
from aboard.model.selections import NumberKind, SelectedRun
from aboard.model.states import UnitState
from aboard.model.times import parse_time
from aboard.server.routes.binding import Path, Query
from aboard.server.routes.operations import CurrentAccess, Operations, request_body
from aboard.server.routes.parameters import After, Limit, Workspaces
from aboard.services.boards.lifecycle import SORTED_BY
from aboard.services.boards.selection import kept_selection, named_numbers

if TYPE_CHECKING:
    from aboard.services.services import Services

_MOST_LINES = 1000

BoardName = Annotated[str, Path(description="The id of a board, its first characters, or its name."), unquote]
States = Annotated[
    list[UnitState], Query(alias="state", default_factory=list, description="Only those; all without it.")
]
Lines = Annotated[int | None, Query(ge=0, le=_MOST_LINES)]
Moment = Annotated[str | None, Query(description="RFC 3339.")]


class BoardRoutes:
    """Answers questions about boards. `is_fresh`: stores are looked at before a board is made, for one person only."""

    def __init__(self, control: Services, *, is_fresh: bool) -> None:
        self._control, self._is_fresh = control, is_fresh

    def routes(self) -> list[Route]:
        operations = Operations("boards")
        operations.add("POST", "boards", self.create)
        operations.add("POST", "boards/preview", self.preview, is_change=False)
        operations.add("GET", "boards", self.list)
        operations.add("GET", "boards/{board}", self.get)
        operations.add("PATCH", "boards/{board}", self.change)
        operations.add("DELETE", "boards/{board}", self.delete)
        operations.add("POST", "boards/{board}/start", self.start)
        operations.add("POST", "boards/{board}/stop", self.stop)
        operations.add("POST", "boards/{board}/kill", self.kill)
        operations.add("GET", "boards/{board}/logs", self.logs)
        operations.add("GET", "boards/{board}/runs", self.runs)
        operations.add("GET", "boards/{board}/reading", self.reading)
        return operations.routes

    def create(self, new: Annotated[NewBoard, request_body(NewBoard)], access: CurrentAccess) -> BoardCreated:
        """Make a board, or open the one again that this person has of the same runs, template and settings."""
        if self._is_fresh:
            self._control.look_now()
        admitted, resolved = self._control.boards.create(new, access)
        return BoardCreated(board=board_info(admitted.board), reopened=admitted.reopened, empty=resolved.empty)

    def preview(self, new: Annotated[NewBoard, request_body(NewBoard)], access: CurrentAccess) -> BoardPreview:
        """What an executor would be given for a board that is a process; nothing is made."""
        if self._is_fresh:
            self._control.look_now()
        documents, resolved = self._control.boards.preview(new, access)
        return BoardPreview(documents=tuple(documents), empty=resolved.empty)

    def list(
        self,
        access: CurrentAccess,
        workspaces: Workspaces,
        states: States,
        owner: Annotated[str | None, Query(description="Whose boards; one's own without it.")] = None,
        everybody: Annotated[bool, Query(alias="all", description="Everybody's boards.")] = False,
        sort_by: Annotated[str, Query(description=f"One of {', '.join(SORTED_BY)}.")] = "started",
        order: Literal["asc", "desc"] = "asc",
        limit: Limit = 50,
        after: After = None,
    ) -> Page[BoardInfo]:
        """A page of boards, the one that was started first at the beginning."""
        page = self._control.boards.list(
            access,
            owner=owner or None,
            everybody=everybody,
            workspaces=workspaces or None,
            states=states or None,
            sort_by=sort_by,
            descending=order == "desc",
            limit=limit,
            after=after or None,
        )
        return Page(tuple(map(board_info, page.items)), page.next)

    def get(self, board: BoardName, access: CurrentAccess) -> BoardInfo:
        """One board."""
        return board_info(self._control.boards.get(board, access))

    def change(
        self, board: BoardName, change: Annotated[BoardChange, request_body(BoardChange)], access: CurrentAccess
    ) -> BoardInfo:
        """Describe a board otherwise, or give it another template or lifetime."""
        return board_info(self._control.boards.change(board, change, access))

    def delete(self, board: BoardName, access: CurrentAccess) -> BoardInfo:
        """Forget a board and its log; one that runs is stopped before."""
        return board_info(self._control.boards.delete(board, access))

    def start(self, board: BoardName, access: CurrentAccess) -> BoardInfo:
        """Start a board that has ended; one that runs stays as it is."""
        return board_info(self._control.boards.start(board, access))

    def stop(self, board: BoardName, access: CurrentAccess) -> BoardInfo:
        """Stop a board; one that has ended stays as it is."""
        return board_info(self._control.boards.stop(board, access))

    def kill(self, board: BoardName, access: CurrentAccess) -> BoardInfo:
        """Stop a board without waiting for anything."""
        return board_info(self._control.boards.stop(board, access, kill=True))

    def logs(
        self,
        board: BoardName,
        access: CurrentAccess,
        head: Lines = None,
        tail: Lines = None,
        after: Moment = None,
        before: Moment = None,
        behind: Annotated[int, Query(ge=0, le=2**62, description="Only lines behind the one with this id.")] = 0,
        level: LineLevel = LineLevel.TRACE,
    ) -> Page[BoardLine]:
        """What happened to a board, oldest first; `level` and what matters more."""
        lines = self._control.boards.lines(
            board,
            access,
            head=head,
            tail=tail,
            after=_parse_moment(after),
            before=_parse_moment(before),
            behind=behind,
            level=level,
        )
        return Page(tuple(lines))

    def runs(self, board: BoardName, access: CurrentAccess) -> Page[SelectedRun]:
        """The runs that a board shows now."""
        return Page(tuple(self._control.boards.runs(board, access)))

    def reading(self, board: BoardName, access: CurrentAccess) -> BoardReading:
        """How far the runs of a board have been read; this opens it, and counts as use."""
        return self._control.boards.reading(board, access)


def board_info(board: BoardRecord) -> BoardInfo:
    """The API representation of a board."""
    return BoardInfo(
        id=board.id,
        name=board.name,
        owner=board.owner,
        description=board.description,
        state=board.state,
        kind=board.kind,
        workspace=board.workspace,
        sources=board.sources,
        where=board.where,
        template=board.template,
        live=kept_selection(board).is_live,
        experiments=named_numbers(board, NumberKind.EXPERIMENT),
        runs=named_numbers(board, NumberKind.RUN),
        run_count=board.run_count,
        created=board.created,
        started=board.started,
        last_used=board.last_used,
        ended=board.ended,
        expires=board.expires,
        exit_status=board.exit_status,
        reason=board.reason,
        idle_timeout=None if board.idle_timeout is None else board.idle_timeout.total_seconds(),
        max_runtime=None if board.max_runtime is None else board.max_runtime.total_seconds(),
        settings=board.settings,
        uri=f"/boards/{board.id}/",
    )


def _parse_moment(text: str | None) -> datetime | None:
    return parse_time(text) if text else None
