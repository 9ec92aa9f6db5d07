# SPDX-License-Identifier: Apache-2.0
"""Work that is done again and again: it goes on after failures, begins when it is woken, and ends without a rest."""

from __future__ import annotations

import logging
import threading

import pytest

from aboard.errors import CatalogUnavailable
from aboard.services.periodic_task import PeriodicTask
from support.processes import until
from support.shipping import Hands


def test_it_goes_on_after_failures_and_tells_them(caplog: pytest.LogCaptureFixture):
    calls = list[int]()

    def work() -> float:
        calls.append(len(calls))
        if calls[-1] == 0:
            raise CatalogUnavailable("the catalog is away")
        if calls[-1] == 1:
            raise ZeroDivisionError
        return 60.0

    rounds = PeriodicTask("test", work, looks_after="test things", rest_after_failure=0.01)
    with caplog.at_level(logging.WARNING, "aboard.services"):
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

    rounds = PeriodicTask("test", work, looks_after="test things", rest_after_failure=60.0)
    rounds.start()
    assert begun.acquire(timeout=60)
    rounds.wake()
    go_on.release()
    assert begun.acquire(timeout=60), "another round follows at once"
    rounds.stop()
    go_on.release()
    rounds.join(30)  # half of a rest
    assert (len(calls), rounds.is_stopped, rounds.is_alive) == (2, True, False)


class Rests(threading.Event):
    """Notes for how long somebody would rest, and lets nobody rest."""

    def __init__(self) -> None:
        super().__init__()
        self.noted = list[float | None]()

    def wait(self, timeout: float | None = None) -> bool:
        self.noted.append(timeout)
        return self.is_set()


def test_it_rests_for_longer_after_a_long_round():
    clock, rests, took = Hands(), Rests(), iter([10.0, 1.0, 1000.0])

    def work() -> float:
        seconds = next(took, None)
        if seconds is None:
            rounds.stop()
        clock.move(seconds or 0.0)
        return 7.0

    rounds = PeriodicTask(
        "test",
        work,
        looks_after="test things",
        rest_after_failure=0.0,
        rest_share=4,
        monotonic=clock,
        woken=rests,
    )
    rounds.start()
    rounds.join(60)
    assert rests.noted[:4] == [0.0, 40.0, 7.0, 300.0]
