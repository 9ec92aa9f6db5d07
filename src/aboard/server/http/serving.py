# SPDX-License-Identifier: Apache-2.0
"""Serve an application with uvicorn: connection limits, signals, and shutdown when idle.

uvicorn limits neither the number of connections nor slow clients, so a few hundred clients that send half a request
would take every file descriptor of the server. A response may take as long as it likes while the client reads it:
event streams and downloads are not cut.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from aboard.server.http.asgi import ASGIApp, Receive, Scope, Send

_log = logging.getLogger("aboard.server")
_SLOWEST_BODY = 1_000  # bytes a second, beyond the time that every request has
_MOST_BY_DEFAULT = 4096
_WARN_SECONDS = 60.0


def _plain_response(status: bytes, text: bytes) -> bytes:
    head = b"HTTP/1.1 %s\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: text/plain; charset=utf-8\r\n" % status
    return head + b"content-length: %d\r\n\r\n%s" % (len(text), text)


_FULL = _plain_response(b"503 Service Unavailable", b"The server has no free connection. Try again in a second.\n")
_TOO_SLOW = _plain_response(b"408 Request Timeout", b"The request took too long to arrive.\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What one client may keep busy. Times are in seconds."""

    most: int = 0
    """Connections at once; 0 for half of the file descriptors of the process, at most 4096."""
    header_seconds: float = 10
    body_seconds: float = 30
    """For a body, and one second more for each kB of it."""
    stalled_seconds: float = 300
    """Without a byte of the response being read."""

    def most_here(self) -> int:
        """How many connections this process may have."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        half = _MOST_BY_DEFAULT if files == resource.RLIM_INFINITY else files // 2
        return self.most or max(1, min(half, _MOST_BY_DEFAULT))


class LimitedConfig(uvicorn.Config):
    """A configuration of uvicorn with limits of connections, which `LimitedConnection` keeps."""

    def __init__(self, app: Any, limits: ConnectionLimits, **settings: Any) -> None:
        super().__init__(app, http=LimitedConnection, **settings)
        self.limits, self.most_connections = limits, limits.most_here()
        self.warned_at = float("-inf")


class LimitedConnection(H11Protocol):
    """One connection.

    A single timer looks at it from time to time, so what arrives costs nothing but a note of the moment.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, in place of the one that has been idle for longest when there are too many."""
        super().connection_made(transport)
        self._limits = cast(LimitedConfig, self.config).limits
        self._since = self.loop.time()  # when the client began to owe what it owes
        self._has_begun = False  # whether a part of the next headers has arrived
        self._body_of, self._body_bytes = cast(Any, None), 0
        self._unread, self._unread_since = 0, self._since
        self._timer: asyncio.TimerHandle | None = None
        if len(self.connections) > cast(LimitedConfig, self.config).most_connections and not self._replace_idle():
            transport.write(_FULL)
            transport.close()
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_looking()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave it to the WebSocket, which finds out by pings whether the client is there."""
        self._stop_looking()
        super().handle_websocket_upgrade(event)

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.SEND_BODY:
            self._body_bytes += len(data)
        elif self.is_idle and not self._has_begun:
            self._has_begun, self._since = True, self.loop.time()
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle what is complete, also of requests that arrived while an earlier one was answered."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._has_begun = False
        if self.conn.their_state is h11.SEND_BODY and self._body_of is not self.cycle:
            self._body_of, self._body_bytes, self._since = self.cycle, 0, self.loop.time()

    def resume_writing(self) -> None:
        """Go on sending: the client has read enough."""
        self._unread_since = self.loop.time()
        super().resume_writing()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way: the client has not sent the headers of the next one."""
        cycle = cast(Any, self.cycle)
        return self.conn.their_state is h11.IDLE and (cycle is None or cycle.response_complete)

    @property
    def idle_since(self) -> float:
        """When the client began to send the headers that are still missing, or to send nothing."""
        return self._since

    def _replace_idle(self) -> bool:
        """End the connection that has been idle for longest. False if there is none but this one."""
        config = cast(LimitedConfig, self.config)
        if self.loop.time() - config.warned_at > _WARN_SECONDS:
            config.warned_at = self.loop.time()
            _log.warning("All %d connections are in use; see serve.connections", config.most_connections)
        others = cast("set[Any]", self.connections) - {self}
        idle: list[LimitedConnection] = [one for one in others if isinstance(one, LimitedConnection) and one.is_idle]
        if not idle:
            return False
        min(idle, key=lambda one: one.idle_since).transport.abort()
        return True

    def _look_later(self) -> None:
        limits = self._limits
        # Often enough that nobody has a quarter more time than is allowed.
        shortest = min(limits.header_seconds, limits.body_seconds, limits.stalled_seconds)
        self._timer = self.loop.call_later(shortest / 4, self._look)

    def _stop_looking(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now = self.loop.time()
        if self._is_stalled(now):
            self.transport.abort()  # to close would wait until the client has read what was sent
        elif not self.transport.is_closing() and self._is_late(now):
            if self._has_begun:
                self.transport.write(_TOO_SLOW)
            self.transport.close()
        self._look_later()

    def _is_stalled(self, now: float) -> bool:
        unread = self.transport.get_write_buffer_size()
        if not unread or unread != self._unread:
            self._unread, self._unread_since = unread, now
        # What was sent with the last response before the connection is closed is not worth so much time.
        seconds = self._limits.body_seconds if self.transport.is_closing() else self._limits.stalled_seconds
        return now - self._unread_since > seconds

    def _is_late(self, now: float) -> bool:
        if self.is_idle:
            return self.timeout_keep_alive_task is None and now - self._since > self._limits.header_seconds
        if self.conn.their_state is not h11.SEND_BODY:
            return False
        cycle = cast(Any, self.cycle)
        if self.flow.read_paused or cycle.waiting_for_100_continue:
            self._since, self._body_bytes = now, 0  # it is the server that takes its time
        return now - self._since > self._limits.body_seconds + self._body_bytes / _SLOWEST_BODY


_GRACE_SECONDS = 1


def serve(
    app: ASGIApp,
    listener: socket.socket,
    ending: Callable[[], None] | None = None,
    *,
    second: socket.socket | None = None,
    limits: ConnectionLimits | None = None,
) -> None:
    """Serve until Ctrl-C, after which KeyboardInterrupt is raised, or until SIGTERM, which then ends the process.

    `second` is another socket with the same application. `ending` is called first, on a thread: answers that go on
    for ever are to come to their end.
    """
    server = _Server(server_config(app, limits), ending)
    # Before uvicorn does it itself: an interrupt in the midst of asyncio's beginning would leave it half made.
    before = signal.signal(signal.SIGINT, server.handle_exit)
    try:
        server.run(sockets=[listener] if second is None else [listener, second])
    finally:
        signal.signal(signal.SIGINT, before)
    if server.was_interrupted:
        raise KeyboardInterrupt


def server_config(app: ASGIApp, limits: ConnectionLimits | None = None) -> uvicorn.Config:
    """How uvicorn serves an application."""
    return LimitedConfig(
        app,
        limits or ConnectionLimits(),
        access_log=False,
        log_config=None,  # uvicorn's own needs a terminal
        log_level="warning",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        proxy_headers=False,  # it would take the word of anybody on this machine for where a request comes from
        server_header=False,
    )


class _Server(uvicorn.Server):
    was_interrupted = False

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; that answers to nobody are cut short then is no error to be told."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.was_interrupted = self.was_interrupted or sig == signal.SIGINT
        if self._ending is not None:  # not here: a signal may come while this very thread holds a lock
            threading.Thread(target=self._ending, name="aboard-ending", daemon=True).start()
        super().handle_exit(sig, frame)


_IDLE_CHECK_SECONDS = 1.0


class IdleShutdown:
    """Passes requests on, and ends the process `seconds` after the last one was answered, or when `is_found` is false:
    somebody has removed the file that tells where it is, perhaps with the whole home folder. As long as `is_needed`
    says so, for a board that somebody may come back to, it is not idle.
    """

    def __init__(
        self,
        app: ASGIApp,
        seconds: float,
        is_found: Callable[[], bool],
        is_needed: Callable[[], bool] = lambda: False,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._seconds, self._is_found, self._is_needed = app, seconds, is_found, is_needed
        self._clock = clock
        self._open = 0
        self._last = clock()

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="aboard-idle", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether the process is to end now."""
        if self._open:
            return False
        is_idle = self._left() <= 0 and not self._is_needed()
        return is_idle or not self._is_found()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._last = self._clock()

    def _watch(self) -> None:
        while not self.is_over:
            left = self._left()
            time.sleep(min(max(left, 0.1), _IDLE_CHECK_SECONDS) if left > 0 else _IDLE_CHECK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    def _left(self) -> float:
        """Seconds until it is idle."""
        return self._last + self._seconds - self._clock()
