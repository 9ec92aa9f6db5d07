# SPDX-License-Identifier: Apache-2.0
"""The application behind `aboard view`: one board, its health and the state of its reading.

It answers before anything that takes long to import is there: health and progress at once, the board when it is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send, json_response, text_response

if TYPE_CHECKING:
    from aboard.reader.collection import RunCollection
    from aboard.store.store import TrafficCount


_WORKERS = 16
_NO_PROBLEMS: dict[str, Any] = {"unreadable_files": 0, "damaged_files": 0, "stores": {}, "store_problems": []}
_NOTHING_READ = {"runs_read": 0, "runs_found": 0, "bytes_read": 0, "cycles": 0, "newest_wall_time": 0.0}


class ViewApp:
    """Below `prefix`: `/healthz`, `/api/v1/progress`, and the board everywhere else.

    Once it serves, `open_runs` begins to read in a thread, and then `make_board` makes a WSGI application, which
    imports TensorBoard; requests for the board wait for that. Should either fail, `failed` is told.
    """

    def __init__(
        self,
        open_runs: Callable[[], RunCollection],
        make_board: Callable[[RunCollection], Any],
        failed: Callable[[Exception], None],
        prefix: str = "",
    ) -> None:
        self._open_runs, self._make_board, self._failed = open_runs, make_board, failed
        self._prefix = prefix
        self._runs: RunCollection | None = None
        self._board: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path: str = scope["path"]
        if path != self._prefix and not path.startswith(f"{self._prefix}/"):
            await text_response(404, "not found\n")(scope, receive, send)
            return
        match path.removeprefix(self._prefix):
            case "/healthz":
                await json_response({"status": "ok"})(scope, receive, send)
            case "/api/v1/progress":
                await json_response(self._progress())(scope, receive, send)
            case _:
                board = await asyncio.shield(self._opened())
                await board({**scope, "root_path": self._prefix}, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] == "lifespan.startup":
            self._opened()
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})

    def _opened(self) -> asyncio.Future[ASGIApp]:
        if self._board is None:
            self._board = asyncio.get_running_loop().run_in_executor(None, self._open)
            self._board.add_done_callback(_retrieve_exception)
        return self._board

    def _open(self) -> ASGIApp:
        try:
            self._runs = self._open_runs()
            from aboard.server.boards.wsgi import WSGIBridge

            return WSGIBridge(self._make_board(self._runs), workers=_WORKERS)
        except Exception as error:
            self._failed(error)
            raise

    def _progress(self) -> dict[str, Any]:
        if self._runs is None:
            state, problems = dict[str, Any](_NOTHING_READ), _NO_PROBLEMS
        else:
            from aboard.reader.progress import problems_of

            state = asdict(self._runs.progress)
            found = problems_of(self._runs.runs.values())
            problems = {
                "unreadable_files": found.unreadable,
                "damaged_files": found.damaged,
                "stores": {uri: _traffic(count) for uri, count in self._runs.traffic.items()},
                "store_problems": self._runs.store_problems,
            }
        newest = state["newest_wall_time"]
        age = time.time() - newest if newest else None
        return {**state, "newest_point_age": age, "complete": state["cycles"] > 0, **problems}


def _retrieve_exception(board: asyncio.Future[ASGIApp]) -> None:
    """Without a look at it, asyncio would complain of a failure that `failed` has been told."""
    if not board.cancelled():
        board.exception()


def _traffic(count: TrafficCount) -> dict[str, Any]:
    return {"requests": dict(count.requests), "bytes_in": count.bytes_in, "bytes_out": count.bytes_out}
