# SPDX-License-Identifier: Apache-2.0
"""A board ends with its experiment though its executor does not always answer; and its newest token is the one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

from aboard.errors import AboardError, ExecutorUnavailable, UnitRefused, UnknownName
from aboard.executors.executor import Executor
from aboard.jobs import board_ending, experiment_board
from aboard.jobs.board_ending import BoardEnding
from aboard.jobs.experiment_board import ExperimentBoard
from aboard.model.names import new_uid
from aboard.model.states import UnitState
from aboard.model.units import Endpoint, UnitHandle, UnitSpec, UnitStatus


@dataclass(frozen=True)
class Board(Executor):
    """One unit, and what its calls are answered with before they are done."""

    name: ClassVar[str] = "slurm"
    is_on_network: ClassVar[bool] = True

    stops: list[AboardError] = field(default_factory=list)
    looks: list[AboardError] = field(default_factory=list)
    states: list[UnitState] = field(default_factory=lambda: [UnitState.RUNNING])

    def submit(self, spec: UnitSpec) -> UnitHandle:
        raise AssertionError("to end a board nothing is submitted, looked for or forgotten")

    def find(self, unit: str) -> UnitHandle | None:
        raise AssertionError("to end a board nothing is submitted, looked for or forgotten")

    def status(self, handle: UnitHandle) -> UnitStatus:
        if self.looks:
            raise self.looks.pop(0)
        return UnitStatus(state=self.states[-1])

    def logs(self, handle: UnitHandle, *, start: int = 0, follow: bool = False) -> Iterator[bytes]:
        yield b"aboard at http://node:6006/?token=first\nslurm: requeued\naboard at http://node:6006/?to"
        yield b"ken=second-one\n"

    def stop(self, handle: UnitHandle, *, grace: float | None = None) -> None:
        if self.stops:
            raise self.stops.pop(0)
        self.states.append(UnitState.STOPPED)

    def endpoint(self, handle: UnitHandle, port: str = "http") -> Endpoint | None:
        return Endpoint(host="node", port=6006)

    def forget(self, handle: UnitHandle) -> None:
        raise AssertionError("to end a board nothing is submitted, looked for or forgotten")


HANDLE = UnitHandle(executor="slurm", unit=new_uid(), options={}, place={})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("stops", "looks"),
    [
        ([ExecutorUnavailable("no answer"), UnitRefused("busy")], []),
        ([], [ExecutorUnavailable("no answer"), UnitRefused("busy")]),
    ],
)
def test_calls_without_an_answer_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: list[AboardError], looks: list[AboardError]
) -> None:
    board = Board(stops=stops, looks=looks)
    monkeypatch.setattr(board_ending, "executor_of", lambda _: board)
    ending = BoardEnding(board=HANDLE.text(), experiment="nobody", lock=str(tmp_path / "absent" / "open"))
    board_ending.work(ending, poll_seconds=0)
    assert (board.states, stops, looks) == ([UnitState.RUNNING, UnitState.STOPPED], [], [])


def test_it_stays_for_a_delay_after_the_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = 0.0
    board = Board()

    def clock() -> float:
        nonlocal at
        at += 0.25 if board.states == [UnitState.RUNNING] else 0.0
        return at

    monkeypatch.setattr(board_ending, "executor_of", lambda _: board)
    lock = str(tmp_path / "absent" / "open")
    ending = BoardEnding(board=HANDLE.text(), experiment="nobody", lock=lock, delay=6.0)
    board_ending.work(ending, poll_seconds=0, clock=clock)
    assert at == 6.25, "the first call of the clock is the end of the experiment"


def test_a_board_that_is_not_known_any_more_needs_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board(looks=[UnknownName("no such unit")])
    monkeypatch.setattr(board_ending, "executor_of", lambda _: board)
    board_ending.work(BoardEnding(board=HANDLE.text(), experiment="nobody"), poll_seconds=0)
    assert board.states == [UnitState.RUNNING]


def test_the_token_of_a_board_that_was_queued_again_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_board, "executor_of", lambda _: Board())
    assert ExperimentBoard(HANDLE).app_uri == "http://node:6006/?token=second-one"
