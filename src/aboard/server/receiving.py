# SPDX-License-Identifier: Apache-2.0
"""What an application hears of its client: not more than is allowed, and that it is gone when it may not stay."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aboard.errors import AboardError, InvalidValue
from aboard.server.short_answers import ASGIApp, Message, Receive, Scope, Send, headers_of

RECHECK_SECONDS = 30.0
"""How long somebody whose rights were taken away may go on to hear an answer that goes on."""
_GONE = "http.disconnect"


ANONYMOUS_BYTES = 16 << 10
"""The most that a request without a login may send; enough for a token and a long address to go to afterwards."""


class TooLarge(InvalidValue):
    """A request that sends more than is allowed."""

    status = 413


class Limited:
    """Cuts off who sends more than was announced, or announces nothing and sends without end."""

    def __init__(self, app: ASGIApp, most: int, refusal: Callable[[Scope, AboardError], ASGIApp]) -> None:
        self._app, self._most, self._refusal = app, most, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        announced = headers_of(scope).get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > self._most:
            await self._refusal(scope, self._too_large())(scope, receive, send)
            return
        size = 0
        has_begun = False

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b"") or b"") if message["type"] == "http.request" else 0
            return {"type": _GONE} if size > self._most else message

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if size > self._most and not has_begun:
                return
            has_begun = True
            await send(message)

        await self._app(scope, receiving, sending)
        if size > self._most and not has_begun:
            await self._refusal(scope, self._too_large())(scope, receive, send)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"a request has at most {self._most:,} bytes")


def watched(receive: Receive, may_stay: Callable[[], Awaitable[bool]]) -> Receive:
    """`receive`, which tells that the client has gone also when it may not stay; that is asked while one waits."""
    is_first = True

    async def receiving() -> Message:
        nonlocal is_first
        if is_first:  # what was sent with the request, which is all that most have to say
            is_first = False
            return await receive()
        waiting = asyncio.ensure_future(receive())
        try:
            while not (await asyncio.wait({waiting}, timeout=RECHECK_SECONDS))[0]:
                if not await may_stay():
                    return {"type": _GONE}
            return waiting.result()
        finally:
            waiting.cancel()

    return receiving
