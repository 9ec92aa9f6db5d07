# SPDX-License-Identifier: Apache-2.0
"""What reading from a store promises on every kind of store: all points, by the names of the runs, for few requests."""

import dataclasses

import pytest

import aboard
from aboard import SummaryWriter
from aboard.errors import NoSuchStore
from aboard.model.names import new_uid
from aboard.store.run.claims import announce
from support.clouds import clear_clouds
from support.damaged_files import NOON, scalar, scalars
from support.store_kinds import opener
from support.trained_runs import StoredRun, stored_run, without_columns

EVENT_FILES = " with event files alone"  # as runs were sealed before there were columns
KINDS = ["folder", "memory", "s3", "azure", "gcs", "oss", f"memory{EVENT_FILES}", f"s3{EVENT_FILES}"]


@pytest.fixture(params=KINDS)
def store(request, monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    if request.param.endswith(EVENT_FILES):
        without_columns(monkeypatch)
    with opener(request.param.removesuffix(EVENT_FILES), request, monkeypatch, tmp_path) as opened:
        yield opened(fsync=False)


def steps_of(opened, run, tag="loss"):
    return opened.runs[run].scalars[tag].all.steps.tolist()


def requests(opened):
    (count,) = opened._collection.traffic.values()
    return count


def event_file(folder, steps, name="loss"):
    """The bytes of a plain event file."""
    with SummaryWriter(str(folder)) as writer:
        for step in steps:
            writer.add_scalar(name, float(step), step)
    (path,) = folder.glob("*tfevents*")
    return path.read_bytes()


def test_runs_have_their_names_and_all_points(store, tmp_path):
    first = stored_run(store, tmp_path, "baseline", lambda run: (run.log(range(300)), run.log(range(3), logdir="test")))
    second = stored_run(store, tmp_path, "baseline", lambda run: run.log(range(7), logdir="."))
    live = StoredRun.begin(store, tmp_path, "live")
    live.log(range(5))
    live.ship()
    unnamed = stored_run(store, tmp_path, "", lambda run: run.log(range(2)))
    with aboard.open(store.uri) as opened:
        assert sorted(opened.runs.keys()) == sorted(
            [
                "baseline/test",
                "baseline/train",
                f"baseline-{second.uid[-8:].lower()}",
                "live/train",
                f"run-{unnamed.uid[-8:].lower()}/train",
            ]
        )
        assert first.uid < second.uid
        assert steps_of(opened, "baseline/train") == list(range(300))
        live.log(range(5, 9))
        live.ship()
        later = stored_run(store, tmp_path, "later", lambda run: run.log(range(4)))
        opened.refresh()
        assert steps_of(opened, "live/train") == list(range(9))
        assert steps_of(opened, "later/train") == list(range(4))
        live.log(range(9, 12))
        live.finish()
        again = later.again(tmp_path)
        again.log(range(2, 6), scale=10)
        again.ship()
        opened.refresh()
        assert steps_of(opened, "live/train") == list(range(12))
        # The second attempt begins at step 2, and what the first one said of later steps no longer holds.
        assert opened.runs["later/train"].scalars["loss"].values.tolist() == [0, 1, 20, 30, 40, 50]
        run = first.folder.read_run()
        assert run is not None
        first.folder.write_run(dataclasses.replace(run, name="first"))
        announce(first.folder)
        if not store.can_append:  # in folders `run.json` is read with the folder
            opened.refresh()
            assert "first/train" in opened.runs
            assert "baseline/train" not in opened.runs
            assert opened.runs["first/train"].name == "first/train"
    with aboard.open(f"{store.uri}/{first.uid}") as one:
        assert sorted(one.runs.keys()) == ["first/test", "first/train"]


@pytest.mark.parametrize("store", [kind for kind in KINDS if kind != "folder"], indirect=True)
def test_what_is_sealed_costs_nothing_and_is_seen_again_when_reopened(store, tmp_path):
    sealed = [stored_run(store, tmp_path, f"run{number}", lambda run: run.log(range(9))) for number in range(5)]
    with aboard.open(store.uri) as opened:
        cold = requests(opened)
        has_columns = any("/columns/" in entry.key for entry in store.list())
        # One object tells all; where it is missing (which memory does not count), manifest, run.json and event file do.
        assert cold.requests["get"] / len(sealed) in ({1} if has_columns else {3, 4})
        opened.refresh()
        assert (requests(opened) - cold).requests.keys() == {"list"}
        assert set(cold.requests) == {"get", "list"}
    with aboard.open(store.uri) as opened:
        assert set(requests(opened).requests) == {"list"}
        assert steps_of(opened, "run3/train") == list(range(9))
    again = sealed[3].again(tmp_path)
    again.log(range(9, 12))
    again.finish()
    with aboard.open(store.uri) as opened:
        assert steps_of(opened, "run3/train") == list(range(12))
        assert requests(opened).requests["get"] == 3
        assert requests(opened).bytes_in < 3000
    with aboard.open(f"{store.uri}/{sealed[3].uid}") as opened:
        assert requests(opened).requests.get("list", 0) == 0


@pytest.mark.parametrize("store", [kind for kind in KINDS if kind != "folder"], indirect=True)
def test_event_files_of_others(store, tmp_path):
    name = "events.out.tfevents.1794788815.host.1.0"
    content = event_file(tmp_path / "a", range(2000))
    cut = content[: len(content) // 2]
    store.put(f"team/exp 1/{name}", cut)
    store.put(f"team/exp 2/{name}", event_file(tmp_path / "b", range(3)))
    store.put("team/notes.txt", b"not an event file")
    stored_run(store, tmp_path, "mine", lambda run: run.log(range(4)))
    with aboard.open(store.uri) as opened:
        assert sorted(opened.runs.keys()) == ["mine/train", "team/exp 1", "team/exp 2"]
        half = len(steps_of(opened, "team/exp 1"))
        assert 0 < half < 2000
        before = requests(opened)
        store.put(f"team/exp 1/{name}", content)  # as TensorFlow and torch write to buckets: the whole file again
        opened.refresh()
        assert steps_of(opened, "team/exp 1") == list(range(2000))
        assert (requests(opened) - before).bytes_in < len(content) - len(cut) + 10_000
        store.put(f"team/exp 1/{name}", event_file(tmp_path / "c", range(50, 3000), "other"))
        store.delete(f"team/exp 2/{name}")
        opened.refresh()
        assert sorted(opened.runs.keys()) == ["mine/train", "team/exp 1"]
        assert list(opened.runs["team/exp 1"].scalars) == ["other"]
    with aboard.open(store.uri) as opened:
        assert set(requests(opened).requests) == {"list"}
        assert len(steps_of(opened, "team/exp 1", "other")) == 2950
    with aboard.open(f"{store.uri}/team/exp 1/{name}") as opened:
        assert list(opened.runs.keys()) == ["."]


@pytest.mark.parametrize("store", ["memory", "s3"], indirect=True)
def test_a_log_folder_in_segments_is_read_as_the_file_that_was_cut(store):
    name = "exp/events.out.tfevents.1700000000.host.7.0"
    parts = [scalars(range(5)), scalar(step=4, wall_time=NOON + 10), scalar(step=2, wall_time=NOON + 11)]
    expected = [0, 1, 2, 3, 4, 4, 2]
    with aboard.open(store.uri) as opened:
        for number, part in enumerate(parts):
            store.put(f"{name}.{number:08d}", part)
            opened.refresh()
            assert steps_of(opened, "exp") == expected[: 5 + number]
        store.put(f"{name}.00000000", parts[0] + parts[1])  # rolled up
        store.delete(f"{name}.00000001")
        opened.refresh()
        assert steps_of(opened, "exp") == expected
        store.put(f"{name}.00000003", scalar(step=2, wall_time=NOON + 5))
        opened.refresh()
        assert steps_of(opened, "exp") == [*expected, 2]
        assert len(opened.runs["exp"].scalars["loss"].superseded) == 0
    with aboard.open(store.uri) as opened:
        assert steps_of(opened, "exp") == [*expected, 2]


@pytest.mark.parametrize("store", ["memory", "s3"], indirect=True)
def test_stores_below_a_prefix(store, tmp_path):
    from aboard.store import open_store

    for team in ("a", "b"):
        below = open_store(f"{store.uri}/{team}/store")
        stored_run(below, tmp_path, "best", lambda run: run.log(range(4)))
        below.put(f"beside/{new_uid()[:5]}/events.out.tfevents.1.h", event_file(tmp_path / team, range(2)))
    with aboard.open(store.uri) as opened:
        names = [run for run in opened.runs.keys() if "beside" not in run]  # noqa: SIM118 - a list of runs, not a dict
        assert names == ["a/store/best/train", "b/store/best/train"]
        assert len(opened.runs) == 4
        stored_run(open_store(f"{store.uri}/a/store"), tmp_path, "next", lambda run: run.log(range(4)))
        opened.refresh()
        assert "a/store/next/train" in opened.runs


@pytest.mark.parametrize("store", ["s3", "azure"], indirect=True)
def test_a_bucket_that_is_not_there(store):
    scheme = store.uri.partition("://")[0]
    with pytest.raises(NoSuchStore, match="no-such-place"):
        aboard.open(f"{scheme}://no-such-place/x")
