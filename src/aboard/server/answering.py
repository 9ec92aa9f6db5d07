# SPDX-License-Identifier: Apache-2.0
"""Turns functions into routes: a call comes in, a document goes out, and an error is a document too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

import orjson
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from aboard.api import PREFIX
from aboard.api.failure import to_failure
from aboard.api.wire import from_wire, to_wire
from aboard.errors import AboardError, InvalidValue
from aboard.server.actors import actor_of

_log = logging.getLogger("aboard.server")
_T = TypeVar("_T")
_LARGEST_BODY = 16 << 20
_LARGE = 10**18


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read whole."""

    query: QueryParams
    path: dict[str, str]
    content: bytes
    actor: str
    """Who asks, as the record of changes will name them."""

    def body(self, kind: type[_T]) -> _T:
        """The document that was sent."""
        try:
            document = orjson.loads(self.content or b"{}")
        except orjson.JSONDecodeError as error:
            raise InvalidValue(f"the request is not JSON: {error}") from None
        return from_wire(kind, document, "the request")

    def name(self, part: str) -> str:
        """A name in the path. A slash in it is escaped twice, because paths are taken apart after the first time."""
        return unquote(self.path[part])

    def text(self, name: str) -> str | None:
        return self.query.get(name) or None

    def texts(self, name: str) -> list[str]:
        return [text for text in self.query.getlist(name) if text]

    def flag(self, name: str) -> bool:
        text = self.query.get(name, "").lower()
        if text not in ("", "0", "1", "true", "false"):
            raise InvalidValue(f"{name}={text!r} is neither true nor false")
        return text in ("1", "true")

    def number(self, name: str, otherwise: int, least: int = -_LARGE, most: int = _LARGE) -> int:
        text = self.query.get(name)
        if not text:
            return otherwise
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 18 and least <= int(text) <= most):
            allowed = f" from {least} to {most}" if most < _LARGE else ""
            raise InvalidValue(f"{name}={text!r} is not a whole number{allowed}")
        return int(text)


Handler = Callable[[Call], object]


def route(path: str, handler: Handler, method: str = "GET", *, after: Callable[[], None] | None = None) -> Route:
    """A route below the prefix of the API. `after` is called when the answer has been sent."""

    async def endpoint(request: Request) -> Response:
        try:
            content = await _read(request)
            call = Call(request.query_params, dict(request.path_params), content, actor_of(request))
            told = await run_in_threadpool(lambda: _document(handler(call)))
        except ClientDisconnect:
            return Response(status_code=499)
        except AboardError as error:
            return failure(error)
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            return failure(AboardError("the server failed", hint="see its log"))
        task = BackgroundTask(after) if after is not None else None
        return Response(told, media_type="application/json", background=task)

    return Route(f"{PREFIX}/{path}", endpoint, methods=[method])


def _document(told: object) -> bytes:
    wire = to_wire(told)
    try:
        return orjson.dumps(wire)
    except orjson.JSONEncodeError:
        # What a store's documents say beside what is known may hold integers and characters that orjson refuses.
        return json.dumps(wire).encode()


def failure(error: AboardError) -> Response:
    """The answer that tells of an error."""
    return Response(orjson.dumps(to_failure(error)), error.status, media_type="application/json")


async def _read(request: Request) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _LARGEST_BODY:
            raise InvalidValue(f"the request is larger than {_LARGEST_BODY} bytes", hint="name fewer runs at once")
    return bytes(content)
