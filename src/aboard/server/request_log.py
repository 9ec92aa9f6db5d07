# SPDX-License-Identifier: Apache-2.0
"""Every request is counted, timed and given an id, which the answer carries and the log repeats."""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import TYPE_CHECKING

from aboard.server.log_lines import REQUEST_ID
from aboard.server.short_answers import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from aboard.server.server_metrics import ServerMetrics

_access = logging.getLogger("aboard.access")
_HEADER = b"x-request-id"
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestLog:
    """Passes requests on. `access_log`: one line for each that is answered; those for health only when they fail."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, *, access_log: bool) -> None:
        self._app, self._metrics, self._access_log = app, metrics, access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, began, status = _id_of(scope), time.perf_counter(), 0
        token = REQUEST_ID.set(request_id)  # threads that answer have it too

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (_HEADER, request_id.encode())]}
            await send(message)

        try:
            with self._metrics.answering():
                await self._app(scope, receive, send_with_id)
        finally:
            took = time.perf_counter() - began
            REQUEST_ID.reset(token)
            self._metrics.answered(scope["method"], _route_of(scope), status, took)
            if self._access_log and not (scope["path"] in _QUIET and status < 400):
                self._tell(scope, request_id, status, took)

    def _tell(self, scope: Scope, request_id: str, status: int, took: float) -> None:
        client = scope.get("client")
        facts: dict[str, object] = {
            "request_id": request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "milliseconds": round(took * 1e3, 2),
            "client": client[0] if client else "",
        }
        shown = scope["path"].encode("unicode_escape").decode()  # a path must not forge a line
        _access.info("%s %s %d", scope["method"], shown, status, extra={"facts": facts})


def _id_of(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == _HEADER and _GIVEN.fullmatch(value):
            return value.decode("ascii")
    return secrets.token_hex(8)


def _route_of(scope: Scope) -> str:
    """The route and not the path, so that there are few of them."""
    route = scope.get("route")
    return str(getattr(route, "path", "")) or "other"
