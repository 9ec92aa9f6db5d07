# SPDX-License-Identifier: Apache-2.0
"""The ASGI application of a server: API routes, board pages and the web page."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aboard.api import PREFIX
from aboard.server import page_files
from aboard.server.application import create_application
from aboard.server.boards.pages import PATHS, BoardPages
from aboard.server.http.metrics import ServerMetrics
from aboard.server.openapi import document_of
from aboard.server.page_files import PageFiles
from aboard.server.routes.boards import BoardRoutes
from aboard.server.routes.events import EventRoutes
from aboard.server.routes.files import FileRoutes, MediaRoutes
from aboard.server.routes.groups import GroupRoutes, SavedViewRoutes
from aboard.server.routes.operations import current_access
from aboard.server.routes.people import PeopleRoutes
from aboard.server.routes.runs import RunRoutes, SelectionRoutes
from aboard.server.routes.series import AnnotationRoutes, ChartRoutes, SeriesRoutes
from aboard.server.routes.server import HealthRoutes, ServerRoutes
from aboard.services.services import Services


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
) -> Starlette:
    """`personal`: it serves one person, who is given fresh lists. `private`: in the background, and ends on request.

    `actor`: see `create_application`. `second_origin`: see `BoardPages`. `prefix` is the path below which browsers
    reach the server.
    """
    metrics = ServerMetrics(control)
    groups = (
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
    )
    app = create_application(groups, control.changes, actor)
    app.state.metrics = metrics

    async def describe(_: Request) -> Response:
        return JSONResponse(document_of(app))

    pages = BoardPages(control, lambda scope: current_access(Request(scope)), second_origin)
    app.router.routes.append(Route(f"{PREFIX}/openapi.json", describe))
    app.router.routes.extend(Route(f"{place}{{rest:path}}", pages) for place in PATHS)
    page = PageFiles(prefix=prefix)
    app.router.routes.extend(Route(path, page, methods=["GET"]) for path in page_files.PATHS)
    control.keep_boards()
    return app
