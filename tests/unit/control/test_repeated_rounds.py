# SPDX-License-Identifier: Apache-2.0
"""Work that is done again and again: it goes on after failures, begins when it is woken, and ends without a rest."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from aboard.control.repeated_rounds import RepeatedRounds
from aboard.errors import CatalogUnavailable
from support.processes import until


def test_it_goes_on_after_failures_and_tells_them(caplog: pytest.LogCaptureFixture):
    calls = list[int]()

    def work() -> float:
        calls.append(len(calls))
        if calls[-1] == 0:
            raise CatalogUnavailable("the catalog is away")
        if calls[-1] == 1:
            raise ZeroDivisionError
        return 60.0

    rounds = RepeatedRounds("test", work, looks_after="test things", rest_after_failure=0.01)
    with caplog.at_level(logging.WARNING, "aboard.control"):
        rounds.start()
        until(lambda: len(calls) == 3)
    rounds.stop()
    rounds.join(60)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["Test things are looked after later: the catalog is away", "Looking after test things failed"]


def test_a_wake_or_a_stop_during_a_round_is_not_lost():
    begun, go_on, calls = threading.Semaphore(0), threading.Semaphore(0), list[int]()

    def work() -> float:
        calls.append(1)
        begun.release()
        assert go_on.acquire(timeout=60)
        return 60.0

    rounds = RepeatedRounds("test", work, looks_after="test things", rest_after_failure=60.0)
    rounds.start()
    assert begun.acquire(timeout=60)
    rounds.wake()
    go_on.release()
    assert begun.acquire(timeout=60), "another round follows at once"
    began = time.monotonic()
    rounds.stop()
    go_on.release()
    rounds.join(60)
    assert (len(calls), rounds.is_stopped, time.monotonic() - began < 30) == (2, True, True)


def test_it_rests_for_longer_after_a_long_round():
    at = list[float]()

    def work() -> float:
        at.append(time.monotonic())
        time.sleep(0.1)
        return 0.0

    rounds = RepeatedRounds("test", work, looks_after="test things", rest_after_failure=0.0, rest_share=4)
    rounds.start()
    until(lambda: len(at) >= 2)
    rounds.stop()
    rounds.join(60)
    assert at[1] - at[0] >= 0.5
