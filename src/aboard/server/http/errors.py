# SPDX-License-Identifier: Apache-2.0
"""Error responses of the API: every failure is `{"error": {"code", "message", "hint"}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from aboard.api.wire import to_failure
from aboard.errors import AboardError, InvalidValue, UnknownName
from aboard.server.http.json_encoding import encode_json

_log = logging.getLogger("aboard.server")
_LONGEST_SHOWN = 200


def error_response(error: AboardError, status: int | None = None) -> Response:
    """The JSON response for an error."""
    return Response(encode_json(to_failure(error)), status or error.status, media_type="application/json")


def add_error_handlers(app: FastAPI) -> None:
    """Return every error of an application as the same JSON document."""
    app.add_exception_handler(AboardError, _handle_aboard_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_parameters)
    app.add_exception_handler(HTTPException, _handle_unknown_route)
    app.add_exception_handler(ClientDisconnect, _handle_disconnect)
    app.add_exception_handler(Exception, _handle_unexpected)


async def _handle_aboard_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, AboardError)
    return error_response(error)


async def _handle_invalid_parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems: Sequence[Any] = error.errors()
    return error_response(
        InvalidValue("; ".join(map(_describe_problem, problems)), hint="see /api/v1/openapi.json for what is allowed")
    )


def _describe_problem(problem: Mapping[str, Any]) -> str:
    name = ".".join(str(part) for part in problem["loc"][1:]) or str(problem["loc"][0])
    if problem["type"] == "missing":
        return f"{name} is missing"
    shown = repr(problem.get("input"))
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}…"
    said = str(problem["msg"])
    return f"{name}={shown} is not allowed: {said[:1].lower()}{said[1:]}"


async def _handle_unknown_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = UnknownName(f"{request.method} {request.url.path} is not served here", hint="see docs/server.md")
    answer = error_response(told, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def _handle_disconnect(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_response(AboardError("the server failed", hint="see its log"))
