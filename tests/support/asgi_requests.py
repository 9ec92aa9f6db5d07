# SPDX-License-Identifier: Apache-2.0
"""Requests to an ASGI application in the process of a test, handed over as uvicorn does it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote


class Answer(NamedTuple):
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send_request(
    app: Any, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Answer:
    """Send one request; `target` is as it stands in the request line, with percent signs and a query."""
    path, _, query = target.partition("?")
    received = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return next(received, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": "127.0.0.1", "content-length": str(len(body)), **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 6006),
    }
    asyncio.run(app(scope, receive, send))
    begun = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], begun, b"".join(message.get("body", b"") for message in sent[1:]))
