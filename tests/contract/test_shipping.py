# SPDX-License-Identifier: Apache-2.0
"""What shipping promises on every kind of store: memory, folders, and real S3 and Azure servers."""

import os
import random
from functools import partial

import pytest

from aboard.model.states import RunState
from aboard.model.times import now
from aboard.run.supervisor import uploads
from aboard.run.supervisor.uploads import AttemptUpload, Destination
from aboard.store import open_store
from aboard.store.run.claims import claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.upload.restore import restore
from aboard.upload.retries import UploadPace
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader
from support.clouds import clear_clouds
from support.processes import until
from support.shipping import Trip, append, records
from support.store_kinds import opener

EVENTS = "tensorboard/train/events.out.tfevents.1794788815.machine.7.0"


@pytest.fixture(params=["folder", "memory", "s3", "azure"])
def trip(request, monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)
    with opener(request.param, request, monkeypatch, tmp_path) as opened:
        yield Trip.begin(tmp_path / "spool", opened(fsync=False))


def test_a_whole_life(trip, tmp_path):
    """Grows, is interrupted, goes on elsewhere as another attempt, ends."""
    random.seed(5)
    shipper, step = trip.shipper(), 0
    for _ in range(45):
        count = random.randrange(1, 20)
        append(trip.output / EVENTS, records(step, count))
        append(trip.spool.folder / "log" / "1.txt", f"step {step}\n".encode())
        step += count
        shipper.ship_once()
        assert trip.content(f"output/{EVENTS}") == (trip.output / EVENTS).read_bytes()
    append(trip.output / "checkpoint.pt", os.urandom(9 << 20))
    append(trip.output / "odd ünï %#?\\.txt", b"odd")
    assert shipper.finish("preempted").is_sealed
    trip.check_equal()

    second = Spool.at(tmp_path / "second machine" / trip.spool.uid)
    claim = claim_attempt(trip.folder, AttemptClaim(number=0, token="second", claimed=now()))
    restored = restore(trip.store, trip.spool.uid, second.output)
    assert restored.problems == ()
    assert (second.output / "checkpoint.pt").read_bytes() == (trip.output / "checkpoint.pt").read_bytes()
    assert (second.output / EVENTS).read_bytes() == (trip.output / EVENTS).read_bytes()
    append(second.output / "tensorboard/train/events.out.tfevents.1794788999.other.8.0", records(step, 5))
    state = Uploader(second, trip.store, claim=claim).finish("completed", timeout=60)
    assert state.is_sealed
    assert state.files_left == 0
    manifest = trip.manifest()
    assert (manifest.attempt, manifest.status, manifest.sealed) == (2, "completed", True)
    assert len([row for row in manifest.files if row.path.startswith("tb/train/")]) == 2


def test_live_and_to_two_places(trip, tmp_path, monkeypatch):
    mirror = open_store(str(tmp_path / "mirror"), create=True)
    monkeypatch.setattr(uploads, "Uploader", partial(Uploader, pace=lambda: UploadPace(0.1)))
    destination = Destination(
        folder=trip.spool.folder,
        uid=trip.spool.uid,
        store=trip.store.uri,
        mirrors=(mirror.uri,),
        output=trip.output,
    )
    upload = AttemptUpload(destination, lambda: None, lambda _: True)
    upload.start()
    for step in range(3):
        append(trip.output / EVENTS, records(step, 1))
        size = len(records(0, step + 1))
        until(lambda size=size: all(state.bytes >= size for state in upload.states))
    states = upload.finish(RunState.COMPLETED, 60)
    assert all(state.is_sealed for state in states)
    trip.check_equal()
    Trip(trip.spool, mirror, trip.claim).check_equal()


def test_a_rewritten_and_a_replaced_file(trip):
    shipper = trip.shipper()
    path = trip.output / EVENTS
    append(path, records(0, 10))
    shipper.ship_once()
    path.write_bytes(records(0, 15))
    shipper.ship_once()
    trip.check_equal()
    path.write_bytes(records(100, 20))
    shipper.ship_once()
    trip.check_equal()
    assert shipper.finish("completed").is_sealed
    trip.check_equal()


def test_without_journal_and_with_a_damaged_manifest(trip):
    shipper = trip.shipper()
    for step in range(8):
        append(trip.output / EVENTS, records(step, 1))
        shipper.ship_once()
    trip.spool.journal("journal").unlink()
    append(trip.output / EVENTS, records(8, 2))
    trip.shipper().ship_once()
    trip.check_equal()
    trip.spool.journal("journal").unlink()
    trip.store.put(trip.folder.key("manifest.json"), b"{")
    append(trip.output / EVENTS, records(10, 2))
    trip.shipper().ship_once()
    trip.check_equal()


def test_a_file_that_is_replaced_all_the_time_is_shipped_whole(trip):
    """As checkpoints are: written aside and renamed, more often than once a second."""
    shipper, aside = trip.shipper(), trip.spool.folder / "aside"
    stored = set()
    for number in range(30):
        aside.write_bytes(f"{number:04d}".encode() * 1000)
        aside.rename(trip.output / "last.pt")
        shipper.ship_once()
        trip.clock.move(0.4)
        if number >= 10:  # after four seconds
            content = trip.content("output/last.pt")
            assert content == content[:4] * 1000
            assert number - int(content[:4]) <= 10, "what is stored is older than four seconds"
            stored.add(content)
    assert len(stored) > 3
    assert shipper.finish("completed").is_sealed
    trip.check_equal()
