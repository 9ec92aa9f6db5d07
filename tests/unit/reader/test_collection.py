# SPDX-License-Identifier: Apache-2.0
"""All runs below folders, found and followed."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboardX import SummaryWriter as PeerWriter

from aboard import SummaryWriter
from aboard.reader import collection as collection_module
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.index import IndexCache
from support.privileges import folder_of_an_ordinary_user

WAYS = {"notified": {}, "polled": {"notifications": False}, "few watches": {"most_watches": 1}}
in_each_way = pytest.mark.parametrize("options", WAYS.values(), ids=WAYS.keys())


def log(folder: Path, *steps: int) -> None:
    with SummaryWriter(str(folder)) as writer:
        for step in steps:
            writer.add_scalar("loss", step, step)


def steps(collection: RunCollection, run: str) -> list[int]:
    return collection.runs[run].by_plugin("scalars")["loss"].points().steps.tolist()


@contextlib.contextmanager
def followed(collection: RunCollection, interval: float = 0.05) -> Iterator[RunCollection]:
    follower = Follower(collection, interval, rest_after_failure=interval)
    follower.start()
    try:
        yield collection
    finally:
        follower.stop()


def shows(collection: RunCollection, expected: dict[str, list[int]]) -> bool:
    def seen() -> dict[str, list[int]]:
        runs = collection.runs.items()
        return {name: steps(collection, name) if "scalars" in run.plugins() else [] for name, run in runs}

    return within(60, lambda: seen() == expected) or seen() == expected


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


def test_runs_keep_the_order_of_their_folders_whatever_comes_first(tmp_path: Path) -> None:
    collection = RunCollection({"z": tmp_path / "z", "": tmp_path / "a"})
    for runs in (["a/c", "z"], ["a/a.b", "a/b", "z/y"], ["a", "a/a/b", "a/a"]):
        for run in runs:
            log(tmp_path / run, 1)
        collection.refresh()
    assert list(collection.runs) == ["z", "z/y", ".", "a", "a/b", "a.b", "b", "c"]
    shutil.rmtree(tmp_path / "a" / "a")
    collection.refresh()
    assert list(collection.runs) == ["z", "z/y", ".", "a.b", "b", "c"]


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
@in_each_way
def test_a_follower_shows_what_is_written(tmp_path: Path, make: type, options: dict) -> None:
    collection = RunCollection({"": tmp_path}, **options)
    writer = make(str(tmp_path / "run"))

    def shows_step(step: int) -> bool:
        writer.flush()
        run = collection.runs.get("run")
        return run is not None and "scalars" in run.plugins() and steps(collection, "run")[-1:] == [step]

    with followed(collection, 0.01):
        for step in range(5):
            writer.add_scalar("loss", step, step)
            assert within(60, lambda: shows_step(step))  # noqa: B023
    writer.close()


@in_each_way
def test_runs_that_are_moved_deleted_and_made_anew_are_followed(tmp_path: Path, options: dict) -> None:
    root = tmp_path / "not there yet"
    with followed(RunCollection({"": root}, **options)) as collection:
        assert within(60, lambda: collection.progress.cycles > 0)
        log(root / "a", 1)
        assert shows(collection, {"a": [1]})
        log(tmp_path / "elsewhere" / "b", 1, 2)
        (tmp_path / "elsewhere").rename(root / "moved in")
        assert shows(collection, {"a": [1], "moved in/b": [1, 2]})
        (root / "a").rename(root / "c")
        log(root / "c", 2)
        assert shows(collection, {"c": [1, 2], "moved in/b": [1, 2]})
        shutil.rmtree(root / "c")
        log(root / "c", 7)
        assert shows(collection, {"c": [7], "moved in/b": [1, 2]})
        root.rename(tmp_path / "aside")
        assert shows(collection, {})
        log(root / "d", 1)
        assert shows(collection, {"d": [1]})


@in_each_way
def test_a_file_that_is_moved_in_and_one_that_grows_by_parts_are_followed(tmp_path: Path, options: dict) -> None:
    log(tmp_path / "elsewhere", *range(100))
    (file,) = (tmp_path / "elsewhere").iterdir()
    data = file.read_bytes()
    run = tmp_path / "root" / "run"
    run.mkdir(parents=True)
    with followed(RunCollection({"": tmp_path / "root"}, **options)) as collection:
        file.rename(run / file.name)
        assert shows(collection, {"run": list(range(100))})
        growing = tmp_path / "root" / "growing" / file.name
        growing.parent.mkdir()
        with growing.open("wb", buffering=0) as out:
            for start in range(0, len(data), 500):  # records are cut in two
                cycles = collection.progress.cycles
                out.write(data[start : start + 500])
                assert within(60, lambda: collection.progress.cycles > cycles)  # noqa: B023
        assert shows(collection, {"run": list(range(100)), "growing": list(range(100))})


@in_each_way
def test_what_may_not_be_read_for_a_while_is_shown_again(options: dict) -> None:
    with folder_of_an_ordinary_user() as folder:
        log(folder / "a", 1)
        log(folder / "b" / "deep", 1)
        with followed(RunCollection({"": folder}, **options)) as collection:
            assert shows(collection, {"a": [1], "b/deep": [1]})
            (folder / "b").chmod(0)
            assert shows(collection, {"a": [1]})
            (folder / "b").chmod(0o700)
            assert shows(collection, {"a": [1], "b/deep": [1]})
            (file,) = (folder / "a").iterdir()
            file.chmod(0)
            log(folder / "a", 2)
            assert shows(collection, {"a": [1, 2], "b/deep": [1]})
            file.chmod(0o600)
            with SummaryWriter(str(folder / "b" / "deep")) as writer:
                writer.add_scalar("loss", 2, 2)
            assert shows(collection, {"a": [1, 2], "b/deep": [1, 2]})


def test_a_root_that_may_not_be_read_at_first_is_watched_later() -> None:
    with folder_of_an_ordinary_user() as folder:
        log(folder / "root" / "a", 1)
        (folder / "root").chmod(0)
        with followed(RunCollection({"": folder / "root"})) as collection:
            assert within(60, lambda: collection.progress.cycles > 0)
            assert collection.progress.runs_found == 0
            (folder / "root").chmod(0o700)
            assert shows(collection, {"a": [1]})
            assert collection._tree.counts == (2, 2)


def test_what_could_not_be_opened_is_read_later(tmp_path: Path) -> None:
    collection = RunCollection({"": tmp_path})
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_scalar("loss", 1, 1)
        writer.flush()
        collection.refresh()
        writer.add_scalar("loss", 2, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(lowest := os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))  # not one file more
    try:
        collection.refresh()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert steps(collection, "a") == [1]
    collection.refresh()
    assert steps(collection, "a") == [1, 2]


def test_a_follower_survives_a_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh_logdirs, failed = collection_module.refresh_logdirs, threading.Event()

    def fail_once(*work: Any) -> int:
        if not failed.is_set():
            failed.set()
            raise MemoryError
        return refresh_logdirs(*work)

    monkeypatch.setattr(collection_module, "refresh_logdirs", fail_once)
    log(tmp_path / "a", 1)
    with followed(RunCollection({"": tmp_path})) as collection:
        assert shows(collection, {"a": [1]})
        assert collection.progress.runs_read == 1
    assert "reading new points failed" in caplog.text


@pytest.mark.parametrize("interval", [0, 1000])
@in_each_way
def test_a_follower_stops_at_once(tmp_path: Path, interval: float, options: dict) -> None:
    log(tmp_path / "a", 1)
    collection = RunCollection({"": tmp_path}, **options)
    follower = Follower(collection, interval)
    follower.start()
    assert shows(collection, {"a": [1]})
    follower.stop()
    assert "aboard-follower" not in [thread.name for thread in threading.enumerate()]


def test_a_follower_needs_no_interval_where_the_kernel_tells(tmp_path: Path) -> None:
    with followed(RunCollection({"": tmp_path}), interval=1000) as collection:
        assert within(60, lambda: collection.progress.cycles > 0)
        log(tmp_path / "a", 1)
        assert shows(collection, {"a": [1]})


def test_a_collection_is_refreshed_while_it_is_followed(tmp_path: Path) -> None:
    with followed(RunCollection({"": tmp_path})) as collection:
        for step in range(30):
            log(tmp_path / f"run{step % 3}", step)
            collection.refresh()
            assert steps(collection, f"run{step % 3}")[-1] == step


def test_a_later_root_wins_where_names_are_the_same(tmp_path: Path) -> None:
    log(tmp_path / "one" / "a", 1)
    log(tmp_path / "two", 2)
    collection = RunCollection({"": tmp_path / "one", "a": tmp_path / "two"})
    collection.refresh()
    assert set(collection.runs) == {"a"}
    assert steps(collection, "a") == [2]
    shutil.rmtree(tmp_path / "two")
    collection.refresh()
    assert steps(collection, "a") == [1]
    log(tmp_path / "two", 3)
    collection.refresh()
    assert steps(collection, "a") == [3]


def test_links_that_loop_are_followed_once(tmp_path: Path) -> None:
    log(tmp_path / "a", 1)
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with followed(RunCollection({"": tmp_path})) as collection:
        assert shows(collection, {"a": [1], "b": [1]})
        log(tmp_path / "a", 2)
        assert shows(collection, {"a": [1, 2], "b": [1, 2]})


def test_runs_are_there_before_all_of_them_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "0", *range(5))
    (file,) = (tmp_path / "0").iterdir()
    for run in range(1, 500):
        (tmp_path / str(run)).mkdir()
        os.link(file, tmp_path / str(run) / file.name)
    collection = RunCollection({"": tmp_path})
    refresh_logdirs, seen = collection_module.refresh_logdirs, []

    def read_part(*work: Any) -> int:
        changed = refresh_logdirs(*work)
        seen.append(collection.progress)
        return changed

    monkeypatch.setattr(collection_module, "refresh_logdirs", read_part)
    collection.refresh()
    assert len(seen) > 5
    seen.append(collection.progress)
    found, read = [state.runs_found for state in seen], [state.runs_read for state in seen]
    assert found == sorted(found)
    assert read == sorted(read)
    assert all(state.runs_read <= state.runs_found for state in seen)
    assert any(0 < state.runs_read < 500 for state in seen)
    assert (found[-1], read[-1]) == (500, 500)
    assert seen[-1].bytes_read == 500 * file.stat().st_size
    assert all(steps(collection, name) == list(range(5)) for name in ("1", "77", "499"))
    log(tmp_path / "77", 9)
    collection.refresh()
    assert steps(collection, "77") == [0, 1, 2, 3, 4, 9]


def test_a_single_file_and_its_folder_have_indexes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "runs"
    log(folder, *range(3000))
    (only,) = folder.iterdir()
    log(folder, *range(3000, 3010))
    monkeypatch.chdir(tmp_path)

    def opened(root: Path) -> RunCollection:
        collection = RunCollection({"": root}, cache=IndexCache(tmp_path / "cache"))
        collection.refresh()
        collection.keep(all_that_is_new=True)
        return collection

    for _ in range(2):
        assert steps(opened(only), ".") == list(range(3000))
        assert steps(opened(folder), ".") == list(range(3010))
    # Named in another way, they are the same.
    for root in (only, folder):
        again = opened(root.relative_to(tmp_path))
        assert again.runs["."].logdir.bytes_read == 0
        assert again.runs["."].folder == Path("runs")
