# SPDX-License-Identifier: Apache-2.0
"""Ends a private server that nobody has asked for a while, or that nobody can find any more."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from aboard.server.short_answers import ASGIApp, Receive, Scope, Send

_LOOK_SECONDS = 1.0


class IdleStop:
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
            time.sleep(min(max(left, 0.1), _LOOK_SECONDS) if left > 0 else _LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    def _left(self) -> float:
        """Seconds until it is idle."""
        return self._last + self._seconds - self._clock()
