# SPDX-License-Identifier: Apache-2.0
"""Files that grow: what reaches the store, and what happens when they do not only grow."""

import os

import pytest

from aboard.errors import StoreUnreachable
from aboard.store import open_store
from support.shipping import Trip, append, records

EVENTS = "events.out.tfevents.1794788815.machine.7.0"
SOURCE = f"output/tensorboard/train/{EVENTS}"


@pytest.fixture(params=["memory", "folder"])
def trip(request, tmp_path):
    uri = f"memory://{tmp_path.name}" if request.param == "memory" else str(tmp_path / "store")
    return Trip.begin(tmp_path / "spool", open_store(uri, create=True, fsync=False))


@pytest.fixture
def bucket_trip(tmp_path):
    return Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))


def train(trip):
    return trip.output / "tensorboard" / "train" / EVENTS


def test_each_byte_arrives_once(trip):
    shipper = trip.shipper()
    for step in range(10):
        append(train(trip), records(step * 5, 5))
        shipper.ship_once()
        assert trip.content(SOURCE) == train(trip).read_bytes()
    assert trip.rows()[SOURCE].path == f"tb/train/{EVENTS}"
    state = shipper.state
    assert (state.files, state.bytes, state.files_left) == (1, train(trip).stat().st_size, 0)


def test_nothing_new_sends_nothing(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 5))
    shipper.ship_once()
    before = trip.store.traffic.count()
    for _ in range(5):
        shipper.ship_once()
    assert (trip.store.traffic.count() - before).requests == {}


def test_a_sign_of_life_every_twenty_seconds(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 5))
    shipper.ship_once()
    before = trip.manifest()
    trip.clock.move(21)
    shipper.ship_once()
    after = trip.manifest()
    assert after.alive > before.alive
    assert after.serial > before.serial
    assert after.files == before.files


def test_half_a_record_waits_for_its_other_half(trip):
    shipper = trip.shipper()
    data = records(0, 3)
    append(train(trip), data[:-10])
    shipper.ship_once()
    assert trip.content(SOURCE) == records(0, 2)
    assert shipper.state.files_left == 0
    append(train(trip), data[-10:])
    shipper.ship_once()
    assert trip.content(SOURCE) == data


def test_half_a_record_is_shipped_when_the_run_ends(trip):
    append(train(trip), records(0, 3)[:-10])
    state = trip.shipper().finish("failed")
    assert state.is_sealed
    assert trip.content(SOURCE) == train(trip).read_bytes()


def test_damage_goes_with_the_next_record(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 2) + b"this is not a record, and longer than a header")
    shipper.ship_once()
    assert trip.content(SOURCE) == records(0, 2)
    append(train(trip), records(2, 1))
    shipper.ship_once()
    trip.check_equal()


def test_a_file_of_damage_does_not_wait_for_ever(bucket_trip):
    append(train(bucket_trip), os.urandom(5 << 20))
    bucket_trip.shipper().ship_once()
    assert len(bucket_trip.content(SOURCE)) >= 4 << 20


def test_a_backlog_goes_in_segments_of_limited_size(bucket_trip):
    append(train(bucket_trip), records(0, 200, size=100_000))
    append(train(bucket_trip), records(0, 1, size=12_000_000))
    bucket_trip.shipper().ship_once()
    bucket_trip.check_equal()
    sizes = [segment.bytes for segment in bucket_trip.rows()[SOURCE].segments]
    assert max(sizes) == 12_000_016
    assert sorted(sizes)[-2] <= 8 << 20


def test_a_record_too_large_for_memory_is_streamed(trip):
    append(train(trip), records(0, 1) + records(1, 1, size=34 << 20) + records(2, 1))
    shipper = trip.shipper()
    shipper.ship_once()
    append(train(trip), records(3, 1))
    shipper.ship_once()
    trip.check_equal()


def test_small_segments_are_rolled_up(bucket_trip):
    shipper = bucket_trip.shipper()
    for step in range(200):
        append(train(bucket_trip), records(step, 1))
        shipper.ship_once()
    row = bucket_trip.rows()[SOURCE]
    assert len(row.segments) < 60
    bucket_trip.check_equal()
    shipper.finish("completed")
    assert len(bucket_trip.rows()[SOURCE].segments) == 1
    bucket_trip.check_equal()


def test_every_segment_begins_with_a_record(bucket_trip):
    from aboard._native import scalars_in_records

    shipper = bucket_trip.shipper()
    data = records(0, 300)
    for start in range(0, len(data), 77):
        append(train(bucket_trip), data[start : start + 77])
        shipper.ship_once()
    bucket_trip.check_equal()
    segments = [bucket_trip.store.get(bucket_trip.folder.key(path)) for path in bucket_trip.objects("tb")]
    assert len(segments) > 3
    assert all(scalars_in_records(segment)[1] == len(segment) for segment in segments)


def test_a_file_that_is_rewritten_with_more_sends_only_what_is_new(trip):
    shipper = trip.shipper()
    content = b""
    for step in range(50):
        content += records(step * 100, 100)
        train(trip).parent.mkdir(exist_ok=True)
        train(trip).write_bytes(content)
        shipper.ship_once()
    assert trip.content(SOURCE) == content
    assert trip.rows()[SOURCE].path == f"tb/train/{EVENTS}"
    # Each byte once, once more in a roll-up, and the manifests.
    assert trip.store.traffic.count().bytes_out < 2.5 * len(content)


def test_a_file_caught_in_the_middle_of_being_rewritten_is_waited_for(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 100))
    shipper.ship_once()
    for partial in (b"", records(0, 50), records(0, 99)):
        train(trip).write_bytes(partial)
        shipper.ship_once()
        trip.clock.move(15)
        shipper.ship_once()
        assert trip.content(SOURCE) == records(0, 100)
    train(trip).write_bytes(records(0, 120))
    shipper.ship_once()
    trip.check_equal()
    assert trip.rows()[SOURCE].path == f"tb/train/{EVENTS}"


def test_training_killed_while_rewriting_loses_nothing(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 100))
    shipper.ship_once()
    train(trip).write_bytes(records(0, 30))
    state = shipper.finish("failed")
    assert state.is_sealed
    assert state.files_left == 0
    assert trip.content(SOURCE) == records(0, 100)


@pytest.mark.parametrize("replace", [True, False], ids=["renamed", "in place"])
def test_a_replaced_file_gets_a_new_generation(trip, replace):
    shipper = trip.shipper()
    append(train(trip), records(0, 100))
    shipper.ship_once()
    other = train(trip).with_suffix(".new")
    if replace:
        other.write_bytes(records(500, 150))
        other.replace(train(trip))
    else:
        train(trip).write_bytes(records(500, 150))
    shipper.ship_once()
    trip.check_equal()
    assert trip.rows()[SOURCE].path == f"tb/train/{EVENTS}~2"


def test_a_shorter_file_with_other_content_is_a_new_generation(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 300))
    shipper.ship_once()
    train(trip).write_bytes(records(0, 200) + records(900, 50))  # same beginning, other middle
    shipper.ship_once()
    assert trip.content(SOURCE) == records(0, 300)
    trip.clock.move(15)
    shipper.ship_once()
    assert trip.content(SOURCE) == train(trip).read_bytes()
    trip.check_equal()


def test_a_file_that_cannot_be_compared_stops_no_other(bucket_trip):
    shipper = bucket_trip.shipper()
    append(train(bucket_trip), records(0, 300))
    shipper.ship_once()
    train(bucket_trip).write_bytes(records(0, 200))
    shipper.ship_once()
    bucket_trip.folder.delete(bucket_trip.objects("tb"))
    bucket_trip.clock.move(12)
    append(bucket_trip.output / "other.tfevents.1", records(0, 3))
    state = shipper.ship_once()
    assert bucket_trip.content("output/other.tfevents.1") == records(0, 3)
    assert any(EVENTS in path for path in state.problems)


def test_of_a_replaced_file_the_old_content_stays_until_there_is_new(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 100))
    shipper.ship_once()
    train(trip).unlink()
    append(train(trip), records(700, 1, size=10_000)[:8000])
    shipper.ship_once()
    assert trip.content(SOURCE) == records(0, 100)
    train(trip).write_bytes(records(700, 1, size=10_000))
    shipper.ship_once()
    trip.check_equal()


def test_a_deleted_file_stays_in_the_store(trip):
    shipper = trip.shipper()
    append(train(trip), records(0, 100))
    shipper.ship_once()
    train(trip).unlink()
    shipper.ship_once()
    shipper.finish("completed")
    assert trip.content(SOURCE) == records(0, 100)


def test_event_files_at_different_places_with_one_name(trip):
    append(trip.output / "tensorboard" / EVENTS, records(0, 3))
    append(trip.output / EVENTS, records(10, 3))
    append(trip.output / "a" / "b" / EVENTS, records(20, 3))
    shipper = trip.shipper()
    shipper.ship_once()
    trip.check_equal()
    paths = {row.path for row in trip.manifest().files}
    assert paths == {f"tb/{EVENTS}", f"tb/{EVENTS}~2", f"tb/a/b/{EVENTS}"}
    assert trip.shipper().ship_once().files_left == 0
    assert {row.path for row in trip.manifest().files} == paths


def test_logs_go_as_they_are(trip):
    shipper = trip.shipper()
    log = trip.spool.folder / "log" / "1.txt"
    append(log, "é half a line".encode()[:-4])
    shipper.ship_once()
    assert trip.content("log/1.txt") == log.read_bytes()
    append(log, b"ine\nmore\n")
    shipper.ship_once()
    trip.check_equal()


def test_what_could_not_be_sent_is_sent_later(bucket_trip, monkeypatch):
    shipper = bucket_trip.shipper()
    append(train(bucket_trip), records(0, 5))
    shipper.ship_once()
    put = bucket_trip.store.put

    def refuse(*_, **__):
        raise StoreUnreachable("no network")

    monkeypatch.setattr(bucket_trip.store, "put", refuse)
    for step in range(1, 4):
        append(train(bucket_trip), records(step * 5, 5))
        with pytest.raises(StoreUnreachable):
            shipper.ship_once()
    bucket_trip.clock.move(30)
    state = shipper.state
    assert state.bytes_left == 3 * len(records(0, 5))
    assert state.seconds_behind == 30
    assert state.error == "no network"
    monkeypatch.setattr(bucket_trip.store, "put", put)
    state = shipper.ship_once()
    bucket_trip.check_equal()
    assert (state.error, state.files_left, state.seconds_behind) == ("", 0, 0)


def test_a_segment_is_sent_again_with_the_same_bytes(bucket_trip, monkeypatch):
    """A request that was given up may still arrive later: it must not change anything then."""
    shipper = bucket_trip.shipper()
    sent = []
    put = bucket_trip.store.put

    def lose_answers(key, data, **options):
        put(key, data, **options)
        if "/tb/" in key:
            sent.append((key, bytes(data)))
            if len(sent) < 3:
                raise StoreUnreachable("the answer was lost")

    monkeypatch.setattr(bucket_trip.store, "put", lose_answers)
    for step in range(2):
        append(train(bucket_trip), records(step, 1))
        with pytest.raises(StoreUnreachable):
            shipper.ship_once()
    shipper.ship_once()
    assert sent[0] == sent[1] == sent[2]
    monkeypatch.undo()
    shipper.ship_once()
    bucket_trip.check_equal()
