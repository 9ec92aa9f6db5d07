# SPDX-License-Identifier: Apache-2.0
"""Limits on requests: body sizes, concurrent requests of one user, and streams that end when access is revoked.

Media and board data are built in memory and stay there until the client has read them. Large series are streamed,
but downsampled ones are in memory as well. Such requests hold their slot until the response is complete. Others
release it when the response starts, so event streams and downloads hold none. SECURITY.md lists the resulting bounds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field

from aboard.api import PREFIX
from aboard.errors import AboardError, InvalidValue
from aboard.server.http.asgi import ASGIApp, Message, Receive, Scope, Send, headers_of, text_response

RECHECK_SECONDS = 30.0
"""How long somebody whose rights were taken away may go on to hear an answer that goes on."""
_DISCONNECT = "http.disconnect"


ANONYMOUS_BYTES = 16 << 10
"""The most that a request without a login may send; enough for a token and a long address to go to afterwards."""


class RequestTooLarge(InvalidValue):
    """A request that sends more than is allowed."""

    status = 413


class BodyLimit:
    """Rejects requests with a body larger than `most`, announced or not."""

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
            return {"type": _DISCONNECT} if size > self._most else message

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if size > self._most and not has_begun:
                return
            has_begun = True
            await send(message)

        await self._app(scope, receiving, sending)
        if size > self._most and not has_begun:
            await self._refusal(scope, self._too_large())(scope, receive, send)

    def _too_large(self) -> RequestTooLarge:
        return RequestTooLarge(f"a request has at most {self._most:,} bytes")


def end_when_revoked(receive: Receive, may_stay: Callable[[], Awaitable[bool]]) -> Receive:
    """Return `receive` that reports a disconnect once `may_stay` is false, checked while the response streams."""
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
                    return {"type": _DISCONNECT}
            return waiting.result()
        finally:
            waiting.cancel()

    return receiving


_MOST_PER_USER = 256
_FEWEST_PER_USER = 16
_SHARE = 4
_AT_ONCE = {"series": 4, "media": 8, "boards": 8, "others": 32}
_MEDIA = ("/media/content", "/histograms", "/texts")
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_CLIENT_HAS_GONE = 499


class TooManyRequests(AboardError):
    """One person has too many requests under way."""

    status = 429
    code = "TooManyRequests"
    seconds = 1

    def __init__(self, most: int) -> None:
        hint = f"Wait for some of them, and try again in {self.seconds} s."
        super().__init__(f"You have {most} requests and streams under way, which is the maximum.", hint=hint)


@dataclass(slots=True)
class _UserRequests:
    count: int = 0
    turns: dict[str, asyncio.Semaphore] = field(default_factory=dict[str, asyncio.Semaphore])


class RequestLimiter:
    """Limits the concurrent requests of each user. It belongs to one event loop."""

    def __init__(self, connections: int) -> None:
        """One person may keep a quarter of the `connections` of the server busy, at most 256."""
        self.most = min(_MOST_PER_USER, max(_FEWEST_PER_USER, connections // _SHARE))
        self._people: dict[str, _UserRequests] = {}

    def with_slot(self, app: ASGIApp, person: str, refusal: Callable[[Scope, AboardError], ASGIApp]) -> ASGIApp:
        """Return `app` for one request of a user: it is counted, and waits for a slot of its kind."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            with self._counted(person) as found:
                if found is None:
                    await refusal(scope, TooManyRequests(self.most))(scope, receive, send)
                elif scope["type"] != "http":
                    await app(scope, receive, send)
                else:
                    await _run_in_slot(found, app, scope, receive, send)

        return answer

    def counted(self, app: ASGIApp, person: str, refusal: Callable[[Scope, AboardError], ASGIApp]) -> ASGIApp:
        """Return `app` for a request that another process answers: it is counted and needs no slot."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            with self._counted(person) as found:
                await (app if found is not None else refusal(scope, TooManyRequests(self.most)))(scope, receive, send)

        return answer

    @contextlib.contextmanager
    def _counted(self, name: str) -> Generator[_UserRequests | None]:
        person = self._people.setdefault(name, _UserRequests())
        if person.count >= self.most:
            yield None
            return
        person.count += 1
        try:
            yield person
        finally:
            person.count -= 1
            if not person.count:
                del self._people[name]


def _kind_of(path: str) -> str:
    if path.startswith("/boards/"):
        return "boards"
    if path.startswith(f"{PREFIX}/runs/") and path.endswith(_MEDIA):
        return "media"
    return "series" if path in (f"{PREFIX}/series", f"{PREFIX}/charts") else "others"


async def _run_in_slot(person: _UserRequests, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    kind = _kind_of(scope["path"])
    turns = person.turns.setdefault(kind, asyncio.Semaphore(_AT_ONCE[kind]))
    has_turn = False
    gone: asyncio.Future[Message] | None = None

    def end_turn() -> None:
        nonlocal has_turn
        if has_turn:
            has_turn = False
            turns.release()

    async def sending(message: Message) -> None:
        if kind == "others" and message["type"] == "http.response.start":
            end_turn()
        await send(message)

    if turns.locked() and scope["method"] in _SAFE_METHODS:
        # Pages drop requests that they no longer need. These must not have their turn before those that they need.
        first = await receive()
        if not first.get("more_body"):  # the next message can only be that the client has gone
            gone = asyncio.ensure_future(receive())
        receive = _replay(first, receive, gone)
    try:
        has_turn = await _acquire(turns, gone)
        if has_turn:
            await app(scope, receive, sending)
        else:
            await text_response(_CLIENT_HAS_GONE, "")(scope, receive, send)
    finally:
        end_turn()
        if gone is not None:
            gone.cancel()


def _replay(first: Message, receive: Receive, gone: asyncio.Future[Message] | None) -> Receive:
    waiting = [first]

    async def receiving() -> Message:
        if waiting:
            return waiting.pop()
        return await (receive() if gone is None else asyncio.shield(gone))

    return receiving


async def _acquire(turns: asyncio.Semaphore, gone: asyncio.Future[Message] | None) -> bool:
    """Wait for a turn. False if the client has gone before it came."""
    if gone is None:
        return await turns.acquire()
    acquiring = asyncio.ensure_future(turns.acquire())
    try:
        await asyncio.wait({gone, acquiring}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        if not acquiring.cancel():
            turns.release()
        raise
    return not acquiring.cancel()
