# SPDX-License-Identifier: Apache-2.0
"""Error responses of the API: every failure is `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from aboard.api.wire import to_failure
from aboard.errors import AboardError, UnknownName
from aboard.server.http.json_encoding import encode_json

_log = logging.getLogger("aboard.server")


def error_response(error: AboardError, status: int | None = None) -> Response:
    """The JSON response for an error."""
    return Response(encode_json(to_failure(error)), status or error.status, media_type="application/json")


def add_error_handlers(app: Starlette) -> None:
    """Return every error of an application as the same JSON document."""
    app.add_exception_handler(AboardError, _handle_aboard_error)
    app.add_exception_handler(HTTPException, _handle_unknown_route)
    app.add_exception_handler(ClientDisconnect, _handle_disconnect)
    app.add_exception_handler(Exception, _handle_unexpected)


async def _handle_aboard_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, AboardError)
    return error_response(error)


async def _handle_unknown_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    unknown = UnknownName(f"{request.method} {request.url.path} is not served here", hint="see docs/server.md")
    response = error_response(unknown, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _handle_disconnect(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(AboardError("the server failed", hint="see its log"))
