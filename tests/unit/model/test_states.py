# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest

from aboard.errors import Conflict, InvalidValue
from aboard.model.states import (
    RUN_CHANGES,
    UNIT_CHANGES,
    RunState,
    UnitState,
    check_run_change,
    check_unit_change,
    state_from,
)


def test_the_states_are_those_of_the_design():
    assert [*RunState] == ["created", "queued", "running", "preempted", "completed", "failed", "cancelled", "lost"]
    assert [*UnitState] == ["pending", "starting", "running", "stopping", "stopped", "failed", "lost"]
    assert set(RUN_CHANGES) == set(RunState)
    assert set(UNIT_CHANGES) == set(UnitState)


@pytest.mark.parametrize(
    "life",
    [
        "created queued running completed",
        "created running preempted queued running failed",
        "created running lost running completed queued",  # heard of again, and started again with the same name
        "created cancelled",
    ],
)
def test_lives_of_runs(life):
    states = [RunState(name) for name in life.split()]
    for old, new in itertools.pairwise(states):
        check_run_change("run1", old, new)


@pytest.mark.parametrize(
    "life", ["pending starting running stopping stopped starting", "starting failed", "running lost running"]
)
def test_lives_of_boards(life):
    states = [UnitState(name) for name in life.split()]
    for old, new in itertools.pairwise(states):
        check_unit_change("board", old, new)


@pytest.mark.parametrize("change", ["completed failed", "running queued", "created preempted", "completed created"])
def test_what_a_run_cannot_become(change):
    old, new = map(RunState, change.split())
    with pytest.raises(Conflict, match=f"run343 is {old} and cannot become {new}\n  hint: from {old} it can become: "):
        check_run_change("run343", old, new)


def test_what_a_board_cannot_become():
    with pytest.raises(Conflict, match="rarely-cute-man is stopped and cannot become running"):
        check_unit_change("rarely-cute-man", UnitState.STOPPED, UnitState.RUNNING)


def test_staying_the_same_is_allowed():
    for state in RunState:
        check_run_change("run1", state, state)


def test_state_names():
    assert state_from(RunState, "RUNNING", "a run") is RunState.RUNNING
    with pytest.raises(InvalidValue, match="'runing' is not a state of a run\n  hint: states are: created, queued"):
        state_from(RunState, "runing", "a run")


def test_which_states_are_ends():
    assert [state for state in RunState if state.is_ended] == ["completed", "failed", "cancelled", "lost"]
    assert [state for state in UnitState if state.is_ended] == ["stopped", "failed", "lost"]
