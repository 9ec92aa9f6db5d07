# SPDX-License-Identifier: Apache-2.0
"""Forward requests and WebSockets to board processes, streaming both ways.

Each board has a fixed number of concurrent requests, so a process that hangs, or slow readers, delay no other board.
Headers that identify a user or grant access do not reach the process. Headers that would change what the browser
holds for other pages of the origin do not come back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import aiohttp
from yarl import URL

from aboard.errors import ServerUnavailable
from aboard.model.units import Endpoint
from aboard.server.http.asgi import Message, Receive, Scope, Send

_SKIPPED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_AT_ONCE = 64
_LARGEST_MESSAGE = 16 << 20


class UnitUnreachable(ServerUnavailable):
    """The process of a board does not answer."""

    status = 502
    code = "UnitUnreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardTimeouts:
    """How long others are waited for, in seconds."""

    turn: float = 10.0
    connect: float = 5.0
    answer: float = 120.0
    """Between two pieces of what a process says."""
    client: float = 60.0
    """Until a client takes a piece."""


class Forwarder:
    """Passes on to processes. `framed_by` may show their pages in frames."""

    def __init__(self, framed_by: str, times: ForwardTimeouts | None = None) -> None:
        self._framed_by, self._times = framed_by.encode("latin-1"), times or ForwardTimeouts()
        self._client: aiohttp.ClientSession | None = None
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def close(self) -> None:
        """Leave all connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def http(self, board_id: str, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        """One request and its answer."""
        turn = await self._turn(board_id)
        try:
            body_is_sent = asyncio.Event()
            answering = asyncio.ensure_future(self._answer(endpoint, scope, receive, send, body_is_sent))
            leaving = asyncio.ensure_future(_wait_for_disconnect(receive, body_is_sent))
            try:
                await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (answering, leaving):
                    if not task.done():
                        task.cancel()
                        with contextlib.suppress(asyncio.CancelledError):
                            await task
            if answering.done() and not answering.cancelled():
                answering.result()
        finally:
            turn.release()

    async def websocket(
        self,
        board_id: str,
        endpoint: Endpoint,
        scope: Scope,
        receive: Receive,
        send: Send,
        used: Callable[[], None],
    ) -> None:
        """A connection on which both sides talk, until one of them ends it; `used` is called for each message."""
        turn = await self._turn(board_id)
        try:
            await receive()  # that the client would like to connect
            opening = self._session().ws_connect(
                _address(endpoint, scope),
                protocols=scope.get("subprotocols", ()),
                headers=_text(request_headers(list(scope["headers"]))),
                max_msg_size=_LARGEST_MESSAGE,
                autoping=True,
            )
            try:
                unit = await asyncio.wait_for(opening, self._times.connect + self._times.turn)
            except (aiohttp.ClientError, OSError, TimeoutError):
                await send({"type": "websocket.close", "code": 1014, "reason": "the process does not answer"})
                return
            async with unit:
                await send({"type": "websocket.accept", "subprotocol": unit.protocol})
                sides = {
                    asyncio.ensure_future(_to_unit(receive, unit, used)),
                    asyncio.ensure_future(_to_client(unit, send, used, self._times.client)),
                }
                _, others = await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
                for task in others:
                    task.cancel()
                await asyncio.gather(*sides, return_exceptions=True)
        finally:
            turn.release()

    async def _answer(
        self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send, body_is_sent: asyncio.Event
    ) -> None:
        given: Headers = list(scope["headers"])
        headers = request_headers(given)
        data = None
        if has_body(given):
            headers += [pair for pair in given if pair[0] == b"content-length"]
            data = _body(receive, body_is_sent)
        else:
            body_is_sent.set()
        has_begun = False
        try:
            async with self._session().request(
                scope["method"],
                _address(endpoint, scope),
                headers=_text(headers),
                data=data,
                allow_redirects=False,
                skip_auto_headers=_SKIPPED,
            ) as answer:
                kept = response_headers(list(answer.raw_headers), endpoint=endpoint.address, framed_by=self._framed_by)
                await send({"type": "http.response.start", "status": answer.status, "headers": kept})
                has_begun = True
                async for piece in answer.content.iter_any():
                    await self._taken(send, {"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except _ClientGone:
            return
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if has_begun:
                return  # the server breaks the connection off, so that nobody takes a part for the whole
            late = isinstance(error, TimeoutError)
            what = "has not answered in time" if late else "does not answer"
            raise UnitUnreachable(f"the process of this board {what}", hint="see the log of the board") from error

    async def _taken(self, send: Send, message: Message) -> None:
        try:
            await asyncio.wait_for(send(message), self._times.client)
        except TimeoutError:
            raise _ClientGone from None

    async def _turn(self, board_id: str) -> asyncio.Semaphore:
        turn = self._turns.get(board_id)
        if turn is None:
            turn = self._turns[board_id] = asyncio.Semaphore(_AT_ONCE)
        try:
            await asyncio.wait_for(turn.acquire(), self._times.turn)
        except TimeoutError:
            raise ServerUnavailable(
                f"{_AT_ONCE} requests to this board are under way", hint="try again in a while"
            ) from None
        return turn

    def _session(self) -> aiohttp.ClientSession:
        if self._client is None:
            times = self._times
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=times.connect, sock_read=times.answer),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._client


class _ClientGone(Exception):
    pass


def _address(endpoint: Endpoint, scope: Scope) -> URL:
    """Just as it was asked for: an address that was written otherwise could mean something else."""
    raw = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
    query = scope["query_string"].decode("latin-1")
    return URL(f"http://{endpoint.address}{raw}{'?' if query else ''}{query}", encoded=True)


def _text(headers: Headers) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


async def _body(receive: Receive, is_sent: asyncio.Event) -> AsyncGenerator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        if piece := message.get("body", b""):
            yield piece
        if not message.get("more_body"):
            is_sent.set()
            return


async def _wait_for_disconnect(receive: Receive, body_is_sent: asyncio.Event) -> None:
    """Returns when the client has left."""
    await body_is_sent.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _to_unit(receive: Receive, unit: aiohttp.ClientWebSocketResponse, used: Callable[[], None]) -> None:
    while True:
        message = await receive()
        if message["type"] in ("websocket.disconnect", "http.disconnect"):
            await unit.close(code=_close_code(message.get("code")))
            return
        used()
        if message.get("text") is not None:
            await unit.send_str(message["text"])
        else:
            await unit.send_bytes(message.get("bytes") or b"")


async def _to_client(
    unit: aiohttp.ClientWebSocketResponse, send: Send, used: Callable[[], None], seconds: float
) -> None:
    async for message in unit:
        used()
        kind = "text" if message.type is aiohttp.WSMsgType.TEXT else "bytes"
        await asyncio.wait_for(send({"type": "websocket.send", kind: message.data}), seconds)
    await send({"type": "websocket.close", "code": _close_code(unit.close_code)})


def _close_code(code: int | None) -> int:
    """Some codes are never sent: that nothing was said, and that the connection broke."""
    return code if code is not None and 1000 <= code < 5000 and code not in (1005, 1006, 1015) else 1000


Headers = list[tuple[bytes, bytes]]

_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
_IDENTIFYING = (
    *(b"cookie", b"auth", b"token", b"secret", b"user", b"email", b"principal", b"identity", b"group", b"jwt"),
    *(b"session", b"forwarded", b"x-real-", b"x-aboard-", b"csrf", b"client-cert", b"ssl-", b"account", b"assertion"),
)
"""Parts of names; proxies and clouds have many for the same."""
_ALLOWED = frozenset({b"user-agent"})
_NOT_FORWARDED = frozenset({b"host", b"expect", b"origin", b"referer", b"content-length"})
_NOT_RETURNED = frozenset(
    {
        *(b"set-cookie", b"set-cookie2", b"clear-site-data", b"strict-transport-security", b"alt-svc", b"server"),
        *(b"service-worker-allowed", b"report-to", b"nel", b"reporting-endpoints", b"refresh", b"www-authenticate"),
        *(b"access-control-allow-origin", b"access-control-allow-credentials", b"proxy-authenticate", b"date"),
    }
)


def has_body(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether something follows the headers of a request."""
    found = dict(headers)
    return b"transfer-encoding" in found or found.get(b"content-length", b"0").strip(b"0") != b""


def request_headers(headers: Headers) -> Headers:
    """What the process gets of the headers of a request; the length of what is sent is the caller's to add."""
    named = _connection_headers(headers)
    return [
        (name, value)
        for name, value in ((name.lower(), value) for name, value in headers)
        if name not in _HOP_BY_HOP
        and name not in named
        and name not in _NOT_FORWARDED
        and not name.startswith((b"sec-websocket-", b"proxy-"))
        and (name in _ALLOWED or not any(part in name for part in _IDENTIFYING))
    ]


def response_headers(headers: Headers, *, endpoint: str, framed_by: bytes) -> Headers:
    """What a browser gets of the headers of the process; `framed_by` are the pages that may show it in frames."""
    named = _connection_headers(headers)
    found: Headers = []
    for name, value in ((name.lower(), value) for name, value in headers):
        if name in _HOP_BY_HOP or name in named or name in _NOT_RETURNED:
            continue
        found.append(
            (name, _relative_location(value, endpoint) if name in (b"location", b"content-location") else value)
        )
    return [
        *found,
        (b"content-security-policy", b"frame-ancestors " + framed_by),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]


def _connection_headers(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Headers that `Connection` says are for the next one alone."""
    told = [value for name, value in headers if name.lower() == b"connection"]
    return {part.strip().lower() for value in told for part in value.split(b",")}


def _relative_location(value: bytes, endpoint: str) -> bytes:
    """An address of the process itself, without where it listens: the browser reaches it elsewhere."""
    parts = urlsplit(value.decode("latin-1"))
    if parts.netloc != endpoint:
        return value
    return parts._replace(scheme="", netloc="").geturl().encode("latin-1")
