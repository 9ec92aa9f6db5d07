# SPDX-License-Identifier: Apache-2.0
"""The server log: text or JSON lines with request ids, and one line per request."""

from __future__ import annotations

import contextvars
import json
import logging
import re
import secrets
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aboard.model.times import time_text
from aboard.server.http.asgi import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from aboard.server.http.metrics import ServerMetrics


REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("aboard_request_id", default="")


def configure_logging(log_format: str) -> None:
    """Write all log records to stderr, as `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)


def configure_terminal_logging() -> None:
    """Write warnings to stderr without time and logger, for the person who started the command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class JsonFormatter(logging.Formatter):
    """Log records as one JSON document a line, with the id of the request that they belong to."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time_text(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        line.update(getattr(record, "facts", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, ensure_ascii=True, default=str)


class TextFormatter(logging.Formatter):
    """Log records for people; the id of the request stands at the end, where there is one.

    All lines but the first are indented, so that no text in a record can pass for a record.
    """

    def __init__(self, form: str = "%(asctime)s %(levelname)s %(name)s: %(message)s") -> None:
        super().__init__(form)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in `logging`
        """The first line, without line breaks of the message or its arguments."""
        return super().formatMessage(record).replace("\n", "\\n")

    def format(self, record: logging.LogRecord) -> str:
        text = _printable(super().format(record)).replace("\n", "\n  ")
        request_id = REQUEST_ID.get() or getattr(record, "facts", {}).get("request_id", "")
        return f"{text} [{request_id}]" if request_id else text


def _printable(text: str) -> str:
    """Without characters that could move the cursor of a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else f"\\x{ord(letter):02x}" for letter in text)


_access = logging.getLogger("aboard.access")
_HEADER = b"x-request-id"
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestLogMiddleware:
    """Gives requests ids, records metrics and, with `access_log`, logs a line each; health checks only if they fail."""

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
            with self._metrics.track_open():
                await self._app(scope, receive, send_with_id)
        finally:
            took = time.perf_counter() - began
            REQUEST_ID.reset(token)
            self._metrics.record(scope["method"], _route_of(scope), status, took)
            if self._access_log and not (scope["path"] in _QUIET and status < 400):
                self._write(scope, request_id, status, took)

    def _write(self, scope: Scope, request_id: str, status: int, took: float) -> None:
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
