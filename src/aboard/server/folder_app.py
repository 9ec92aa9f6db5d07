# SPDX-License-Identifier: Apache-2.0
"""The application over a folder source: the routes of the API that are about runs, and the page."""

from __future__ import annotations

import os
from typing import Any, cast

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from aboard import __version__
from aboard.api import VERSION
from aboard.api.people import Person
from aboard.api.server import ServerInfo
from aboard.model.times import now
from aboard.server.app import HeadAsGetMiddleware, with_threads
from aboard.server.http.errors import add_error_handlers
from aboard.server.page_files import PageFiles
from aboard.server.registration import process_owner
from aboard.server.routes.events import ChangePositionMiddleware, EventRoutes
from aboard.server.routes.files import FileRoutes, MediaRoutes
from aboard.server.routes.groups import GroupRoutes, SavedViewRoutes
from aboard.server.routes.operations import Operations
from aboard.server.routes.runs import RunRoutes, SelectionRoutes
from aboard.server.routes.series import AnnotationRoutes, ChartRoutes, SeriesRoutes
from aboard.services.folders.services import FolderServices

TENSORBOARD = "/tensorboard/"


def create_folder_app(
    services: FolderServices, *, prefix: str = "", opens_tensorboard: bool = False, may_be_framed: bool = False
) -> FastAPI:
    """The API and the page. With `opens_tensorboard`, the front page leads to TensorBoard.

    `may_be_framed`: by any page, such as a notebook; only for an application that changes nothing.
    """
    app = FastAPI(
        title="aboard",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=with_threads,
    )
    app.state.actor = process_owner()
    app.add_middleware(HeadAsGetMiddleware)
    app.add_middleware(ChangePositionMiddleware, changes=services.changes)
    add_error_handlers(app)
    control = cast("Any", services)
    for routes in (
        RunRoutes(control, is_fresh=False),
        SeriesRoutes(control),
        ChartRoutes(control),
        MediaRoutes(control),
        FileRoutes(control),
        AnnotationRoutes(control),
        EventRoutes(control),
        SelectionRoutes(control, is_fresh=False),
        GroupRoutes(control, is_fresh=False),
        SavedViewRoutes(control),
        _SourceRoutes(services, prefix),
    ):
        app.router.routes.extend(routes.routes())

    async def front(request: Request) -> Response:
        place = TENSORBOARD if opens_tensorboard else f"/w/{services.source.workspace}/compare"
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{prefix}{place}{query}", 307)

    app.router.routes.append(Route("/", front))
    app.router.routes.extend(PageFiles(prefix=prefix, may_be_framed=may_be_framed).routes())
    return app


class _SourceRoutes:
    """What the page asks about the server: here, the source."""

    def __init__(self, services: FolderServices, prefix: str) -> None:
        self._services, self._prefix, self._started = services, prefix, now()

    def routes(self) -> list[Any]:
        operations = Operations("server")
        operations.add("GET", "info", self.info)
        operations.add("GET", "me", self.me)
        operations.add("GET", "boards", self.boards)
        return operations.routes

    def info(self) -> ServerInfo:
        return ServerInfo(
            version=__version__,
            api=VERSION,
            pid=os.getpid(),
            private=True,
            started=self._started,
            catalog=self._services.source.title,
        )

    def me(self) -> Person:
        """One person, who may do everything with these runs."""
        return Person(name=process_owner(), administrator=True)

    def boards(self) -> dict[str, object]:
        return {"items": [], "next": None}
