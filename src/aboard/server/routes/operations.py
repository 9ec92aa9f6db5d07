# SPDX-License-Identifier: Apache-2.0
"""Turn handlers into API routes: authentication, request bodies, response encoding.

Handlers are small and run on threads, because stores and databases block. `aboard.api.wire` encodes what they return,
by the rules that the client decodes with. `aboard.server.openapi` makes the API document from their types.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from aboard.api import PREFIX
from aboard.api.wire import from_wire, to_wire
from aboard.errors import AboardError, InvalidValue, Unauthorized
from aboard.model.people import Access
from aboard.server.http.asgi import ACCESS
from aboard.server.http.json_encoding import encode_json

_log = logging.getLogger("aboard.server")
_T = TypeVar("_T")
_LARGEST_BODY = 16 << 20
_QUICKLY_READ = 64 << 10
_CONTENT = "content_kinds"

Handler = Callable[..., object]


class Operations:
    """The path operations of one part of the API, below its prefix. `tag` groups them in the document."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.routes: list[APIRoute] = []

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
        """Have `handler` answer. Its docstring describes it; `after` is called when the answer has been sent.

        A handler that returns a response of its own says by `content` which kind each content type stands for.
        Tokens with the scope read are refused where `is_change` holds, which is the default for all but GET.
        """
        is_change = method != "GET" if is_change is None else is_change
        told = inspect.getdoc(handler) or ""
        route = APIRoute(
            f"{prefix}/{path}",
            _endpoint(handler, after, content or {}),
            methods=[method],
            tags=[self._tag],
            operation_id=f"{self._tag}_{handler.__name__}",
            summary=told.partition("\n")[0].rstrip("."),
            description=told,
            response_model=None,
            dependencies=[Depends(check_change)] if is_change else None,
        )
        self.routes.append(route)


def request_body(kind: type[_T]) -> Any:
    """Mark a parameter, with `Annotated`, as the request body of this type."""

    async def read(request: Request) -> _T:
        content = await _read_body(request)
        if len(content) > _QUICKLY_READ:
            return await run_in_threadpool(_decode, kind, content)
        return _decode(kind, content)

    return Depends(_BodyReader(kind, read))


class _BodyReader:
    """Reads a request body; `kind` is its type, for the API document."""

    def __init__(self, kind: type[Any], read: Callable[[Request], Any]) -> None:
        self.kind, self._read = kind, read

    async def __call__(self, request: Request) -> Any:
        return await self._read(request)


def body_type(dependency: object) -> type[Any] | None:
    """The kind of document that a dependency of a handler reads; None if it reads none."""
    return dependency.kind if isinstance(dependency, _BodyReader) else None


def content_types(route: APIRoute) -> Mapping[str, Any]:
    """The content types of an operation that makes its own responses, and what stands in each."""
    return getattr(route.endpoint, _CONTENT, {})


def _endpoint(
    handler: Handler, after: Callable[[], None] | None, content: Mapping[str, Any]
) -> Callable[..., Response]:
    @functools.wraps(handler)
    def answer(*arguments: Any, **parameters: Any) -> Response:
        try:
            told = handler(*arguments, **parameters)
            response = told if isinstance(told, Response) else Response(encode(told), media_type="application/json")
        except AboardError:
            raise
        except Exception as error:
            _log.exception("%s failed", handler.__qualname__)
            raise AboardError("the server failed", hint="see its log") from error
        if after is not None:
            response.background = BackgroundTask(after)
        return response

    setattr(answer, _CONTENT, content)
    return answer


def encode(told: object) -> bytes:
    """Encode a response body as JSON."""
    return encode_json(to_wire(told))


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


async def current_access(request: Request) -> Access:
    """Return the access of the authenticated user; without authentication, that of the application's `actor`."""
    access = request.scope.get(ACCESS)
    if isinstance(access, Access):
        return access
    actor = getattr(request.app.state, "actor", None)
    if actor is None:
        raise Unauthorized("a token is needed")
    return Access.whole(str(actor))


CurrentAccess = Annotated[Access, Depends(current_access)]
"""Type of a handler's parameter: the authenticated user and what they may do."""


async def check_change(access: CurrentAccess) -> None:
    """A dependency of all routes that change something: tokens that may only read are refused."""
    access.check_change()
