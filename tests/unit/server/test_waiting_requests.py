# SPDX-License-Identifier: Apache-2.0
"""A request that waits for its turn keeps the whole body that its client sends."""

from __future__ import annotations

import asyncio
from typing import Any

from aboard.server.http.asgi import text_response
from aboard.server.http.limits import RequestLimiter


def test_a_body_in_several_pieces_is_no_client_that_has_gone() -> None:
    bodies: list[bytes] = []
    statuses: list[int] = []

    async def whole() -> None:
        end = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message.get("body", b""), message.get("more_body", False)
            await end.wait()
            bodies.append(body)
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def ask() -> None:
            pieces = [(b"one ", True), (b"two", False)]

            async def receive() -> dict[str, Any]:
                if not pieces:
                    await asyncio.Event().wait()
                body, more = pieces.pop(0)
                return {"type": "http.request", "body": body, "more_body": more}

            limited = limiter.with_slot(app, "ann", lambda _, error: text_response(error.status, ""))
            await limited({"type": "http", "path": "/api/v1/series", "method": "GET"}, receive, send)

        limiter = RequestLimiter(1024)
        tasks = [asyncio.ensure_future(ask()) for _ in range(6)]  # more than may be answered at once
        for _ in range(10):
            await asyncio.sleep(0)
        end.set()
        await asyncio.gather(*tasks)

    asyncio.run(whole())
    assert bodies == [b"one two"] * 6
    assert statuses == [200] * 6
