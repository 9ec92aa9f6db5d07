# SPDX-License-Identifier: Apache-2.0
"""All runs below folders, found and followed."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboardX import SummaryWriter as PeerWriter

from aboard import SummaryWriter
from aboard.reader.run_collection import Follower, RunCollection


def log(folder: Path, *steps: int) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in steps:
            writer.add_scalar("loss", step, step)


def steps(collection: RunCollection, run: str) -> list[int]:
    return collection.runs[run].by_plugin("scalars")["loss"].points().steps.tolist()


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def test_runs_of_several_roots(tmp_path: Path) -> None:
    log(tmp_path / "one", 1)
    log(tmp_path / "one" / "train", 1, 2)
    log(tmp_path / "two" / "deep" / "er", 1, 2, 3)
    collection = RunCollection({"": tmp_path / "one", "other": tmp_path / "two", "same": tmp_path / "one"})
    assert not collection.runs
    assert collection.refresh()
    assert set(collection.runs) == {".", "train", "other/deep/er", "same", "same/train"}
    assert steps(collection, "other/deep/er") == [1, 2, 3]
    assert collection.roots["other"] == tmp_path / "two"
    assert not collection.refresh()


def test_runs_come_grow_and_go(tmp_path: Path) -> None:
    collection = RunCollection({"": tmp_path})
    assert not collection.refresh()
    log(tmp_path / "a", 1)
    assert collection.refresh()
    runs = collection.runs
    first = runs["a"]
    log(tmp_path / "a", 2)
    log(tmp_path / "b", 1)
    assert collection.refresh()
    assert list(runs) == ["a"]  # who holds the mapping keeps what it saw
    assert collection.runs["a"] is first
    assert steps(collection, "a") == [1, 2]
    shutil.rmtree(tmp_path / "a")
    assert collection.refresh()
    assert set(collection.runs) == {"b"}
    assert collection.progress.runs_read == 1


def test_progress(tmp_path: Path) -> None:
    before = time.time()
    for run in range(5):
        log(tmp_path / str(run), 1)
    collection = RunCollection({"": tmp_path})
    assert collection.progress.runs_found == 0
    collection.refresh()
    progress = collection.progress
    assert (progress.runs_read, progress.runs_found, progress.cycles) == (5, 5, 1)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*tfevents*"))
    assert progress.bytes_read == size
    assert before <= progress.newest_wall_time <= time.time()


def test_files_that_come_to_nothing_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.tfevents").touch()
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "a.tfevents").write_bytes(os.urandom(100_000))
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "a.tfevents")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "a.tfevents").symlink_to("a.tfevents")
    log(tmp_path / "good", 1)
    collection = RunCollection({"": tmp_path})
    collection.refresh()
    assert steps(collection, "good") == [1]
    for name in ("empty", "noise", "pipe", "loop"):
        assert collection.runs[name].plugins() == set()
    assert not collection.refresh()
    assert collection.progress.newest_wall_time > 0


@pytest.mark.parametrize("make", [SummaryWriter, PeerWriter], ids=["aboard", "tensorboardX"])
def test_a_follower_shows_what_is_written(tmp_path: Path, make: type) -> None:
    collection = RunCollection({"": tmp_path})
    follower = Follower(collection, 0.01)
    writer = make(str(tmp_path / "run"))
    follower.start()

    def shows(step: int) -> bool:
        writer.flush()
        run = collection.runs.get("run")
        return run is not None and "scalars" in run.plugins() and steps(collection, "run")[-1:] == [step]

    try:
        for step in range(5):
            writer.add_scalar("loss", step, step)
            assert within(10, lambda: shows(step))  # noqa: B023
    finally:
        follower.stop()
        writer.close()
    cycles = collection.progress.cycles
    time.sleep(0.05)
    assert collection.progress.cycles == cycles


def test_a_follower_survives_a_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    collection = RunCollection({"": tmp_path})
    refresh, failed = collection.refresh, threading.Event()

    def fail_once() -> bool:
        if not failed.is_set():
            failed.set()
            raise MemoryError
        return refresh()

    collection.refresh = fail_once  # type: ignore[method-assign]
    follower = Follower(collection, 0.01)
    follower.start()
    log(tmp_path / "a", 1)
    assert within(5, lambda: "a" in collection.runs)
    follower.stop()
    assert "reading new points failed" in caplog.text


def test_very_many_runs(tmp_path: Path) -> None:
    log(tmp_path / "0", *range(20))
    (file,) = (tmp_path / "0").iterdir()
    for run in range(1, 300):
        (tmp_path / str(run)).mkdir()
        shutil.copy(file, tmp_path / str(run) / file.name)
    collection = RunCollection({"": tmp_path})
    collection.refresh()
    assert len(collection.runs) == 300
    assert all(steps(collection, name) == list(range(20)) for name in collection.runs)
