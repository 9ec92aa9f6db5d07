# SPDX-License-Identifier: Apache-2.0
"""The application of `aboard server`: health, and the API over runs, experiments, workspaces and stores."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from aboard.api import PREFIX
from aboard.control.control import Control
from aboard.errors import UnknownName
from aboard.server.answering import failure
from aboard.server.group_routes import GroupRoutes
from aboard.server.run_routes import RunRoutes
from aboard.server.selection_routes import SelectionRoutes
from aboard.server.server_routes import ServerRoutes


def api_app(
    control: Control, *, personal: bool, private: bool, actor: str, remember: Callable[[str], None]
) -> Starlette:
    """`personal`: it serves one person, who is given fresh lists. `private`: in the background, and ends when asked."""
    routes = [
        Route("/", _front),
        Route("/healthz", _health),
        *RunRoutes(control, is_fresh=personal).routes(),
        *SelectionRoutes(control, is_fresh=personal).routes(),
        *GroupRoutes(control, is_fresh=personal).routes(),
        *ServerRoutes(control, private=private, remember=remember).routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _no_route})
    app.state.actor = actor
    return app


async def _front(_: Request) -> Response:
    return PlainTextResponse(f"This is an aboard server. Its API is below {PREFIX}/; see docs/server.md.\n")


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = failure(UnknownName(f"{request.method} {request.url.path} is not served here", hint="see docs/server.md"))
    answer.status_code = error.status_code
    return answer
