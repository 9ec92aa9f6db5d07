# SPDX-License-Identifier: Apache-2.0
"""The output folder of a run comes back from its store, on whatever machine."""

import os
import shutil

import pytest

from aboard.errors import StorageUnavailable, StoreUnreachable
from aboard.store import open_store
from aboard.upload.restore import restore
from support.shipping import Trip, append, records

EVENTS = "tensorboard/train/events.out.tfevents.1.host"


@pytest.fixture(params=["memory", "folder"])
def trip(request, tmp_path):
    uri = f"memory://{tmp_path.name}" if request.param == "memory" else str(tmp_path / "store")
    return Trip.begin(tmp_path / "spool", open_store(uri, create=True, fsync=False))


def ended(trip):
    """A run with event files, checkpoints and a log in its store."""
    shipper = trip.shipper()
    for step in range(50):
        append(trip.output / EVENTS, records(step, 1))
        shipper.ship_once()
    append(trip.output / "plain" / "a.tfevents.2", records(90, 3))
    append(trip.output / "model.pt", os.urandom(9 << 20))
    append(trip.output / "config.yaml", b"lr: 0.1\n")
    append(trip.output / "empty", b"")
    append(trip.spool.folder / "log" / "1.txt", b"hello\n")
    os.utime(trip.output / "config.yaml", (1_000_000_000, 1_000_000_000.25))
    shipper.finish("preempted")


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_is_as_it_was(trip, tmp_path):
    ended(trip)
    again = tmp_path / "again" / "output"
    restored = restore(trip.store, trip.spool.uid, again)
    assert tree(again) == tree(trip.output)
    for path in again.rglob("*.*"):
        assert abs(path.stat().st_mtime - (trip.output / path.relative_to(again)).stat().st_mtime) < 1e-4
    assert (restored.files, restored.kept, restored.problems) == (5, 0, ())
    assert restored.bytes == sum(path.stat().st_size for path in again.rglob("*") if path.is_file())


def test_a_second_restore_fetches_nothing(trip, tmp_path):
    ended(trip)
    restore(trip.store, trip.spool.uid, tmp_path / "again")
    (tmp_path / "again" / "config.yaml").unlink()
    before = trip.store.traffic.count()
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert (restored.files, restored.bytes, restored.kept) == (1, 8, 4)
    assert (trip.store.traffic.count() - before).bytes_in < 3000


def test_an_interrupted_restore_goes_on(trip, tmp_path, monkeypatch):
    ended(trip)
    again = tmp_path / "again"
    monkeypatch.setattr("aboard.upload.restore.PIECE_BYTES", 1 << 20)
    real, count = trip.store.get_range, []

    def fail_at_last(key, start, end):
        if key.endswith("model.pt"):
            count.append(start)
            if start >= 6 << 20:
                raise StoreUnreachable("gone")
        return real(key, start, end)

    monkeypatch.setattr(trip.store, "get_range", fail_at_last)
    with pytest.raises(StoreUnreachable):
        restore(trip.store, trip.spool.uid, again)
    assert not (again / "model.pt").exists()
    monkeypatch.setattr(trip.store, "get_range", real)
    before = trip.store.traffic.count()
    restore(trip.store, trip.spool.uid, again)
    assert tree(again) == tree(trip.output)
    assert (trip.store.traffic.count() - before).bytes_in < 6 << 20
    assert not list(again.rglob(".aboard*"))


def test_what_is_newer_here_is_kept(trip, tmp_path):
    ended(trip)
    again = tmp_path / "again"
    shutil.copytree(trip.output, again)
    append(again / EVENTS, records(500, 5))
    (again / "config.yaml").write_bytes(b"lr: 0.2\n")
    (again / "model.pt").write_bytes(b"old")
    os.utime(again / "model.pt", (1, 1))
    restore(trip.store, trip.spool.uid, again)
    assert (again / EVENTS).read_bytes() == records(0, 50) + records(500, 5)
    assert (again / "config.yaml").read_bytes() == b"lr: 0.2\n"
    assert (again / "model.pt").read_bytes() == (trip.output / "model.pt").read_bytes()


def test_an_event_file_of_which_the_store_has_more_is_fetched(trip, tmp_path):
    ended(trip)
    again = tmp_path / "again"
    append(again / EVENTS, records(0, 20))
    restore(trip.store, trip.spool.uid, again)
    assert (again / EVENTS).read_bytes() == records(0, 50)


def test_a_restored_folder_ships_nothing_again(trip, tmp_path):
    ended(trip)
    uid = trip.spool.uid
    other = Trip.begin(tmp_path / "other", trip.store)
    other.spool = type(trip.spool).at(tmp_path / "elsewhere" / uid)
    restore(trip.store, uid, other.spool.output)
    shipper = trip.shipper()
    other.claim = trip.claim
    before = trip.store.traffic.count()
    state = other.shipper(claim=trip.claim).finish("preempted")
    assert state.files_left == 0
    assert (trip.store.traffic.count() - before).bytes_out < 3000
    assert shipper.state is not None


def test_damaged_documents_cost_names_and_times_only(trip, tmp_path):
    ended(trip)
    for name in ("manifest.json", "outputs.json"):
        trip.store.put(trip.folder.key(name), b"{")
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert len(restored.problems) == 2
    assert (tmp_path / "again" / EVENTS).read_bytes() == records(0, 50)
    assert (tmp_path / "again" / "model.pt").read_bytes() == (trip.output / "model.pt").read_bytes()


def test_a_checkpoint_newer_than_its_list_is_taken(trip, tmp_path):
    """The machine died between the checkpoint and the list that names it."""
    ended(trip)
    trip.store.put(trip.folder.key("output/config.yaml"), b"lr: 0.35\n")
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert restored.problems == ()
    assert (tmp_path / "again" / "config.yaml").read_bytes() == b"lr: 0.35\n"


def test_what_is_missing_is_told_and_the_rest_restored(trip, tmp_path):
    ended(trip)
    trip.folder.delete(["output/config.yaml"])
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert len(restored.problems) == 1
    assert "config.yaml" in restored.problems[0]
    assert (tmp_path / "again" / "model.pt").exists()


def test_roll_ups_during_a_restore(tmp_path, monkeypatch):
    trip = Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))
    shipper = trip.shipper()
    for step in range(31):
        append(trip.output / EVENTS, records(step, 1))
        shipper.ship_once()
    real = trip.store.get_range

    def roll_up_first(key, start, end):
        monkeypatch.setattr(trip.store, "get_range", real)
        append(trip.output / EVENTS, records(31, 1))
        shipper.ship_once()
        assert len(trip.objects("tb")) == 1
        return real(key, start, end)

    monkeypatch.setattr(trip.store, "get_range", roll_up_first)
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert restored.problems == ()
    assert (tmp_path / "again" / EVENTS).read_bytes() == records(0, 32)


def test_links_cannot_lead_out(trip, tmp_path):
    ended(trip)
    outputs = trip.store.get(trip.folder.key("outputs.json")).decode()
    link = '{"path":"output/evil","link":"../../../etc"},{"path":"output/worse","link":"/etc"},'
    trip.store.put(trip.folder.key("outputs.json"), outputs.replace('"files":[', f'"files":[{link}').encode())
    again = tmp_path / "again"
    (tmp_path / "outside").mkdir()
    again.mkdir()
    (again / "plain").symlink_to(tmp_path / "outside")
    restored = restore(trip.store, trip.spool.uid, again)
    assert len(restored.problems) == 3
    assert not (again / "evil").is_symlink()
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_folder_that_cannot_be_written(trip, tmp_path):
    ended(trip)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageUnavailable, match="cannot be created"):
        restore(trip.store, trip.spool.uid, tmp_path / "file" / "output")


def test_a_run_that_is_not_there(trip, tmp_path):
    restored = restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert (restored.files, restored.problems) == (0, ())
