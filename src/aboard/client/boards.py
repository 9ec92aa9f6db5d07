# SPDX-License-Identifier: Apache-2.0
"""Boards, asked from a server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypedDict, Unpack

from aboard.api.boards import BoardChange, BoardCreated, BoardInfo, BoardPreview, BoardReading, NewBoard
from aboard.api.people import LoginLink, LoginLinkRequest
from aboard.api.wire import Page, on_all_pages
from aboard.client.connection import ServerConnection, as_tuple, resolve_folder, utc_offset_minutes
from aboard.client.transport import quote_path_part
from aboard.errors import InvalidValue
from aboard.model.boards import BoardKind, BoardLine, LineLevel
from aboard.model.selections import NumberKind, SelectedRun, split_words
from aboard.model.states import UnitState
from aboard.model.times import parse_duration, time_text

Span = float | timedelta | str
"""A length of time: seconds, `30s`, `1m30s`, `2h`, or a timedelta."""
_PAGE = 500
_POLL_SECONDS = 1.0


class BoardOptions(TypedDict, total=False):
    """What `BoardsClient.create` takes besides the sources, each as it is there."""

    where: str | None
    workspace: str
    numbers: NumberKind
    template: str
    description: str
    idle_timeout: Span | None
    max_runtime: Span | None
    settings: Mapping[str, object] | None
    kind: BoardKind
    executor: object
    must_find: bool


class BoardsClient:
    """The boards of a server; `Client.boards`. One is named by its id, the beginning of its id, or its name."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection, self._transport = connection, connection.transport

    def create(
        self,
        sources: str | Sequence[str] = (),
        *,
        where: str | None = None,
        workspace: str = "",
        numbers: NumberKind = NumberKind.RUN,
        template: str = "",
        description: str = "",
        idle_timeout: Span | None = None,
        max_runtime: Span | None = None,
        settings: Mapping[str, object] | None = None,
        kind: BoardKind = BoardKind.SERVER,
        executor: object = "",
        must_find: bool = False,
    ) -> BoardCreated:
        """Make a board over what a selection means, or open the one again that shows just the same.

        `sources` are words as `run343`, `exp7`, `ws1/base*`, a folder or `s3://bucket/path`; see docs/selections.md.
        A board of the kind `process`, or with an `executor`, is a stock TensorBoard behind the server; an executor is a
        text as `slurm:partition=cpu`, or one of `aboard.executors`. See docs/boards.md.
        With `must_find` a pattern, range or filter that selects nothing now is an error.
        """
        new = _new_board(
            sources,
            where=where,
            workspace=workspace,
            numbers=numbers,
            template=template,
            description=description,
            idle_timeout=idle_timeout,
            max_runtime=max_runtime,
            settings=settings,
            kind=kind,
            executor=executor,
            must_find=must_find,
        )
        self._connection.need(new.sources)
        return self._transport().send(BoardCreated, "POST", "boards", new)

    def preview(self, sources: str | Sequence[str] = (), **asked: Unpack[BoardOptions]) -> BoardPreview:
        """What the executor of a board would be given, asked for as `create` is; nothing is made.

        For boards that are processes: with an `executor`, or of the kind `process`.
        """
        new = _new_board(sources, **asked)
        self._connection.need(new.sources)
        return self._transport().send(BoardPreview, "POST", "boards/preview", new)

    def list(
        self,
        *,
        owner: str | None = None,
        everybody: bool = False,
        workspaces: str | Sequence[str] | None = None,
        states: Sequence[UnitState] = (),
        sort_by: str = "started",
        descending: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[BoardInfo]:
        """One page of one's own boards, of those of one owner, or of everybody's."""
        query = {
            "owner": owner,
            "all": everybody,
            "workspace": as_tuple(workspaces or ()),
            "state": [str(state) for state in states],
            "sort_by": sort_by,
            "order": "desc" if descending else "asc",
            "limit": limit,
            "after": after,
        }
        return self._transport().get(Page[BoardInfo], "boards", query)

    def iterate(
        self,
        *,
        owner: str | None = None,
        everybody: bool = False,
        workspaces: str | Sequence[str] | None = None,
        states: Sequence[UnitState] = (),
        sort_by: str = "started",
        descending: bool = False,
    ) -> Iterator[BoardInfo]:
        """All boards that `list` would show, page after page."""
        return on_all_pages(
            lambda after: self.list(
                owner=owner,
                everybody=everybody,
                workspaces=workspaces,
                states=states,
                sort_by=sort_by,
                descending=descending,
                limit=_PAGE,
                after=after,
            )
        )

    def get(self, board: str) -> BoardInfo:
        return self._transport().get(BoardInfo, f"boards/{quote_path_part(board)}")

    def address(self, board: BoardInfo) -> str:
        """Where a browser finds the board now; the one of a local server carries a code that opens it once."""
        transport = self._transport()
        if not self._connection.is_local:
            return f"{transport.address.url}{board.uri}"
        made = transport.send(LoginLink, "POST", "login/codes", LoginLinkRequest(path=board.uri))
        return f"{transport.address.url}{made.path}"

    def start(self, board: str) -> BoardInfo:
        """Start a board that has ended; one that runs stays as it is."""
        return self._changed("POST", board, "/start")

    def stop(self, board: str) -> BoardInfo:
        """Stop a board; one that has ended stays as it is."""
        return self._changed("POST", board, "/stop")

    def kill(self, board: str) -> BoardInfo:
        """Stop a board without waiting for anything."""
        return self._changed("POST", board, "/kill")

    def delete(self, board: str) -> BoardInfo:
        """Forget a board and its log; one that runs is stopped before."""
        return self._changed("DELETE", board)

    def change(
        self,
        board: str,
        *,
        description: str | None = None,
        template: str | None = None,
        idle_timeout: Span | None = None,
        max_runtime: Span | None = None,
    ) -> BoardInfo:
        """Describe a board otherwise, or give it another template or lifetime; 0 takes a limit away."""
        change = BoardChange(
            description=description,
            template=template,
            idle_timeout=0.0 if idle_timeout == 0 else _seconds(idle_timeout, "idle_timeout"),
            max_runtime=0.0 if max_runtime == 0 else _seconds(max_runtime, "max_runtime"),
        )
        return self._changed("PATCH", board, body=change)

    def runs(self, board: str) -> tuple[SelectedRun, ...]:
        return self._transport().get(Page[SelectedRun], f"boards/{quote_path_part(board)}/runs").items

    def reading(self, board: str) -> BoardReading:
        """How far the runs of a board have been read; this opens it."""
        return self._transport().get(BoardReading, f"boards/{quote_path_part(board)}/reading")

    def logs(
        self,
        board: str,
        *,
        head: int | None = None,
        tail: int | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        level: LineLevel = LineLevel.TRACE,
        behind: int = 0,
    ) -> tuple[BoardLine, ...]:
        """What happened to a board, oldest first: the first or last so many lines, of a level or worse."""
        query = {
            "head": head,
            "tail": tail,
            "after": None if after is None else time_text(after),
            "before": None if before is None else time_text(before),
            "level": str(level),
            "behind": behind,
        }
        return self._transport().get(Page[BoardLine], f"boards/{quote_path_part(board)}/logs", query).items

    def follow_logs(
        self, board: str, *, tail: int | None = None, level: LineLevel = LineLevel.TRACE
    ) -> Iterator[BoardLine]:
        """The lines of a board as they come, until it has ended."""
        lines = self.logs(board, tail=tail, level=level)
        behind = 0
        while True:
            is_over = self.get(board).state.is_ended
            for line in lines:
                behind = line.id
                yield line
            if is_over:
                yield from self.logs(board, behind=behind, level=level)
                return
            time.sleep(_POLL_SECONDS)
            lines = self.logs(board, behind=behind, level=level)

    def _changed(self, method: str, board: str, then: str = "", body: object = None) -> BoardInfo:
        return self._transport().send(BoardInfo, method, f"boards/{quote_path_part(board)}{then}", body)


def _new_board(sources: str | Sequence[str], **asked: Unpack[BoardOptions]) -> NewBoard:
    where = asked.get("where")
    if where is not None and not where.strip():
        raise InvalidValue("the filter is empty", hint="a filter that says nothing would show every run")
    return NewBoard(
        sources=tuple(map(resolve_folder, split_words(as_tuple(sources)))),
        where=where or "",
        zone=utc_offset_minutes(),
        workspace=asked.get("workspace", ""),
        numbers=asked.get("numbers", NumberKind.RUN),
        template=asked.get("template", ""),
        description=asked.get("description", ""),
        idle_timeout=_seconds(asked.get("idle_timeout"), "idle_timeout"),
        max_runtime=_seconds(asked.get("max_runtime"), "max_runtime"),
        settings=asked.get("settings") or {},
        kind=asked.get("kind", BoardKind.SERVER),
        executor=str(asked.get("executor", "")),
        must_find=asked.get("must_find", False),
    )


def _seconds(span: Span | None, what: str) -> float | None:
    return None if span is None else parse_duration(span, what).total_seconds()
