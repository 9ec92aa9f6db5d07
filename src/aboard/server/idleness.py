# SPDX-License-Identifier: Apache-2.0
"""Ends a private server of which nobody has asked anything for a while."""

from __future__ import annotations

import os
import signal
import threading
import time

from starlette.types import ASGIApp, Receive, Scope, Send


class IdleStop:
    """Passes requests on, and ends the process `seconds` after the last one was answered."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds
        self._open = 0
        self._last = time.monotonic()
        threading.Thread(target=self._watch, name="aboard-idle", daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._last = time.monotonic()

    def _watch(self) -> None:
        while True:
            left = self._last + self._seconds - time.monotonic()
            if left <= 0 and not self._open:
                os.kill(os.getpid(), signal.SIGTERM)
                return
            time.sleep(min(max(left, 0.1), 60.0))
