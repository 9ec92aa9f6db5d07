# SPDX-License-Identifier: Apache-2.0
"""What the applications of `aboard server` and `aboard view` have in common: routes, errors, positions of changes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Protocol

import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send
from aboard.server.http.errors import add_error_handlers
from aboard.server.routes.events import ChangePositionMiddleware
from aboard.services.changes import ChangeBus

_THREADS = 100


class RouteGroup(Protocol):
    """The routes of one part of the API."""

    def routes(self) -> Sequence[BaseRoute]:
        """The routes, in the order in which they are tried."""
        ...


def create_application(groups: Iterable[RouteGroup], changes: ChangeBus, actor: str | None) -> Starlette:
    """`actor` is the user of all requests, where no authentication before the application finds out who it is."""
    app = Starlette(routes=[route for group in groups for route in group.routes()], lifespan=_with_threads)
    app.router.redirect_slashes = False
    app.state.actor = actor
    app.add_middleware(HeadAsGetMiddleware)
    app.add_middleware(ChangePositionMiddleware, changes=changes)
    add_error_handlers(app)
    return app


@contextlib.asynccontextmanager
async def _with_threads(_: Starlette) -> AsyncGenerator[None]:
    """Handlers that wait for stores, of which each may hold up a few, leave enough threads for the others."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    yield


class HeadAsGetMiddleware:
    """Passes requests on, and those for headers alone as requests for the whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
