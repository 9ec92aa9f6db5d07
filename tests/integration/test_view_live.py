# SPDX-License-Identifier: Apache-2.0
"""Runs that are written while somebody looks: live, by several writers, preempted and restarted; files that change."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard import SummaryWriter
from support import processes
from support.event_bytes import VERSION, scalar_value, summary_record, write_event_file
from support.processes import finish, start
from support.viewing import View, eventually, viewing

TRAINING = """
    import sys, time
    from aboard import SummaryWriter
    folder, first, last, pause, value = sys.argv[1], *map(float, sys.argv[2:])
    with SummaryWriter(folder) as writer:
        for step in range(int(first), int(last)):
            writer.add_scalar("loss", value, step)
            time.sleep(pause)
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """One for all tests, each of which has a folder of its own below what it shows."""
    with viewing(tmp_path_factory.mktemp("logs")) as board:
        yield board


@pytest.fixture
def run(board: View, request: pytest.FixtureRequest) -> str:
    """The name of the test's run on the board, which is also the name of its folder."""
    return request.node.name


@pytest.fixture
def folder(board: View, run: str) -> Path:
    """The folder of the test's run."""
    return Path(board.json("data/environment")["data_location"]) / run


def points(first: int, last: int, *, value: float = 1.0, wall_time: float = 1000.0) -> list[bytes]:
    return [
        summary_record([scalar_value(b"loss", value)], step, wall_time + step - first) for step in range(first, last)
    ]


def steps(board: View, run: str, tag: str = "loss") -> list[int]:
    """The steps that the board shows; none of a run that it does not show."""
    shown = board.json("data/plugin/scalars/tags").get(run, {})
    return [step for _, step, _ in board.scalars(run, tag)] if tag in shown else []


def values(board: View, run: str) -> list[float]:
    return [value for _, _, value in board.scalars(run)]


def test_two_writers_in_one_folder(board, run, folder):
    with SummaryWriter(folder) as losses, SummaryWriter(folder) as accuracies:
        for step in range(60):
            losses.add_scalar("loss", step, step)
            accuracies.add_scalar("accuracy", step, step)
    for tag in ("loss", "accuracy"):
        eventually(lambda tag=tag: steps(board, run, tag) == list(range(60)))


def test_two_writers_of_one_curve(board, run, folder):
    """Ranks of one training that log the same tag: both histories are there, the newest of each step is shown."""
    write_event_file(folder, points(0, 20, wall_time=1000.0), "events.out.tfevents.1.rank0")
    write_event_file(folder, points(0, 30, value=2.0, wall_time=1000.5), "events.out.tfevents.1.rank1")
    eventually(lambda: steps(board, run) == list(range(30)))


def test_a_preempted_and_restarted_run_is_one_curve(board, run, folder, tmp_path):
    first = start(tmp_path, TRAINING, folder, 0, 10_000, 0.005, 1.0)
    eventually(lambda: len(steps(board, run)) > 80)
    os.kill(first.pid, signal.SIGKILL)
    finish(first)
    reached = processes.steps(folder, "loss", may_be_cut=True)[-1]
    eventually(lambda: steps(board, run)[-1] == reached)
    assert finish(start(tmp_path, TRAINING, folder, 50, reached + 50, 0.0, 2.0)).code == 0
    eventually(lambda: steps(board, run)[-1] == reached + 49)
    assert steps(board, run) == list(range(reached + 50))
    assert values(board, run) == [1.0] * 50 + [2.0] * reached
    times = [wall_time for wall_time, _, _ in board.scalars(run)]
    assert times == sorted(times)


def test_a_run_that_restarts_at_an_earlier_step(board, run, folder):
    with SummaryWriter(folder) as writer:
        for step in range(100):
            writer.add_scalar("loss", 1.0, step)
    eventually(lambda: steps(board, run) == list(range(100)))
    with SummaryWriter(folder, purge_step=30) as writer:
        for step in range(30, 60):
            writer.add_scalar("loss", 2.0, step)
    eventually(lambda: len(steps(board, run)) == 60)
    assert values(board, run) == [1.0] * 30 + [2.0] * 30


@pytest.fixture
def file(board: View, run: str, folder: Path) -> Path:
    """The event file of a run that the board shows."""
    path = write_event_file(folder, points(0, 50))
    eventually(lambda: len(steps(board, run)) == 50)
    return path


def test_a_file_that_grows_byte_by_byte(board, run, file):
    more = b"".join(points(50, 60, wall_time=1050.0))
    with file.open("ab") as growing:
        for begin in range(0, len(more), 37):
            growing.write(more[begin : begin + 37])
            growing.flush()
            seen = steps(board, run)
            assert seen == list(range(len(seen)))
    eventually(lambda: steps(board, run) == list(range(60)))
    assert board.json("api/v1/progress")["damaged_files"] == 0


def test_a_file_that_is_replaced(board, run, file, tmp_path):
    new = write_event_file(tmp_path, points(0, 70, value=7.0))
    new.replace(file)
    eventually(lambda: steps(board, run) == list(range(70)))
    assert set(values(board, run)) == {7.0}


def test_a_file_that_is_cut_and_written_again(board, run, file):
    os.truncate(file, len(VERSION) + 10)
    eventually(lambda: len(steps(board, run)) != 50)
    file.write_bytes(VERSION + b"".join(points(0, 30, value=3.0)))
    eventually(lambda: steps(board, run) == list(range(30)))


def test_a_file_that_is_rotated(board, run, file):
    file.rename(file.with_name("events.out.tfevents.0.old"))
    write_event_file(file.parent, points(50, 80, wall_time=2000.0))
    eventually(lambda: steps(board, run) == list(range(80)))


def test_files_and_folders_that_are_deleted(tmp_path):
    """Also the folder that is shown."""
    root = tmp_path / "logs"
    file, other = write_event_file(root / "run", points(0, 50)), write_event_file(root / "other", points(0, 5))
    with viewing(root) as board:
        board.wait_until_read()
        file.unlink()
        eventually(lambda: board.json("data/runs") == ["other"])
        other.unlink()
        for folder in (other.parent, file.parent, root):
            folder.rmdir()
        eventually(lambda: board.json("data/runs") == [])
        write_event_file(root / "run", points(0, 10))
        eventually(lambda: board.json("data/runs") == ["run"] and len(steps(board, "run")) == 10)
        assert board.end() == ""
