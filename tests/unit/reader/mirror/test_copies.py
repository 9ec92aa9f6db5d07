# SPDX-License-Identifier: Apache-2.0
"""Copies of stores on this machine: limited in size, complete again when they are needed, never believed when torn."""

import json
import shutil
import threading
import uuid

import numpy as np
import pytest

import aboard
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.mirror.cache import CopyCache
from aboard.reader.mirror.copies import CopiedFile
from aboard.reader.roots import StoreUri
from aboard.store import open_store
from support.processes import until
from support.trained_runs import StoredRun, stored_run, without_columns


@pytest.fixture(autouse=True)
def _event_files_alone(monkeypatch):
    without_columns(monkeypatch)


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def store():
    return open_store(f"memory://{uuid.uuid4().hex}")


def limit(home, size):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f'[cache]\nlimit = "{size}"\n')


def picture(step):
    return np.random.default_rng(step).integers(0, 255, (64, 64, 3), np.uint8)


def with_pictures(run, steps=range(40)):
    for step in steps:
        run.writer().add_image("noise", picture(step), step, dataformats="HWC")
        run.writer().add_scalar("loss", float(step), step)


def disk_use(home):
    return sum(path.lstat().st_blocks * 512 for path in (home / "cache/stores").rglob("*tfevents*"))


def bytes_in(opened):
    (count,) = opened._collection.traffic.values()
    return count.bytes_in


def shown(opened, run, step):
    return opened.runs[run].images["noise"][step].array()


def test_space_is_given_back_and_pictures_come_when_they_are_looked_at(home, store, tmp_path):
    for name in ("a", "b", "c"):
        stored_run(store, tmp_path, name, with_pictures)
    limit(home, "200 KB")
    with aboard.open(store.uri) as opened:
        total = bytes_in(opened)
        assert total > 1_400_000
        assert disk_use(home) < 200_000
        np.testing.assert_array_equal(shown(opened, "b/train", 7), picture(7))
        assert 10_000 < bytes_in(opened) - total < 30_000
        assert shown(opened, "b/train", 7) is not None
        assert len(opened.runs["a/train"].scalars["loss"]) == 40
        assert opened.runs["a/train"].bad_records == 0
    with aboard.open(store.uri) as opened:
        assert bytes_in(opened) == 0
        assert len(opened.runs["c/train"].scalars["loss"]) == 40
        np.testing.assert_array_equal(shown(opened, "c/train", 39), picture(39))
    # What was decoded is lost: everything has to be fetched once more.
    shutil.rmtree(home / "cache/index")
    with aboard.open(store.uri) as opened:
        assert bytes_in(opened) > 1_300_000
        assert [len(run.scalars["loss"]) for run in opened.runs] == [40, 40, 40]
        assert [run.bad_records for run in opened.runs] == [0, 0, 0]


def test_a_live_run_goes_on_after_space_was_given_back(home, store, tmp_path):
    limit(home, "100 KB")
    run = StoredRun.begin(store, tmp_path, "live")
    with_pictures(run)
    run.ship()
    with aboard.open(store.uri) as opened:
        assert disk_use(home) < 200_000
        with_pictures(run, range(40, 50))
        run.ship()
        before = bytes_in(opened)
        opened.refresh()
        assert bytes_in(opened) - before < 200_000
        assert len(opened.runs["live/train"].scalars["loss"]) == 50
        np.testing.assert_array_equal(shown(opened, "live/train", 3), picture(3))
        np.testing.assert_array_equal(shown(opened, "live/train", 45), picture(45))
        run.finish("preempted")
        again = run.again(tmp_path)
        again.log(range(45, 60))
        again.finish()
        opened.refresh()
        assert opened.runs["live/train"].scalars["loss"].steps.tolist() == list(range(60))
        assert opened.runs["live/train"].bad_records == 0


def test_copies_that_nobody_uses_are_dropped_first(home, tmp_path):
    stores = [open_store(f"memory://{uuid.uuid4().hex}") for _ in range(3)]
    for each in stores:
        stored_run(each, tmp_path, "run", with_pictures)
        aboard.open(each.uri).close()
    assert disk_use(home) > 1_300_000
    limit(home, "1200 KB")
    with aboard.open(stores[2].uri):
        assert disk_use(home) < 1_200_000
    with aboard.open(stores[2].uri) as opened:
        assert bytes_in(opened) == 0


def test_two_readers_of_one_store_do_not_disturb_each_other(home, store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "live")
    run.log(range(5))
    run.ship()
    with aboard.open(store.uri) as one, aboard.open(store.uri) as other:
        run.log(range(5, 9))
        run.ship()
        one.refresh()
        other.refresh()
        assert len(one.runs["live/train"].scalars["loss"]) == 9
        assert len(other.runs["live/train"].scalars["loss"]) == 9


def test_a_copy_that_is_torn_is_fetched_again(home, store, tmp_path):
    for name in ("a", "b", "c"):
        stored_run(store, tmp_path, name, lambda run: run.log(range(100)))
    aboard.open(store.uri).close()
    first, second, third = sorted((home / "cache/stores").rglob("*tfevents*"))
    first.write_bytes(first.read_bytes()[:200])
    second.unlink()
    for unit in (home / "cache/stores").rglob("units/*.json"):
        if json.loads(unit.read_text())["files"][0][0].endswith(third.name):
            unit.write_text("{")
    with aboard.open(store.uri) as opened:
        assert [len(run.scalars["loss"]) for run in opened.runs] == [100, 100, 100]


def test_without_a_place_for_copies(home, store, tmp_path, caplog):
    home.mkdir()
    (home / "cache").write_text("a file where a folder should be")
    stored_run(store, tmp_path, "a", lambda run: run.log(range(10)))
    with aboard.open(store.uri) as opened:
        assert len(opened.runs["a/train"].scalars["loss"]) == 10
    assert "No copies are kept" in caplog.text


def test_what_is_absent_is_known_to_the_byte():
    file = CopiedFile("a", size=100, absent=[(10, 50), (60, 90)])
    assert (file.on_disk, file.absent_end) == (30, 90)
    assert not file.lacks(50, 60)
    assert file.lacks(49, 50)
    file.filled(20, 70)
    assert file.absent == [(10, 20), (70, 90)]
    assert CopiedFile.from_json(json.loads(json.dumps(file.to_json()))) == file


def test_nothing_is_left_locked(home):
    cache = CopyCache(home / "copies")
    first = cache.take("s3://bucket/x")
    second = cache.take("s3://bucket/x")
    assert first.place != second.place
    first.close()
    assert cache.take("s3://bucket/x").place == first.place
    assert (second.place / "uri").read_text() == "s3://bucket/x"


def test_reading_is_complete_when_the_store_is_done_at_a_bad_moment(home, store, tmp_path, monkeypatch):
    """Who reads has just seen that the store is not done, and takes the look that its end asks for along."""
    stored_run(store, tmp_path, "run", lambda run: run.log(range(10)))
    is_complete, asked = RunCollection._stores_are_complete, []
    look_and_wake, looked_at_end = RunCollection._look_and_wake, threading.Event()

    def seen_too_early(collection):
        asked.append(True)
        if len(asked) > 2:
            return is_complete(collection)
        assert looked_at_end.wait(60)
        return False

    def look(collection):
        was_complete = is_complete(collection)
        look_and_wake(collection)
        if was_complete:
            looked_at_end.set()

    monkeypatch.setattr(RunCollection, "_look_and_wake", look)

    monkeypatch.setattr(RunCollection, "_stores_are_complete", seen_too_early)
    collection = RunCollection({"": StoreUri(store.uri)})
    follower = Follower(collection, 0.5)
    follower.start()
    until(lambda: collection.progress.cycles)
    assert collection.progress.runs_read == 1
    follower.stop()


def test_a_store_that_nobody_asks_has_no_threads(home, store, tmp_path):
    for name in ("a", "b"):
        stored_run(store, tmp_path, name, with_pictures)
    with aboard.open(store.uri) as opened:
        until(
            lambda: not [one for one in threading.enumerate() if one.name.startswith(("aboard-store", "aboard-fetch"))]
        )
        opened.refresh()
        assert opened.runs["b/train"].scalars["loss"].steps.tolist() == list(range(40))
