# SPDX-License-Identifier: Apache-2.0
"""Server-sent events: changes as they happen, to one watcher, for as long as it keeps up."""

from __future__ import annotations

import asyncio
import contextlib
import time

import orjson
from fastapi import Response

from aboard.api.wire import to_wire
from aboard.model.access import Access
from aboard.model.names import folded
from aboard.server.short_answers import Receive, Scope, Send
from aboard.services.changes import Change, Changes, News

HEARTBEAT_SECONDS = 15.0
_SLOWEST_SECONDS = 20.0  # a client that takes nothing for so long is let go; it comes back when it can
_LIFETIME_SECONDS = 900.0  # who may see what is asked anew then
_RETRY = b"retry: 2000\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


class EventStream(Response):
    """An answer that goes on: what came behind `last_id`, and then what comes.

    A watcher that missed something, because it was away for long or because the server is another one now, gets
    `resync`: it looks at everything anew, and follows from there.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        changes: Changes,
        access: Access,
        *,
        last_id: str = "",
        workspaces: frozenset[str] = frozenset(),
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._changes, self._access, self._heartbeat = changes, access, heartbeat
        self._workspaces = workspaces
        position = changes.position_of(last_id) if last_id else changes.position
        self._position = -1 if position is None else position

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(news.set)

        end_watching = self._changes.watch(wake)
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await self._send(send, _RETRY + b": welcome\n\n")
            await self._follow(send, news, gone)
            await self._send(send, b"", more=False)
        except (TimeoutError, OSError):
            return
        finally:
            end_watching()
            gone.cancel()

    async def _follow(self, send: Send, news: asyncio.Event, gone: asyncio.Future[None]) -> None:
        end = time.monotonic() + _LIFETIME_SECONDS
        while not gone.done() and not self._changes.is_closed and time.monotonic() < end:
            news.clear()
            told = self._told(self._changes.since(self._position))
            if told:
                await self._send(send, told)
                continue
            waiting = asyncio.ensure_future(news.wait())
            done, _ = await asyncio.wait({waiting, gone}, timeout=self._heartbeat, return_when="FIRST_COMPLETED")
            waiting.cancel()
            if not done:
                await self._send(send, b": still here\n\n")

    def _told(self, news: News) -> bytes:
        self._position = news.position
        identity = self._changes.text_of(news.position)
        if not news.is_whole:
            return _event("resync", identity, {})
        parts = [
            _event(change.kind, self._changes.text_of(change.number), change.facts)
            for change in news.changes
            if self._may_hear(change)
        ]
        return b"".join(parts)

    def _may_hear(self, change: Change) -> bool:
        if not change.workspace:
            return True
        is_wanted = not self._workspaces or folded(change.workspace) in self._workspaces
        return is_wanted and all(map(self._access.sees, (change.workspace, *change.beside)))

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await asyncio.wait_for(send(message), _SLOWEST_SECONDS)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(kind: str, identity: str, facts: object) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (identity.encode(), kind.encode(), orjson.dumps(to_wire(facts)))
