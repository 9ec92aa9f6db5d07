# SPDX-License-Identifier: Apache-2.0
"""An application served on a socket until somebody interrupts it."""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from aboard.server.connections import ConnectionLimits, LimitedConfig
from aboard.server.short_answers import ASGIApp

_LAST_ANSWERS_SECONDS = 1


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
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
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
