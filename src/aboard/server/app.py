# SPDX-License-Identifier: Apache-2.0
"""The ASGI application of a server: API routes, board pages and the web page."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable

import anyio.to_thread
from fastapi import FastAPI, Request
from starlette.routing import Route

from aboard import __version__
from aboard.api import PREFIX
from aboard.server.boards.pages import PATHS, BoardPages
from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send
from aboard.server.http.errors import add_error_handlers
from aboard.server.http.metrics import ServerMetrics
from aboard.server.openapi import document_of
from aboard.server.page_files import PageFiles
from aboard.server.routes.boards import BoardRoutes
from aboard.server.routes.events import ChangePositionMiddleware, EventRoutes
from aboard.server.routes.files import FileRoutes, MediaRoutes
from aboard.server.routes.groups import GroupRoutes, SavedViewRoutes
from aboard.server.routes.operations import current_access
from aboard.server.routes.people import PeopleRoutes
from aboard.server.routes.runs import RunRoutes, SelectionRoutes
from aboard.server.routes.series import AnnotationRoutes, ChartRoutes, SeriesRoutes
from aboard.server.routes.server import HealthRoutes, ServerRoutes
from aboard.services.services import Services

_THREADS = 100


def create_app(
    control: Services,
    *,
    personal: bool,
    private: bool,
    remember: Callable[[str], None],
    actor: str | None = None,
    login_mode: str = "personal",
    second_origin: Callable[[str], str] | None = None,
    prefix: str = "",
) -> FastAPI:
    """`personal`: it serves one person, who is given fresh lists. `private`: in the background, and ends when asked.

    `actor` is who asks, where no guard before the application finds that out. `second_origin`: see `BoardPages`.
    `prefix` is the path below which browsers reach the server.
    """
    app = FastAPI(
        title="aboard",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # such a page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=with_threads,
    )
    app.state.actor = actor
    app.add_middleware(HeadAsGetMiddleware)
    app.add_middleware(ChangePositionMiddleware, changes=control.changes)
    add_error_handlers(app)
    metrics = ServerMetrics(control)
    app.state.metrics = metrics
    for room in (
        HealthRoutes(control, metrics),
        RunRoutes(control, is_fresh=personal),
        SeriesRoutes(control),
        ChartRoutes(control),
        MediaRoutes(control),
        FileRoutes(control),
        AnnotationRoutes(control),
        EventRoutes(control),
        SelectionRoutes(control, is_fresh=personal),
        GroupRoutes(control, is_fresh=personal),
        BoardRoutes(control, is_fresh=personal),
        SavedViewRoutes(control),
        ServerRoutes(control, private=private, remember=remember),
        PeopleRoutes(control, login_mode),
    ):
        app.router.routes.extend(room.routes())
    pages = BoardPages(control, lambda scope: current_access(Request(scope)), second_origin)
    app.router.routes.extend(Route(f"{place}{{rest:path}}", pages) for place in PATHS)
    app.router.routes.extend(PageFiles(prefix=prefix).routes())
    control.keep_boards()
    app.openapi = lambda: document_of(app)
    return app


@contextlib.asynccontextmanager
async def with_threads(_: FastAPI) -> AsyncGenerator[None]:
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
