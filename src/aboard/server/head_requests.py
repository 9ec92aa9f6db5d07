# SPDX-License-Identifier: Apache-2.0
"""HEAD is answered as GET is; that no body may follow is the HTTP server's to see to."""

from __future__ import annotations

from aboard.server.short_answers import ASGIApp, Receive, Scope, Send


class HeadAsGet:
    """Passes requests on, and those for headers alone as requests for the whole."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
