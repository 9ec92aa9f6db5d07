# SPDX-License-Identifier: Apache-2.0
"""The application behind `aboard view`: one board, its health and the state of its reading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from a2wsgi import WSGIMiddleware
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from aboard.reader.file_problems import problems_of
from aboard.reader.run_collection import RunCollection

if TYPE_CHECKING:
    from aboard.store.traffic import TrafficCount

_WORKERS = 16


class LateApp:
    """An application that is made in the background, because it takes long to import; requests wait for it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._ready: asyncio.Future[ASGIApp] | None = None

    async def start(self) -> None:
        """Begin making it."""
        loop = asyncio.get_running_loop()
        self._ready = asyncio.ensure_future(loop.run_in_executor(None, self._made))

    def _made(self) -> ASGIApp:
        return WSGIMiddleware(self._make(), workers=_WORKERS)  # type: ignore[return-value]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ready is None:
            await self.start()
        assert self._ready is not None
        await (await asyncio.shield(self._ready))(scope, receive, send)


def _traffic(count: TrafficCount) -> dict[str, Any]:
    return {"requests": dict(count.requests), "bytes_in": count.bytes_in, "bytes_out": count.bytes_out}


def view_app(collection: RunCollection, make_board: Callable[[], Any], prefix: str = "") -> Starlette:
    """Below `prefix`: health and progress at once, the board as soon as TensorBoard is imported."""
    board = LateApp(make_board)

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def progress(_: Request) -> JSONResponse:
        state = collection.progress
        age = time.time() - state.newest_wall_time if state.newest_wall_time else None
        problems = problems_of(collection.runs.values())
        return JSONResponse(
            {
                **asdict(state),
                "newest_point_age": age,
                "complete": state.cycles > 0,
                "unreadable_files": problems.unreadable,
                "damaged_files": problems.damaged,
                "stores": {uri: _traffic(count) for uri, count in collection.traffic.items()},
                "store_problems": collection.store_problems,
            }
        )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        await board.start()
        yield

    routes = [Route("/healthz", health), Route("/api/v1/progress", progress), Mount("/", app=board)]
    return Starlette(routes=[Mount(prefix, routes=routes)] if prefix else routes, lifespan=lifespan)
