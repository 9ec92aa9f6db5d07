# SPDX-License-Identifier: Apache-2.0
"""A periodic background task. Exceptions are logged and the loop continues."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from aboard.errors import AboardError

_log = logging.getLogger("aboard.services")
_LONGEST_REST = 300.0


class PeriodicTask:
    """Calls `work` on a thread, which returns the seconds until the next call. Nothing happens before `start`."""

    def __init__(
        self,
        name: str,
        work: Callable[[], float],
        *,
        looks_after: str,
        rest_after_failure: float,
        first_after: float = 0.0,
        rest_share: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
        woken: threading.Event | None = None,
    ) -> None:
        """`looks_after` names the subject of the task in the log. `first_after` delays the first call.

        The pause between two calls is at least `rest_share` times as long as the last call took. Calls are timed with
        `monotonic`, and pauses are waits for `woken`.
        """
        self._work, self._looks_after = work, looks_after
        self._rest_after_failure, self._first_after, self._rest_share = rest_after_failure, first_after, rest_share
        self._monotonic = monotonic
        self._woken = woken or threading.Event()
        self._thread = threading.Thread(target=self._repeat, name=name, daemon=True)
        self.is_stopped = False
        """For long calls of `work`: start nothing more."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Make the next call now, or directly after one that is under way."""
        self._woken.set()

    def stop(self) -> None:
        """Make no further call."""
        self.is_stopped = True
        self._woken.set()

    @property
    def is_alive(self) -> bool:
        """Whether the thread has started and not ended."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the end of a call that is under way, at most so long."""
        if self.is_alive:
            self._thread.join(seconds)

    def _repeat(self) -> None:
        rest = self._first_after
        while True:
            self._woken.wait(rest)
            self._woken.clear()  # before `is_stopped` is read, or a stop in between would wait for a whole pause
            if self.is_stopped:
                return
            began = self._monotonic()
            rest = self._call()
            if self._rest_share:
                rest = max(rest, min((self._monotonic() - began) * self._rest_share, _LONGEST_REST))

    def _call(self) -> float:
        try:
            return self._work()
        except AboardError as error:
            _log.warning("%s are looked after later: %s", self._looks_after.capitalize(), error.message)
        except Exception:
            _log.exception("Looking after %s failed", self._looks_after)
        return self._rest_after_failure
