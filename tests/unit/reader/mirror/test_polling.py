# SPDX-License-Identifier: Apache-2.0
"""How often a store is read: soon after a change, less and less often while nothing changes."""

from __future__ import annotations

import pytest

from aboard.reader.mirror.polling import PollSchedule

SPREAD = 0.1  # a pause is up to a tenth shorter, so that many runs are not asked in the same moment


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> PollSchedule:
    return PollSchedule(1.0, 8.0, 2.0, clock)


def pause(pace: PollSchedule, clock: Clock) -> float:
    return pace.due_at - clock.now


def test_the_first_question_is_due_at_once(pace: PollSchedule):
    assert pace.is_due()


def test_pauses_grow_to_the_longest_while_nothing_changes(pace: PollSchedule, clock: Clock):
    for expected in (1.0, 2.0, 4.0, 8.0, 8.0):
        pace.unchanged()
        assert not pace.is_due()
        assert expected * (1 - SPREAD) <= pause(pace, clock) <= expected
        clock.now = pace.due_at
        assert pace.is_due()


def test_a_change_makes_the_pause_short_again(pace: PollSchedule, clock: Clock):
    for _ in range(4):
        pace.unchanged()
    pace.changed()
    assert pause(pace, clock) <= 1.0


def test_a_run_without_a_sign_of_life_is_asked_even_less(pace: PollSchedule, clock: Clock):
    for _ in range(10):
        pace.unchanged(60.0)
    assert 60.0 * (1 - SPREAD) <= pause(pace, clock) <= 60.0


def test_never_and_at_once(pace: PollSchedule, clock: Clock):
    pace.never()
    clock.now += 1e9
    assert not pace.is_due()
    pace.at_once()
    assert pace.is_due()
    pace.unchanged()
    assert pause(pace, clock) <= 1.0
