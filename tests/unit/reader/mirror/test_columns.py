# SPDX-License-Identifier: Apache-2.0
"""Sealed runs are read from their columns: the same as from event files, for fewer bytes, never believed blindly."""

import json
import math
import uuid
import zlib

import numpy as np
import pytest

import aboard
from aboard.exchange.doctor.diagnosis import diagnose
from aboard.reader.mirror.store_mirror import whole_copies
from aboard.reader.roots import StoreUri
from aboard.store import open_store
from aboard.store.run import layout
from aboard.store.run.columns import LENGTH_BYTES
from aboard.store.run.documents import parse_manifest, render_manifest
from support.trained_runs import StoredRun, stored_run, without_columns

STEPS = 2000


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def store():
    return open_store(f"memory://{uuid.uuid4().hex}")


def value(step):
    return math.nan if step % 100 == 7 else math.sin(step / 50)


def picture(step):
    return np.random.default_rng(step).integers(0, 255, (64, 64, 3), np.uint8)


def train(run):
    writer = run.writer()
    for step in range(STEPS):
        writer.add_scalar("loss", value(step), step)
        if step % 50 == 0:
            writer.add_image("noise", picture(step), step, dataformats="HWC")
    run.writer("test").add_scalar("loss", 0.5, 3)


def columns_of(run):
    return run.folder.read_manifest().manifest.columns


def event_bytes(run):
    return sum(row.bytes for row in run.folder.read_manifest().manifest.files)


def traffic(opened):
    (count,) = opened._collection.traffic.values()
    return count


def superseded(opened):
    return opened.runs["sealed/train"]._reader.by_plugin("scalars")["loss"].status.superseded


def check_all_is_there(opened, steps=STEPS):
    series = opened.runs["sealed/train"].scalars["loss"]
    assert series.steps.tolist() == list(range(steps))
    expected = np.array([value(step) for step in range(steps)], np.float32).astype(float)
    np.testing.assert_array_equal(series.values, expected)
    assert opened.runs["sealed/test"].scalars["loss"].values.tolist() == [0.5]
    assert len(opened.runs["sealed/train"].images["noise"].steps) == STEPS // 50


def test_no_event_file_is_fetched_and_pictures_come_when_they_are_looked_at(store, tmp_path):
    run = stored_run(store, tmp_path, "sealed", train)
    for _ in range(2):  # also a later process
        with aboard.open(store.uri) as opened:
            check_all_is_there(opened)
            assert traffic(opened).bytes_in < event_bytes(run) / 10
            assert traffic(opened).requests.get("get", 0) in {1, 0}  # one object tells all; once
            images = opened.runs["sealed/train"].images["noise"]
            np.testing.assert_array_equal(images[3].array(), picture(150))  # 50 steps apart
            before = traffic(opened).bytes_in
            np.testing.assert_array_equal(images[3].array(), picture(150))
            assert traffic(opened).bytes_in == before


def test_the_same_as_from_event_files(store, tmp_path, monkeypatch):
    stored_run(store, tmp_path, "sealed", train)
    with aboard.open(store.uri) as opened:
        times = opened.runs["sealed/train"].scalars["loss"].wall_times.copy()
    store.delete([entry.key for entry in store.list() if layout.COLUMNS in entry.key])
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "another"))
    with aboard.open(store.uri) as opened:
        check_all_is_there(opened)
        np.testing.assert_array_equal(opened.runs["sealed/train"].scalars["loss"].wall_times, times)


def damage_in_the_middle(data, manifest):
    data[len(data) // 2] ^= 1
    return bytes(data), manifest


def cut_off(data, manifest):
    return bytes(data[:-10]), manifest


def another_checksum_of_damage(data, manifest):
    """Somebody wrote it so, and the manifest agrees."""
    data[-100] ^= 1
    return bytes(data), {**manifest, "columns": {**manifest["columns"], "crc32": zlib.crc32(data)}}


def about_other_files(data, manifest):
    data = bytes(data).replace(b"tb/test", b"tb/tess")
    return data, {**manifest, "columns": {**manifest["columns"], "crc32": zlib.crc32(data)}}


def of_a_newer_version(data, manifest):
    data = bytes(data).replace(b'"version":[2,0]', b'"version":[3,0]', 1)
    return data, {**manifest, "columns": {**manifest["columns"], "crc32": zlib.crc32(data)}}


def deleted(_, manifest):
    return None, manifest


def elsewhere(data, manifest):
    return bytes(data), {**manifest, "columns": {**manifest["columns"], "path": "../../x"}}


CHANGES = [
    damage_in_the_middle,
    cut_off,
    another_checksum_of_damage,
    about_other_files,
    of_a_newer_version,
    deleted,
    elsewhere,
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_wrong_with_columns_is_read_from_event_files(store, tmp_path, change, caplog):
    run = stored_run(store, tmp_path, "sealed", train)
    path = run.folder.key(columns_of(run).path)
    manifest_key = run.folder.key(layout.MANIFEST)
    data, manifest = change(bytearray(store.get(path)), json.loads(store.get(manifest_key)))
    store.delete([path])
    if data is not None:
        store.put(path, data)
    store.put(manifest_key, json.dumps(manifest).encode())
    for _ in range(2):
        with aboard.open(store.uri) as opened:
            opened.refresh()
            check_all_is_there(opened)


def test_a_damaged_local_copy_is_made_good(store, tmp_path, home):
    stored_run(store, tmp_path, "sealed", train)
    with aboard.open(store.uri):
        pass
    (local,) = (home / "cache/stores").rglob("columns/*")
    data = bytearray(local.read_bytes())
    begin = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    data[begin + 20_000 :] = bytes(len(data) - begin - 20_000)
    local.write_bytes(data)
    with aboard.open(store.uri) as opened:
        opened.refresh()
        check_all_is_there(opened)


def test_a_run_that_goes_on_elsewhere_has_one_history_and_new_columns(store, tmp_path, monkeypatch):
    run = stored_run(store, tmp_path, "sealed", train)
    before = columns_of(run).path
    with aboard.open(store.uri) as opened:
        check_all_is_there(opened)
        again = run.again(tmp_path)
        again.ship()
        assert again.folder.read_manifest().manifest.columns is None
        assert before not in {entry.key for entry in again.folder.list()}
        for step in range(STEPS - 100, STEPS + 50):
            again.writer().add_scalar("loss", value(step), step)
        again.finish()
        opened.refresh()
        check_all_is_there(opened, STEPS + 50)
        assert superseded(opened) == 100
    with aboard.open(store.uri) as opened:  # from what is left of the first columns, and the new file
        check_all_is_there(opened, STEPS + 50)
        assert set(traffic(opened).requests) == {"list"}
    assert [entry.key for entry in again.folder.list(layout.COLUMNS)] == [columns_of(again).path]
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "another"))
    with aboard.open(store.uri) as opened:
        check_all_is_there(opened, STEPS + 50)
        assert superseded(opened) == 100
        assert traffic(opened).requests["get"] == 1


def test_damage_of_event_files_is_known_and_the_doctor_reads_them_whole(store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "sealed")
    train(run)
    run.writer().close()
    (file,) = (run.spool.output / "tensorboard/train").glob("*tfevents*")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data + b"half a rec")
    run.finish()
    assert columns_of(run) is not None
    with aboard.open(store.uri) as opened:
        (status,) = (one for one in opened.runs["sealed/train"]._reader.logdir.files())
        assert status.bad_records + status.skipped_bytes > 0
        assert traffic(opened).bytes_in < event_bytes(run) / 10
    with whole_copies({"": StoreUri(store.uri)}) as (folders, _):
        diagnosis = diagnose(folders)
        (copy,) = folders[""].rglob("train/*tfevents*")
        assert copy.read_bytes() == file.read_bytes()
    assert diagnosis.damaged_files == 1


def test_a_torn_last_record_is_kept(store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "sealed")
    run.log(range(9))
    run.writer().close()
    (file,) = (run.spool.output / "tensorboard/train").glob("*tfevents*")
    file.write_bytes(file.read_bytes() + b"half a rec")
    run.log(range(3), logdir="test")
    run.finish()
    assert columns_of(run) is not None
    with aboard.open(store.uri) as opened:
        assert opened.runs["sealed/train"].scalars["loss"].steps.tolist() == list(range(9))


def test_a_run_is_sealed_although_an_event_file_is_missing(store, tmp_path):
    run = stored_run(store, tmp_path, "sealed", train)
    again = run.again(tmp_path)
    again.ship()
    lost = next(row for row in run.folder.read_manifest().manifest.files if "/train/" in row.path)
    store.delete([run.folder.key(path) for path in lost.objects()])
    again.log(range(5), logdir="test")
    again.finish()
    assert columns_of(again) is None


def test_a_preempted_run_has_none_until_it_is_over(store, tmp_path):
    run = StoredRun.begin(store, tmp_path, "sealed")
    train(run)
    run.finish("preempted")
    assert columns_of(run) is None
    again = run.again(tmp_path)
    again.finish()
    assert columns_of(again) is not None
    with aboard.open(store.uri) as opened:
        check_all_is_there(opened)


def test_folders_and_empty_runs_have_none(tmp_path):
    (tmp_path / "store").mkdir()
    folder = open_store(str(tmp_path / "store"))
    assert columns_of(stored_run(folder, tmp_path, "sealed", train)) is None
    memory = open_store(f"memory://{uuid.uuid4().hex}")
    assert columns_of(stored_run(memory, tmp_path, "empty", lambda run: None)) is None


def test_a_manifest_without_columns_is_as_before(store, tmp_path, monkeypatch):
    without_columns(monkeypatch)
    run = stored_run(store, tmp_path, "sealed", train)
    manifest = run.folder.read_manifest().manifest
    assert manifest.columns is None
    assert "columns" not in json.loads(render_manifest(manifest))
    assert parse_manifest(render_manifest(manifest)) == manifest
    with aboard.open(store.uri) as opened:
        check_all_is_there(opened)
