# SPDX-License-Identifier: Apache-2.0
"""Turn handlers into API routes: authentication, request bodies, response encoding.

Handlers are small and run on threads, because stores and databases block. `aboard.api.wire` encodes what they return,
by the rules that the client decodes with. `aboard.server.openapi` makes the API document from their types.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import orjson
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from aboard.api import PREFIX
from aboard.api.wire import from_wire, to_wire
from aboard.errors import AboardError, InvalidValue, Unauthorized
from aboard.model.people import Access
from aboard.server.http.asgi import ACCESS
from aboard.server.http.json_encoding import encode_json
from aboard.server.routes.binding import Binding, Body, FromRequest

_log = logging.getLogger("aboard.server")
_T = TypeVar("_T")
_LARGEST_BODY = 16 << 20
_QUICKLY_READ = 64 << 10

Handler = Callable[..., object]


class Operation(Route):
    """A route of the API: a handler, and what the API document says about it."""

    def __init__(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        tag: str,
        content: Mapping[str, Any],
        after: Callable[[], None] | None,
        is_change: bool,
    ) -> None:
        super().__init__(path, self._respond, methods=[method])
        self.method, self.tag, self.handler, self.content = method, tag, handler, content
        self._after, self._is_change = after, is_change

    @functools.cached_property
    def binding(self) -> Binding:
        """The parameters of the handler."""
        return Binding(self.handler)

    async def _respond(self, request: Request) -> Response:
        if self._is_change:
            current_access(request).check_change()
        arguments = await self.binding.read(request)
        response = await run_in_threadpool(self._call, arguments)
        if self._after is not None:
            response.background = BackgroundTask(self._after)
        return response

    def _call(self, arguments: Mapping[str, Any]) -> Response:
        try:
            returned = self.handler(**arguments)
            if isinstance(returned, Response):
                return returned
            return Response(encode(returned), media_type="application/json")
        except AboardError:
            raise
        except Exception as error:
            _log.exception("%s failed", self.handler.__qualname__)
            raise AboardError("the server failed", hint="see its log") from error


class Operations:
    """The operations of one part of the API, below its prefix. `tag` groups them in the document."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.routes: list[Route] = []

    def add(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        content: Mapping[str, Any] | None = None,
        prefix: str = PREFIX,
        after: Callable[[], None] | None = None,
        is_change: bool | None = None,
    ) -> None:
        """Have `handler` answer. Its docstring describes it; `after` is called once the response was sent.

        A handler that returns a response of its own says by `content` which type each content type stands for.
        Tokens with the scope read are refused where `is_change` holds, which is the default for all but GET.
        """
        self.routes.append(
            Operation(
                method,
                f"{prefix}/{path}",
                handler,
                tag=self._tag,
                content=content or {},
                after=after,
                is_change=method != "GET" if is_change is None else is_change,
            )
        )


def request_body(kind: type[_T]) -> Body:
    """Mark a parameter, with `Annotated`, as the request body of this type."""

    async def read(request: Request) -> _T:
        content = await _read_body(request)
        if len(content) > _QUICKLY_READ:
            return await run_in_threadpool(_decode, kind, content)
        return _decode(kind, content)

    return Body(kind, read)


def encode(value: object) -> bytes:
    """Encode a response body as JSON."""
    return encode_json(to_wire(value))


async def _read_body(request: Request) -> bytes:
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _LARGEST_BODY:
            raise InvalidValue(f"the request is larger than {_LARGEST_BODY} bytes", hint="name fewer runs at once")
    return bytes(content)


def _decode(kind: type[_T], content: bytes) -> _T:
    try:
        document = orjson.loads(content or b"{}")
    except orjson.JSONDecodeError as error:
        raise InvalidValue(f"the request is not JSON: {error}") from None
    return from_wire(kind, document, "the request")


def current_access(request: Request) -> Access:
    """Return the access of the authenticated user; without authentication, that of the application's `actor`."""
    access = request.scope.get(ACCESS)
    if isinstance(access, Access):
        return access
    actor = getattr(request.app.state, "actor", None)
    if actor is None:
        raise Unauthorized("a token is needed")
    return Access.whole(str(actor))


CurrentAccess = Annotated[Access, FromRequest(current_access)]
"""Type of a handler's parameter: the authenticated user and what they may do."""
