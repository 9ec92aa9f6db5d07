# SPDX-License-Identifier: Apache-2.0
"""ASGI types, and small responses that are ASGI applications themselves.

Imports the standard library only: `aboard view` answers before heavier packages are loaded.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ACCESS = "aboard.access"
"""Key in the scope of a request: the authenticated user's access."""
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SimpleResponse:
    """A complete response that is an ASGI application."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: Iterable[tuple[str, str]] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [("content-type", self.content_type), ("content-length", str(len(self.body))), *self.headers]
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        await send({"type": f"{kind}.start", "status": self.status, "headers": encoded})
        await send({"type": f"{kind}.body", "body": self.body})


def json_response(document: Any, status: int = 200) -> SimpleResponse:
    """A JSON response."""
    return SimpleResponse(status, json.dumps(document, separators=(",", ":")).encode(), "application/json")


def text_response(status: int, text: str) -> SimpleResponse:
    """A plain-text response."""
    return SimpleResponse(status, text.encode("utf-8", "replace"))


def redirect(address: str, status: int) -> SimpleResponse:
    """A redirect to an address of this server."""
    return SimpleResponse(status, headers=[("location", address)])


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request, of those that are there twice the first."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found
