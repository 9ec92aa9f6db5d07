# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, pictures and everything else that training leaves in its output folder."""

import contextlib
import itertools
import json
import os
import stat
import threading
import time
from functools import partial

import psutil
import pytest

from aboard.errors import StoreError
from aboard.store import open_store
from aboard.upload.restore import restore
from aboard.upload.retries import UploadPace
from support.privileges import folder_of_an_ordinary_user
from support.processes import until
from support.shipping import Trip, append, records

BIG = 9 << 20


@pytest.fixture(params=["memory", "folder"])
def trip(request, tmp_path):
    uri = f"memory://{tmp_path.name}" if request.param == "memory" else str(tmp_path / "store")
    return Trip.begin(tmp_path / "spool", open_store(uri, create=True, fsync=False))


def settle(trip, shipper, seconds=1.5):
    """Two looks, with time in between."""
    shipper.ship_once()
    trip.clock.move(seconds)
    return shipper.ship_once()


def test_files_are_shipped_when_nobody_has_written_for_a_second(trip):
    shipper = trip.shipper()
    model = trip.output / "checkpoints" / "model.pt"
    append(model, b"one")
    state = shipper.ship_once()
    assert state.files_left == 1
    trip.clock.move(0.6)
    append(model, b"two")
    shipper.ship_once()
    trip.clock.move(0.6)
    assert shipper.ship_once().files_left == 1
    trip.clock.move(0.6)
    assert shipper.ship_once().files_left == 0
    assert trip.content("output/checkpoints/model.pt") == b"onetwo"
    mark = trip.manifest().outputs or (shipper.ship_once() and trip.manifest().outputs)
    assert (mark.files, mark.bytes) == (1, 6)


def test_the_end_of_a_run_waits_for_no_second(trip):
    append(trip.output / "model.pt", b"last words")
    append(trip.output / "empty", b"")
    state = trip.shipper().finish("completed")
    assert state.is_sealed
    trip.check_equal()
    assert trip.rows()["output/empty"].bytes == 0


def test_a_changed_file_takes_the_place_of_the_old_one(trip):
    shipper = trip.shipper()
    model = trip.output / "model.pt"
    for content in (b"a" * 100, b"b" * 100, b"c" * 50):
        model.write_bytes(content)
        settle(trip, shipper)
        assert trip.content("output/model.pt") == content
    assert trip.objects("output") == ["output/model.pt"]


@pytest.mark.parametrize("size", [100, BIG], ids=["small", "large"])
def test_a_file_written_while_it_is_read_is_not_put(trip, monkeypatch, size):
    shipper = trip.shipper()
    model = trip.output / "model.pt"
    model.write_bytes(b"1" * size)
    settle(trip, shipper)
    model.write_bytes(b"2" * size)
    shipper.ship_once()
    trip.clock.move(2)
    real = os.pread

    def write_meanwhile(*arguments):
        with model.open("r+b") as file:
            file.write(b"3")
        return real(*arguments)

    monkeypatch.setattr("aboard.upload.local_file.os.pread", write_meanwhile)
    shipper.ship_once()
    assert trip.content("output/model.pt") == b"1" * size
    monkeypatch.undo()
    settle(trip, shipper)
    trip.check_equal()


def test_a_file_that_is_written_all_the_time_is_shipped_now_and_then(trip):
    shipper = trip.shipper()
    for _ in range(80):
        append(trip.output / "notes.txt", b"line\n")
        shipper.ship_once()
        trip.clock.move(0.5)
    assert 30 * 5 < len(trip.content("output/notes.txt")) < 80 * 5


def versions(size):
    """Contents of a file, each of which shows whether it is whole."""
    return (f"{number:04d}".encode() * (size // 4) for number in itertools.count())


def is_whole(content, size):
    return len(content) == size and content == content[:4] * (size // 4)


@pytest.fixture
def between_copies(monkeypatch):
    """What happens while a copy of a file settles; no time passes."""
    actions = []
    monkeypatch.setattr("aboard.upload.local_file.settle", lambda: actions[0]() if actions else None)
    return actions


@pytest.mark.parametrize("size", [400, BIG], ids=["small", "large"])
def test_a_file_rewritten_in_place_all_the_time_is_copied_whole(trip, between_copies, size):
    shipper, contents = trip.shipper(), versions(size)
    model = trip.output / "model.pt"
    stored = []
    for _ in range(60):
        model.write_bytes(next(contents))
        shipper.ship_once()
        trip.clock.move(0.4)
        if trip.objects("output"):
            stored.append(trip.content("output/model.pt"))
    assert stored, "there was none within 24 s"
    assert len(stored) > 25, "the first one took longer than 12 s"
    assert len(set(stored)) > 1, "it was taken once only"
    assert all(is_whole(content, size) for content in stored)


@pytest.mark.parametrize("half", ["empty", "first half", "two halves"])
def test_half_of_a_rewrite_is_never_shipped(trip, between_copies, half):
    """Each look falls into the middle of a rewrite, which ends while the copy settles."""
    shipper, contents, size = trip.shipper(), versions(4000), 4000
    model = trip.output / "model.pt"
    model.write_bytes(next(contents))
    shipper.ship_once()
    earlier = next(contents)
    for _ in range(60):
        content = next(contents)
        begun = {"empty": b"", "first half": content[:2000], "two halves": content[:2000] + earlier[2000:]}[half]
        between_copies[:] = [lambda content=content: model.write_bytes(content)]
        model.write_bytes(begun)
        shipper.ship_once()
        # Between the looks it is whole, but it is whole in a new version each time.
        trip.clock.move(0.4)
        earlier = content
        if trip.objects("output"):
            assert is_whole(trip.content("output/model.pt"), size)


def test_a_file_that_cannot_be_copied_whole_is_told(trip, between_copies):
    shipper, contents = trip.shipper(), versions(400)
    model = trip.output / "model.pt"
    between_copies[:] = [lambda: model.write_bytes(next(contents))]
    for _ in range(160):
        model.write_bytes(next(contents))
        shipper.ship_once()
        trip.clock.move(0.4)
    assert trip.objects("output") == []
    (problem,) = shipper.state.problems.items()
    assert problem[0] == str(model)
    assert "written all the time" in problem[1]
    between_copies.clear()
    assert settle(trip, shipper).problems == {}
    trip.check_equal()


def test_a_version_that_was_replaced_and_then_written_is_not_shipped(trip):
    """Its writer holds the old one open, so that it changes without a name."""
    shipper, contents = trip.shipper(), versions(400)
    model, aside = trip.output / "model.pt", trip.spool.folder / "aside"
    with contextlib.ExitStack() as open_files:
        for _ in range(20):
            aside.write_bytes(next(contents))
            writer = open_files.enter_context(aside.open("r+b"))
            aside.rename(model)
            shipper.ship_once()
            writer.write(b"x" * 10)
            writer.flush()
            trip.clock.move(0.4)
        assert trip.objects("output") == []


def test_files_that_are_replaced_all_the_time_take_few_descriptors(trip):
    shipper, aside = trip.shipper(), trip.spool.folder / "aside"
    before = psutil.Process().num_fds()
    for number in range(4):
        for name in range(100):
            aside.write_bytes(str(number).encode())
            aside.rename(trip.output / f"{name}.pt")
        shipper.ship_once()
        assert psutil.Process().num_fds() <= before + 80
        trip.clock.move(0.3)
    settle(trip, shipper)
    trip.check_equal()
    assert psutil.Process().num_fds() <= before + 16


def test_what_training_deletes_is_marked_and_not_restored(trip, tmp_path):
    shipper = trip.shipper()
    for name in ("first.pt", "second.pt"):
        append(trip.output / name, name.encode())
    settle(trip, shipper)
    (trip.output / "first.pt").unlink()
    settle(trip, shipper)
    assert trip.rows()["output/first.pt"].gone
    assert trip.content("output/first.pt") == b"first.pt"
    restore(trip.store, trip.spool.uid, tmp_path / "again")
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["second.pt"]
    append(trip.output / "first.pt", b"back")
    settle(trip, shipper)
    assert not trip.rows()["output/first.pt"].gone


def test_an_output_folder_that_vanishes_is_not_taken_for_deleting(trip):
    shipper = trip.shipper()
    append(trip.output / "model.pt", b"x")
    settle(trip, shipper)
    trip.output.rename(trip.output.with_name("elsewhere"))
    settle(trip, shipper)
    assert not trip.rows()["output/model.pt"].gone


ODD_NAMES = [
    "sp ace #?%41 +&.bin",
    "ünï日本\u0301",
    "back\\slash",
    "new\nline\ttab",
    "dot.",
    "~2",
    "model~2.pt",
    "x" * 250,
    "-flag",
    "con*?<>|.txt",
    os.fsdecode(b"not-\xff\xfe-unicode"),
    "deep/" * 60 + "end",
]


def test_odd_names_come_back_as_they_were(trip, tmp_path):
    contents = {}
    for number, name in enumerate(ODD_NAMES):
        append(trip.output / name, str(number).encode())
        contents[name] = str(number).encode()
    append(trip.output / ("events.out.tfevents.1.a\nb" + "y" * 220), records(0, 3))
    append(trip.output / "back%5Cslash", b"not the other")
    contents["back%5Cslash"] = b"not the other"
    state = trip.shipper().finish("completed")
    assert state.problems == {}
    assert state.files_left == 0
    again = tmp_path / "again"
    assert restore(trip.store, trip.spool.uid, again).problems == ()
    for name, content in contents.items():
        assert (again / name).read_bytes() == content
    assert (again / ("events.out.tfevents.1.a\nb" + "y" * 220)).read_bytes() == records(0, 3)
    json.loads(trip.store.get(trip.folder.key("outputs.json")).decode("utf-8"))


def test_links_inside_the_folder_are_kept_as_links(trip, tmp_path, caplog):
    append(trip.output / "checkpoints" / "epoch-3.pt", b"weights" * 1000)
    (trip.output / "checkpoints" / "last.pt").symlink_to("epoch-3.pt")
    (trip.output / "latest").symlink_to(trip.output / "checkpoints")
    (trip.output / "loop").symlink_to(trip.output)
    (trip.output / "nowhere").symlink_to("missing")
    append(tmp_path / "secret", b"not ours")
    (trip.output / "outside").symlink_to(tmp_path / "secret")
    shipper = trip.shipper()
    settle(trip, shipper)
    settle(trip, shipper)
    assert sum("outside" in record.getMessage() for record in caplog.records) == 1
    assert trip.store.traffic.count().bytes_out < 12_000
    assert set(trip.rows()) == {
        "output/checkpoints/epoch-3.pt",
        "output/checkpoints/last.pt",
        "output/latest",
    }
    again = tmp_path / "again"
    restore(trip.store, trip.spool.uid, again)
    assert (again / "latest" / "last.pt").read_bytes() == b"weights" * 1000
    assert (again / "checkpoints" / "last.pt").is_symlink()
    (trip.output / "latest").unlink()
    settle(trip, shipper)
    assert "output/latest" not in trip.rows()


def test_pipes_and_sockets_are_passed_over(trip, monkeypatch):
    os.mkfifo(trip.output / "pipe")
    monkeypatch.chdir(trip.output)
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    append(trip.output / "file", b"x")
    state = trip.shipper().finish("completed", timeout=20)
    assert state.is_sealed
    assert set(trip.rows()) == {"output/file"}


def test_an_unreadable_file_stops_no_other_and_is_told_once(tmp_path, caplog):
    with folder_of_an_ordinary_user() as folder:
        trip = Trip.begin(folder, open_store(f"memory://{tmp_path.name}"))
        append(trip.output / "a-secret.bin", b"x")
        append(trip.output / "b.bin", b"y")
        append(trip.output / "tensorboard" / "a.tfevents.1", records(0, 3))
        append(trip.output / "tensorboard" / "b.tfevents.1", records(5, 3))
        for name in ("a-secret.bin", "tensorboard/a.tfevents.1"):
            (trip.output / name).chmod(0)
        (trip.output / "closed").mkdir(mode=0)
        shipper = trip.shipper()
        for _ in range(4):
            settle(trip, shipper)
        assert trip.content("output/b.bin") == b"y"
        assert trip.content("output/tensorboard/b.tfevents.1") == records(5, 3)
        said = [record.getMessage() for record in caplog.records]
        for name in ("a-secret.bin", "a.tfevents.1", "closed"):
            assert sum(name in text for text in said) == 1
        assert len(shipper.state.problems) == 3
        assert shipper.state.files_left == 2
        (trip.output / "a-secret.bin").chmod(0o600)
        trip.clock.move(40)
        settle(trip, shipper)
        assert trip.content("output/a-secret.bin") == b"x"
        state = shipper.finish("completed", timeout=30)
        assert (state.is_sealed, state.files_left) == (True, 1)


def test_one_file_that_the_store_refuses_stops_no_other(trip, monkeypatch):
    put = trip.store.put

    def refuse_one(key, data, **options):
        if "cursed" in key:
            raise StoreError("no such file shall be kept here")
        return put(key, data, **options)

    monkeypatch.setattr(trip.store, "put", refuse_one)
    for name in ("a", "cursed", "z"):
        append(trip.output / name, name.encode())
    shipper = trip.shipper()
    state = settle(trip, shipper)
    assert trip.content("output/a") == b"a"
    assert trip.content("output/z") == b"z"
    assert state.files_left == 1
    assert state.error == ""
    assert any("cursed" in path for path in state.problems)


def test_many_files_do_not_make_many_lists(tmp_path):
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    shipper = trip.shipper()
    for number in range(240):
        append(trip.output / "pictures" / f"{number}.png", b"p" * 10)
        trip.clock.move(0.2)
        if number % 3 == 0:
            shipper.ship_once()
    shipper.finish("completed")
    trip.check_equal()
    assert trip.folder.read_outputs().serial < 60


def test_a_large_checkpoint_does_not_hold_up_the_curves(tmp_path, monkeypatch):
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    append(trip.output / "large.bin", b"x" * BIG)
    is_sending, may_go_on, stop = threading.Event(), threading.Event(), threading.Event()
    real = trip.store.put_stream

    def slow(*arguments, **options):
        is_sending.set()
        may_go_on.wait(120)
        return real(*arguments, **options)

    monkeypatch.setattr(trip.store, "put_stream", slow)
    shipper = trip.shipper(monotonic=time.monotonic, pace=partial(UploadPace, usual_seconds=0.01))
    thread = threading.Thread(target=shipper.run, args=(stop,))
    thread.start()
    try:
        assert is_sending.wait(60)
        append(trip.output / "tensorboard" / "a.tfevents.1", records(0, 5))
        until(lambda: shipper.state.files == 1)
        assert trip.content("output/tensorboard/a.tfevents.1") == records(0, 5)
    finally:
        may_go_on.set()
        stop.set()
        thread.join(60)
    assert shipper.finish("completed", timeout=30).is_sealed
    trip.check_equal()
