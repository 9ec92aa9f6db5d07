# SPDX-License-Identifier: Apache-2.0
"""Two applications on two sockets of one server: which of them is meant, the port of a connection says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aboard.server.short_answers import ASGIApp, Receive, Scope, Send


class ByPort:
    """An ASGI application: `second` on its port, `first` on all others and for the beginning and end of the server."""

    def __init__(self, first: ASGIApp, second: ASGIApp, port: int, close: Callable[[], Awaitable[None]]) -> None:
        self._first, self._second, self._port, self._close = first, second, port, close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            try:
                await self._first(scope, receive, send)
            finally:
                await self._close()
            return
        is_second = (scope.get("server") or ("", 0))[1] == self._port
        await (self._second if is_second else self._first)(scope, receive, send)
