# SPDX-License-Identifier: Apache-2.0
"""Each answer of the API says which change it knows at least; who watches from there on misses nothing."""

from __future__ import annotations

from aboard.api import PREFIX
from aboard.server.short_answers import ASGIApp, Message, Receive, Scope, Send
from aboard.services.changes import Changes

_HEADER = b"x-changes"


class KnownChanges:
    """Passes requests on, and adds the position of the bus to their answers."""

    def __init__(self, app: ASGIApp, changes: Changes) -> None:
        self._app, self._changes = app, changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        known = self._changes.text_of(self._changes.position).encode()  # before anything is read for the answer

        async def send_with_position(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (_HEADER, known)]}
            await send(message)

        await self._app(scope, receive, send_with_position)
