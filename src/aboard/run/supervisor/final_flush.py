# SPDX-License-Identifier: Apache-2.0
"""The end of an attempt: ships the rest within a time limit, and tells what is left and how to finish it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from aboard.run.environment import RunPlace
from aboard.run.supervisor.attempt import LiveAttempt, Outcome
from aboard.run.supervisor.destination import Destination
from aboard.run.supervisor.shipping import is_complete
from aboard.run.supervisor.talk import Talk
from aboard.upload import ShippingState

_SAY_SECONDS = 5.0
RESTART_SECONDS = 10.0
FAILING_STORE_SECONDS = 1.0


class _AskedToEnd(Exception):
    """Nobody waits any more for an end that is not the last one."""


class FinalFlush:
    """Ships the rest. Ctrl-C stops waiting; a scheduler that asks to end is not heard, because that is what it does.

    Where the command is to be started again, both are heard by the command's own handlers, and end the waiting.
    """

    def __init__(
        self, live: LiveAttempt, destination: Destination, talk: Talk, timeout: float, *, must_ship: bool = False
    ) -> None:
        self._live = live
        self._must_ship = must_ship
        self._destination = destination
        self._talk = talk
        self._timeout = timeout
        self._goes_on = False
        self._is_asked: Callable[[], bool] = lambda: False
        self._say_time = time.monotonic() + _SAY_SECONDS

    def hurry(self, is_asked: Callable[[], bool]) -> None:
        """The command is to be started again, and what is not shipped by then is shipped while it runs.

        `is_asked` says whether somebody wants the end meanwhile: another flush is then to tell of that.
        """
        self._goes_on, self._is_asked = True, is_asked
        store_fails = any(state.error for state in self._live.states)
        self._timeout = min(self._timeout, FAILING_STORE_SECONDS if store_fails else RESTART_SECONDS)

    def run(self, place: RunPlace, outcome: Outcome) -> bool:
        """Ship, and say how it went; whether nothing is left."""
        self._say_time = time.monotonic() + 1
        if not self._goes_on and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, _stop_waiting)
        try:
            states = self._live.finish(outcome, self._timeout, self._waiting)
        except _AskedToEnd:
            return False
        except KeyboardInterrupt:
            states = self._live.states
        how = f"{place.name} {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else "")
        if is_complete(states):
            self._talk.say(f"{how}; {states[0]}")
            return True
        has_left = False
        for state in states:
            if state.is_superseded:
                self._talk.warn(f"{how}; a later attempt has taken the run, so nothing more was shipped from here")
            elif state.files_left or not state.is_sealed:
                has_left = True
                self._talk.warn(f"{how}; {state}")
                if not self._goes_on:
                    self._talk.warn(self._advice())
        return not has_left

    def _advice(self) -> str:
        if self._must_ship:
            return "that is lost when this disk is; the run has failed"
        return f"everything is kept here; finish it with: aboard sync {self._destination.folder}"

    def _waiting(self, states: list[ShippingState]) -> None:
        if self._is_asked():
            raise _AskedToEnd
        if time.monotonic() >= self._say_time:
            self._say_time = time.monotonic() + _SAY_SECONDS
            hint = "" if self._goes_on else " (Ctrl-C stops waiting)"
            self._talk.say(f"shipping what is left: {'; '.join(map(str, states))}{hint}")


def _stop_waiting(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
