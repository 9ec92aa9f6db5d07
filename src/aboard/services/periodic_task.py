# SPDX-License-Identifier: Apache-2.0
"""A thread that does the same work again and again, rests in between, and outlives every failure of it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from aboard.errors import AboardError

_log = logging.getLogger("aboard.services")
_LONGEST_REST = 300.0


class PeriodicTask:
    """Calls `work`, which says in how many seconds to call it again. Nothing happens before `start`."""

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
        """`looks_after` stands in the log. It rests at least `rest_share` times as long as a round took.

        It measures rounds with `monotonic` and rests by waiting for `woken`.
        """
        self._work, self._looks_after = work, looks_after
        self._rest_after_failure, self._first_after, self._rest_share = rest_after_failure, first_after, rest_share
        self._monotonic = monotonic
        self._woken = woken or threading.Event()
        self._thread = threading.Thread(target=self._repeat, name=name, daemon=True)
        self.is_stopped = False
        """For work that takes long: nothing more is to be begun."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Have the next round now; one that is under way is followed by another at once."""
        self._woken.set()

    def stop(self) -> None:
        """Begin no other round."""
        self.is_stopped = True
        self._woken.set()

    @property
    def is_alive(self) -> bool:
        """Whether it has begun and not ended."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the end of what is being done, but no longer than this."""
        if self.is_alive:
            self._thread.join(seconds)

    def _repeat(self) -> None:
        rest = self._first_after
        while True:
            self._woken.wait(rest)
            self._woken.clear()  # before the look at `is_stopped`, or a stop in between would wait for a whole rest
            if self.is_stopped:
                return
            began = self._monotonic()
            rest = self._round()
            if self._rest_share:
                rest = max(rest, min((self._monotonic() - began) * self._rest_share, _LONGEST_REST))

    def _round(self) -> float:
        try:
            return self._work()
        except AboardError as error:
            _log.warning("%s are looked after later: %s", self._looks_after.capitalize(), error.message)
        except Exception:
            _log.exception("Looking after %s failed", self._looks_after)
        return self._rest_after_failure
