# SPDX-License-Identifier: Apache-2.0
"""`/api/v1/events`: changes as server-sent events, and the change position in the headers of API responses.

A client that reads from the position in `X-Changes` misses no change that its response did not include yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Annotated

import orjson
from starlette.responses import Response
from starlette.routing import Route

from aboard.api import PREFIX
from aboard.api.wire import to_wire
from aboard.model.names import folded
from aboard.model.people import Access
from aboard.server.http.asgi import ASGIApp, Message, Receive, Scope, Send
from aboard.server.routes.binding import Header, Query
from aboard.server.routes.operations import CurrentAccess, Operations
from aboard.server.routes.parameters import Workspaces
from aboard.services.changes import ChangeBatch, ChangeBus, ChangeEvent

if TYPE_CHECKING:
    from aboard.services.services import Services

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
        changes: ChangeBus,
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
        gone = asyncio.ensure_future(_wait_for_disconnect(receive))
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
            content = self._encode(self._changes.since(self._position))
            if content:
                await self._send(send, content)
                continue
            waiting = asyncio.ensure_future(news.wait())
            done, _ = await asyncio.wait({waiting, gone}, timeout=self._heartbeat, return_when="FIRST_COMPLETED")
            waiting.cancel()
            if not done:
                await self._send(send, b": still here\n\n")

    def _encode(self, news: ChangeBatch) -> bytes:
        self._position = news.position
        identity = self._changes.text_of(news.position)
        if not news.is_whole:
            return _encode_event("resync", identity, {})
        parts = [
            _encode_event(change.kind, self._changes.text_of(change.number), change.facts)
            for change in news.changes
            if self._may_hear(change)
        ]
        return b"".join(parts)

    def _may_hear(self, change: ChangeEvent) -> bool:
        if not change.workspace:
            return True
        is_wanted = not self._workspaces or folded(change.workspace) in self._workspaces
        return is_wanted and all(map(self._access.sees, (change.workspace, *change.beside)))

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await asyncio.wait_for(send(message), _SLOWEST_SECONDS)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _encode_event(kind: str, identity: str, facts: object) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (identity.encode(), kind.encode(), orjson.dumps(to_wire(facts)))


class EventRoutes:
    """Answers who wants to be told."""

    def __init__(self, control: Services) -> None:
        self._control = control

    def routes(self) -> list[Route]:
        operations = Operations("events")
        operations.add("GET", "events", self.watch, content={"text/event-stream": bytes})
        return operations.routes

    def watch(
        self,
        workspaces: Workspaces,
        access: CurrentAccess,
        last_event_id: Annotated[str, Header(description="As browsers send it when they come back.")] = "",
        after: Annotated[str, Query(description="The same, for who cannot send headers.")] = "",
    ) -> Response:
        """Server-sent events, each with an id.

        `run` has `uid`, `number`, `name`, `workspace`, `experiment`, `status`, `deleted` and `changed`, which has
        `seen` the first time this server hears of a run, else some of `status`, `metrics`, `document`, `deleted`,
        `restored`, `moved` and `purged`. `board` has `id`, `name`, `owner`, `workspace`, `state`, `run_count` and
        `changed`: `create`, `reopen`, `start`, `stop`, `kill`, `change`, `delete`, `end` or `runs`. `resync` means that
        something was missed: look at everything anew. The stream ends after a quarter of an hour; come back with the
        last id. Every answer of the API has an id in `X-Changes`: who asks for what comes `after` it misses nothing.
        """
        return EventStream(
            self._control.changes,
            access,
            last_id=last_event_id or after,
            workspaces=frozenset(map(folded, workspaces)),
        )


_HEADER = b"x-changes"


class ChangePositionMiddleware:
    """Adds the position of the change bus to API responses, in `X-Changes`."""

    def __init__(self, app: ASGIApp, changes: ChangeBus) -> None:
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
