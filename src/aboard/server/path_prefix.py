# SPDX-License-Identifier: Apache-2.0
"""A server below a path of somebody else's site: requests lose that path, and redirections get it back.

Reverse proxies either pass the path on or cut it off; both are understood, because no place of a server begins as the
path does (`config.parsing.site` sees to that).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from aboard.server.short_answers import ASGIApp, Message, Receive, Scope, Send, ShortAnswer


def prefix_of(url: str) -> str:
    """The path below which people reach a server, without a slash at its end; empty for a site of its own."""
    return urlsplit(url).path.rstrip("/")


class BelowPrefix:
    """An ASGI application around one that knows nothing of the prefix."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix
        self._raw = prefix.encode("ascii")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._prefix or scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["path"] == self._prefix and scope["type"] == "http":
            await self._front(scope)(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [self._placed(*pair) for pair in message.get("headers", ())]}
            await send(message)

        await self._app(self._without(scope), receive, sending)

    def _front(self, scope: Scope) -> ShortAnswer:
        query = scope["query_string"].decode("latin-1")
        return ShortAnswer(308, headers=[("location", f"{self._prefix}/{'?' if query else ''}{query}")])

    def _without(self, scope: Scope) -> Scope:
        path: str = scope["path"]
        raw: bytes = scope.get("raw_path") or b""
        if not path.startswith(f"{self._prefix}/") or (raw and not raw.startswith(self._raw + b"/")):
            return scope
        return {**scope, "path": path[len(self._prefix) :], "raw_path": raw[len(self._raw) :]}

    def _placed(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_local = value.startswith(b"/") and not value.startswith((b"//", self._raw + b"/"))
        return name, self._raw + value if name.lower() == b"location" and is_local else value
