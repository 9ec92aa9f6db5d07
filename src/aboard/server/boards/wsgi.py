# SPDX-License-Identifier: Apache-2.0
"""Run a WSGI application such as TensorBoard in an ASGI server, for short requests and responses.

A request goes to a thread and its whole response comes back: one thread switch each way. Bridges that pass on every
message take half a millisecond more, as long as most responses take themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from aboard.server.http.asgi import Receive, Scope, Send, text_response

_LOG = logging.getLogger("aboard.server")
SLOT = "aboard.turn"
"""In a scope: an asynchronous context that is entered for as long as a thread works on the answer."""
ENVIRONMENT = "aboard.environment"
"""In a scope: what the application finds in its environment beside the request."""
_LARGEST_REQUEST = 64 << 20
# So much at a time: what the system does not take at once would be copied, all of the rest each time.
_PIECE_BYTES = 256 << 10

Environment = dict[str, Any]
WSGIApp = Callable[[Environment, Any], Iterable[bytes]]


class _WSGIResponse(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class WSGIBridge:
    """An ASGI application that has a WSGI application answer, on as many threads as `workers`."""

    def __init__(self, app: WSGIApp, *, workers: int) -> None:
        self._app = app
        self._executor = ThreadPoolExecutor(workers, "aboard-answers")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await text_response(404, "not found\n")(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            await text_response(413, f"a request has at most {_LARGEST_REQUEST:,} bytes\n")(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        # Not while the answer is sent: a client that takes it slowly must not keep others from their turn.
        async with scope.get(SLOT) or contextlib.nullcontext():
            answer = await loop.run_in_executor(self._executor, _call_app, self._app, _environment_of(scope, body))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        pieces = range(0, len(answer.body), _PIECE_BYTES) if len(answer.body) > _PIECE_BYTES else ()
        for begin in pieces:
            piece = answer.body[begin : begin + _PIECE_BYTES]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"" if pieces else answer.body})


async def _read_body(receive: Receive) -> bytes | None:
    """The body of a request; None of one that is too large, or of a client that has gone."""
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > _LARGEST_REQUEST:
            return None
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _environment_of(scope: Scope, body: bytes) -> Environment:
    """The request as PEP 3333 has it: text that stands for bytes, one character each."""
    host, port = scope.get("server") or ("localhost", 80)
    mounted_at: str = scope.get("root_path", "")
    environ: Environment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": _as_bytes(mounted_at),
        "PATH_INFO": _as_bytes(scope["path"].removeprefix(mounted_at)),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": (scope.get("client") or ("", 0))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").upper().replace("-", "_"), raw_value.decode("latin-1")
        key = name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.update(scope.get(ENVIRONMENT, {}))
    return environ


def _as_bytes(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _call_app(app: WSGIApp, environ: Environment) -> _WSGIResponse:
    status, headers = "", list[tuple[str, str]]()
    written: list[bytes] = []

    def start_response(now: str, given: list[tuple[str, str]], _: Any = None) -> Callable[[bytes], None]:
        nonlocal status, headers
        status, headers = now, given
        return written.append

    parts = app(environ, start_response)
    try:
        written += parts
    finally:
        if (close := getattr(parts, "close", None)) is not None:
            close()
    encoded = [(name.strip().lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers]
    return _WSGIResponse(int(status.split(" ", 1)[0]), encoded, written[0] if len(written) == 1 else b"".join(written))
