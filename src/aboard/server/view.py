# SPDX-License-Identifier: Apache-2.0
"""The application behind `aboard view`: the page and its API over folders, TensorBoard, and the state of reading.

It answers before anything that takes long to import is there: health, progress and the page at once, the API when it is
loaded, TensorBoard when somebody opens it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send, json_response, redirect, text_response

if TYPE_CHECKING:
    from aboard.reader.collection import RunCollection
    from aboard.store.store import TrafficCount


_log = logging.getLogger("aboard.server")
_WORKERS = 16
_PAGE_PATHS = ("/w/", "/_page/", "/favicon.")
_NO_PROBLEMS: dict[str, Any] = {"unreadable_files": 0, "damaged_files": 0, "stores": {}, "store_problems": []}
_NOTHING_READ = {"runs_read": 0, "runs_found": 0, "bytes_read": 0, "cycles": 0, "newest_wall_time": 0.0}


class ViewApp:
    """Below `prefix`: the page and `/api/v1/`, TensorBoard below `/tensorboard/`, `/healthz` and `/api/v1/progress`.

    TensorBoard's own routes (`/data/runs`, …) answer without `/tensorboard` too, so that programs written for
    `tensorboard --logdir` work unchanged. Once it serves, `open_runs` begins to read in a thread and `make_api` makes
    the application of the API; should one of them fail, `failed` gets the error. `make_board` makes a WSGI
    application, which imports TensorBoard, when it is first wanted; the page works without it.
    """

    def __init__(
        self,
        page: ASGIApp,
        open_runs: Callable[[], RunCollection],
        make_api: Callable[[RunCollection], ASGIApp],
        make_board: Callable[[RunCollection], Any],
        failed: Callable[[Exception], None],
        prefix: str = "",
    ) -> None:
        self._page = page
        self._open_runs, self._make_api, self._make_board = open_runs, make_api, make_board
        self._failed, self._prefix = failed, prefix
        self._runs: RunCollection | None = None
        self._opening: dict[str, asyncio.Future[ASGIApp]] = {}

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
            case "/tensorboard":
                await redirect(f"{self._prefix}/tensorboard/", 307)(scope, receive, send)
            case inner if inner.startswith("/tensorboard/"):
                await self._answer_by_board({**scope, "root_path": f"{self._prefix}/tensorboard"}, receive, send)
            case inner if inner in ("", "/", "/w") or inner.startswith(_PAGE_PATHS):
                await self._page({**scope, "path": inner or "/", "root_path": ""}, receive, send)
            case inner if inner.startswith("/api/v1/"):
                api = await self._opened("api", self._open_api)
                await api({**scope, "path": inner, "root_path": ""}, receive, send)
            case _:
                await self._answer_by_board({**scope, "root_path": self._prefix}, receive, send)

    async def _answer_by_board(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            board = await self._opened("board", self._open_board)
        except Exception as error:
            self._opening.pop("board", None)  # what is missing may be installed meanwhile
            _log.warning("TensorBoard cannot be loaded: %s", error)
            words = f"TensorBoard cannot be loaded: {error}\nThe page of aboard works without it.\n"
            await text_response(503, words)(scope, receive, send)
            return
        await board(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] == "lifespan.startup":
            self._begin("api", self._open_api)
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})

    async def _opened(self, what: str, opening: Callable[[], ASGIApp]) -> ASGIApp:
        return await asyncio.shield(self._begin(what, opening))

    def _begin(self, what: str, opening: Callable[[], ASGIApp]) -> asyncio.Future[ASGIApp]:
        if what not in self._opening:
            future = asyncio.get_running_loop().run_in_executor(None, opening)
            future.add_done_callback(_retrieve_exception)
            self._opening[what] = future
        return self._opening[what]

    def _open_api(self) -> ASGIApp:
        try:
            self._runs = self._open_runs()
            return self._make_api(self._runs)
        except Exception as error:
            self._failed(error)
            raise

    def _open_board(self) -> ASGIApp:
        from aboard.server.boards.wsgi import WSGIBridge
        from aboard.server.http.security_headers import SecurityHeadersMiddleware

        bridge = WSGIBridge(self._make_board(self._open_runs()), workers=_WORKERS)
        return SecurityHeadersMiddleware(bridge, is_secure=False, boards=("/",))  # the page shows it in a frame

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
