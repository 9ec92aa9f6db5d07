# SPDX-License-Identifier: Apache-2.0
"""A shipper that takes up what another left: after a crash, a lost journal, a damaged manifest, a deleted folder."""

import json
import logging

import pytest

from aboard.errors import NoSuchStore, RunClaimed, StoreUnreachable
from aboard.model.times import now
from aboard.store import open_store
from aboard.store.run.claims import announcements_of, claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader
from support.shipping import Trip, append, records

EVENTS = "events.out.tfevents.1794788815.machine.7.0"
SOURCE = f"output/tensorboard/{EVENTS}"


@pytest.fixture(params=["memory", "folder"])
def trip(request, tmp_path):
    uri = f"memory://{tmp_path.name}" if request.param == "memory" else str(tmp_path / "store")
    return Trip.begin(tmp_path / "spool", open_store(uri, create=True, fsync=False))


def events(trip):
    return trip.output / "tensorboard" / EVENTS


def shipped(trip, count=20):
    """A run of which something is in the store."""
    shipper = trip.shipper()
    (trip.output / "model.pt").write_bytes(b"weights")
    for step in range(count):
        append(events(trip), records(step, 1))
        shipper.ship_once()
        trip.clock.move(2)
    shipper.ship_once()
    trip.check_equal()


def test_the_next_shipper_goes_on(trip):
    shipped(trip)
    append(events(trip), records(100, 5))
    before = trip.store.traffic.count()
    trip.shipper().ship_once()
    trip.check_equal()
    sent = trip.store.traffic.count() - before
    assert sent.bytes_out < len(records(0, 5)) + 1500  # what is new, and a manifest
    assert trip.manifest().attempt == 1


def test_a_run_that_ended_otherwise_after_all_tells_so_to_everybody(trip):
    append(events(trip), records(0, 5))
    shipper = trip.shipper()
    shipper.finish("failed", timeout=30)
    before = announcements_of(trip.folder)
    for _ in range(2):  # the second time nothing is new
        shipper.finish("cancelled", timeout=30)
        assert (trip.manifest().status, trip.manifest().sealed) == ("cancelled", True)
        assert len(announcements_of(trip.folder)) == len(before) + 1
    columns = trip.manifest().columns
    if columns is not None:  # one object tells all of a sealed run, and how it ended
        told = trip.store.get(trip.folder.key(columns.path))
        assert b"cancelled" in told
        assert b"failed" not in told
    trip.check_equal()


def test_without_its_journal(trip):
    shipped(trip)
    trip.spool.journal("journal").unlink()
    append(events(trip), records(100, 5))
    before = trip.store.traffic.count()
    trip.shipper().ship_once()
    trip.check_equal()
    assert (trip.store.traffic.count() - before).bytes_out < len(records(0, 5)) + 1500


@pytest.mark.parametrize("damage", [b"", b"{", b'{"format":"aboard-journal","version":[1,0],"files":3}', b"\0" * 50])
def test_with_a_damaged_journal(trip, damage):
    shipped(trip)
    trip.spool.journal("journal").write_bytes(damage)
    append(events(trip), records(100, 5))
    trip.shipper().ship_once()
    trip.check_equal()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format":"aboard-manifest","version":[1,0]}'])
@pytest.mark.parametrize("journal", [True, False], ids=["with a journal", "without"])
def test_with_a_damaged_manifest(trip, damage, journal):
    shipped(trip)
    trip.store.put(trip.folder.key("manifest.json"), damage)
    if not journal:
        trip.spool.journal("journal").unlink()
    append(events(trip), records(100, 5))
    shipper = trip.shipper()
    shipper.ship_once()
    trip.check_equal()
    assert shipper.finish("completed").is_sealed


@pytest.mark.parametrize("is_last", [True, False], ids=["at the end", "while running"])
def test_a_damaged_manifest_costs_nothing_that_only_the_store_has(trip, is_last):
    shipped(trip)
    content = events(trip).read_bytes()
    events(trip).unlink()
    trip.spool.journal("journal").unlink()
    trip.store.put(trip.folder.key("manifest.json"), b"{")
    shipper = trip.shipper()
    shipper.finish("completed") if is_last else shipper.ship_once()
    assert trip.content(SOURCE) == content


def test_a_damaged_list_of_outputs(trip):
    shipped(trip)
    trip.store.put(trip.folder.key("outputs.json"), b"{")
    shipper = trip.shipper()
    shipper.ship_once()
    trip.clock.move(2)
    shipper.ship_once()
    trip.check_equal()


@pytest.mark.parametrize("restart", [True, False], ids=["restarted", "running"])
def test_a_run_deleted_by_hand_is_shipped_again(trip, restart, caplog):
    caplog.set_level(logging.INFO, "aboard")
    shipper = trip.shipper()
    append(events(trip), records(0, 50))
    shipper.ship_once()
    trip.store.delete([entry.key for entry in trip.store.list()])
    append(events(trip), records(50, 5))
    trip.clock.move(20)
    shipper = trip.shipper() if restart else shipper
    shipper.ship_once()
    trip.check_equal()
    assert trip.folder.read_run() is not None
    assert trip.folder.attempt_numbers() == [1]
    shipper.finish("completed")
    trip.check_equal()


def test_a_segment_deleted_by_hand_is_shipped_again(tmp_path):
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    shipped(trip, 10)
    trip.folder.delete([trip.objects("tb")[4]])
    trip.spool.journal("journal").unlink()
    shipper = trip.shipper()
    shipper.ship_once()
    shipper.finish("completed")
    trip.check_equal()


@pytest.mark.parametrize("moment", ["segment", "manifest", "roll-up", "delete"])
def test_killed_at_the_worst_moments(tmp_path, monkeypatch, moment):
    """The process dies right after a request; its successor finds what it left."""
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    shipped(trip, 31)
    put, delete = trip.store.put, trip.store.delete

    class Killed(BaseException):
        pass

    def dying_put(key, data, **options):
        put(key, data, **options)
        is_roll_up = key.endswith(".00000000")
        wanted = {"segment": "/tb/" in key and not is_roll_up, "manifest": "manifest" in key, "roll-up": is_roll_up}
        if wanted.get(moment):
            raise Killed

    def dying_delete(keys):
        if moment == "delete":
            raise Killed
        delete(keys)

    append(events(trip), records(100, 1))
    shipper = trip.shipper()
    monkeypatch.setattr(trip.store, "put", dying_put)
    monkeypatch.setattr(trip.store, "delete", dying_delete)
    with pytest.raises(Killed):
        shipper.ship_once()
    monkeypatch.undo()
    append(events(trip), records(101, 3))
    shipper = trip.shipper()
    shipper.ship_once()
    trip.check_equal()


def test_a_full_disk_for_the_journal_loses_nothing(trip, caplog):
    trip.spool.journal("journal").mkdir()  # nothing can be renamed over a folder
    shipper = trip.shipper()
    for step in range(40):
        append(events(trip), records(step, 1))
        shipper.ship_once()
    trip.check_equal()
    told = [record for record in caplog.records if "journal cannot be written" in record.getMessage()]
    assert len(told) == 1
    assert any("journal" in subject for subject in shipper.state.problems)
    append(events(trip), records(60, 1))
    trip.shipper().finish("completed")
    trip.check_equal()


def test_an_end_that_could_not_be_told_is_told_later(tmp_path):
    away = Trip.begin(tmp_path / "spool", open_store(str(tmp_path / "missing")))
    append(events(away), records(0, 10))
    shipper = Uploader(away.spool, away.store)
    with pytest.raises(NoSuchStore):
        shipper.ship_once()
    state = shipper.finish("completed", timeout=0)
    assert not state.is_sealed
    assert (state.files_left, state.bytes_left) == (1, len(records(0, 10)))
    assert "missing" in state.error
    (tmp_path / "missing").mkdir()
    late = Uploader(away.spool, away.store)
    assert late.ended == "completed"
    assert late.finish(timeout=30).is_sealed
    away.check_equal()
    assert away.manifest().status == "completed"


def test_finishing_twice_asks_and_sends_nothing_new(trip):
    shipped(trip)
    trip.shipper().finish("failed")
    before = trip.store.traffic.count()
    state = trip.shipper().finish()
    assert state.is_sealed
    assert (trip.store.traffic.count() - before).bytes_out == 0
    assert trip.manifest().status == "failed"


def test_a_sealed_run_that_gets_more_is_announced(trip):
    shipped(trip)
    trip.shipper().finish("completed")
    append(events(trip), records(100, 5))
    shipper = trip.shipper()
    shipper.ship_once()
    assert not trip.manifest().sealed
    markers = [entry.key for entry in trip.store.list("_reopened")]
    assert len(markers) == 1
    assert markers[0].endswith(trip.spool.uid)
    shipper.finish("completed")
    trip.check_equal()


def test_a_later_attempt_ends_an_earlier_shipper(trip, caplog):
    shipped(trip)
    old = trip.shipper()
    old.ship_once()
    old.finish("preempted")
    claim = AttemptClaim(number=0, token="other", claimed=now(), host="elsewhere")
    assert claim_attempt(trip.folder, claim).number == 2
    before = trip.store.get(trip.folder.key("manifest.json"))
    append(events(trip), records(100, 5))
    state = trip.shipper().finish("completed", timeout=20)
    assert state.is_superseded
    assert not state.is_sealed
    assert trip.store.get(trip.folder.key("manifest.json")) == before
    assert sum("later attempt" in record.getMessage() for record in caplog.records) == 1


def test_a_new_attempt_keeps_all_files_of_the_earlier_ones(trip, tmp_path):
    shipped(trip)
    trip.shipper().finish("preempted")
    content = trip.content(SOURCE)
    claim = claim_attempt(trip.folder, AttemptClaim(number=0, token="second", claimed=now()))
    spool = Spool.at(tmp_path / "second machine" / trip.spool.uid)
    append(spool.output / "tensorboard" / "other.tfevents.2", records(300, 5))
    shipper = Uploader(spool, trip.store, claim=claim, monotonic=trip.clock)
    shipper.ship_once()
    assert trip.content(SOURCE) == content
    assert trip.content("output/tensorboard/other.tfevents.2") == records(300, 5)
    assert trip.content("output/model.pt") == b"weights"
    manifest = trip.manifest()
    assert (manifest.attempt, manifest.status) == (2, "running")
    assert [(one.number, one.status) for one in manifest.earlier] == [(1, "preempted")]
    shipper.finish("completed")
    assert trip.content(SOURCE) == content


def test_two_machines_cannot_have_the_same_attempt(trip, tmp_path):
    shipped(trip)
    claim = AttemptClaim(number=1, token="somebody else", claimed=now())
    state = trip.shipper(claim=claim).finish("completed", timeout=20)
    assert state.is_superseded
    with pytest.raises(RunClaimed, match="is being worked on by process 7 on machine"):
        claim_attempt(trip.folder, claim, watch=False)


def test_a_run_that_arrives_late_is_announced(tmp_path, monkeypatch):
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    import time

    append(events(trip), records(0, 1))
    real = time.time
    monkeypatch.setattr("aboard.upload.recovery.time.time", lambda: real() + 7200)
    trip.shipper().ship_once()
    assert [entry.key.rpartition(".")[2] for entry in trip.store.list("_reopened")] == [trip.spool.uid]


def test_an_unreachable_store_is_told_once(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO, "aboard")
    trip = Trip.begin(tmp_path, open_store(f"memory://{tmp_path.name}"))
    shipper = trip.shipper()
    append(events(trip), records(0, 1))

    def refuse(*_, **__):
        raise StoreUnreachable("The network is down.")

    monkeypatch.setattr(trip.store, "list", refuse)
    for _ in range(5):
        with pytest.raises(StoreUnreachable):
            shipper.ship_once()
    monkeypatch.undo()
    shipper.ship_once()
    said = [record.getMessage() for record in caplog.records]
    assert sum("The network is down." in text for text in said) == 1
    assert sum("takes files again" in text for text in said) == 1


def test_journal_and_manifest_are_plain_json(trip):
    shipped(trip)
    journal = json.loads(trip.spool.journal("journal").read_text())
    assert journal["format"] == "aboard-journal"
    manifest = json.loads(trip.store.get(trip.folder.key("manifest.json")))
    assert manifest["format"] == "aboard-manifest"
    assert manifest["version"] == [1, 0]
