# SPDX-License-Identifier: Apache-2.0
"""Uploading in the background, and the way it ends."""

import threading
from functools import partial

import pytest

from aboard.errors import InvalidValue, StoreUnreachable
from aboard.model.runs import MetricPoint, MetricSummary
from aboard.store import open_store
from aboard.store.run.documents import Summary
from aboard.upload.retries import UploadPace, UploadProblems
from aboard.upload.scan import Spool, WatchedFolder
from aboard.upload.uploader import Uploader
from support.processes import until
from support.shipping import Trip, append, records

QUICK = partial(UploadPace, usual_seconds=0.01)
SOURCE = "output/tensorboard/a.tfevents.1"


@pytest.fixture
def trip(tmp_path):
    return Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))


def test_what_is_written_is_in_the_store_soon(trip):
    shipper = Uploader(trip.spool, trip.store, pace=QUICK)
    stop = threading.Event()
    thread = threading.Thread(target=shipper.run, args=(stop,))
    thread.start()
    try:
        for step in range(3):
            append(trip.spool.folder / SOURCE, records(step, 1))
            append(trip.output / f"{step}.png", b"x")
            size = len(records(0, step + 1))
            until(lambda size=size: shipper.state.bytes >= size)
            assert trip.content(SOURCE) == records(0, step + 1)
        until(lambda: {f"output/{step}.png" for step in range(3)} <= trip.rows().keys())
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    trip.check_equal()
    assert not trip.manifest().sealed


def test_an_idle_shipper_sends_a_sign_of_life_and_nothing_else(trip):
    """How often it looks is up to its pace, see below."""
    append(trip.spool.folder / SOURCE, records(0, 1))
    shipper = trip.shipper()
    shipper.ship_once()
    before = trip.store.traffic.count()
    for _ in range(60):
        trip.clock.move(1)
        shipper.ship_once()
    sent = trip.store.traffic.count() - before
    assert sent.total_requests == 7, "three manifests, and four looks for a later attempt"


def test_a_status_that_does_not_exist(trip):
    with pytest.raises(InvalidValue, match="'done' is not a state of a run"):
        trip.shipper().finish("done")


def test_a_spool_without_an_attempt(tmp_path, trip):
    with pytest.raises(InvalidValue, match=r"attempt\.json"):
        Uploader(tmp_path / trip.spool.uid, trip.store)
    with pytest.raises(InvalidValue, match="not a uid"):
        Uploader(tmp_path / "my-folder", trip.store)


def test_a_summary_is_put_every_ten_seconds(trip):
    values = iter(range(100))

    def summary():
        point = MetricPoint(float(next(values)), 1, 2.0)
        return Summary(metrics={"loss": MetricSummary.of(point)})

    shipper = trip.shipper(summary=summary)
    for _ in range(10):
        shipper.ship_once()
        trip.clock.move(3)
    assert trip.folder.read_summary().metrics["loss"].last.value == 2
    shipper.finish("completed")
    assert trip.folder.read_summary().metrics["loss"].last.value == 3


def test_a_watched_folder_gives_its_event_files(trip, tmp_path):
    watched = tmp_path / "elsewhere"
    append(watched / "run" / "a.tfevents.9", records(0, 3))
    append(watched / "run" / "b.tfevents.9", records(5, 3))
    append(watched / "run" / "model.pt", b"x")
    folders = (
        WatchedFolder("tmp", watched, lambda path: path.name.startswith("a")),
        WatchedFolder("no", tmp_path / "no"),
    )
    spool = Spool.at(trip.spool.folder, watched=folders)
    Uploader(spool, trip.store, monotonic=trip.clock).finish("completed")
    assert {row.path: row.source for row in trip.manifest().files} == {
        "tb/run/a.tfevents.9": "watch/tmp/run/a.tfevents.9"
    }
    with pytest.raises(InvalidValue):
        WatchedFolder("a/b", watched)


def test_a_watched_file_that_was_restored_into_the_output_folder_is_the_same_file(trip, tmp_path):
    watched = tmp_path / "elsewhere"
    append(watched / "run" / "a.tfevents.9", records(0, 3))
    spool = Spool.at(trip.spool.folder, watched=(WatchedFolder("tmp", watched),))
    Uploader(spool, trip.store, monotonic=trip.clock).ship_once()
    (trip.output / "tensorboard" / "run").mkdir()
    (watched / "run" / "a.tfevents.9").rename(trip.output / "tensorboard" / "run" / "a.tfevents.9")
    before = trip.store.traffic.count()
    Uploader(spool, trip.store, monotonic=trip.clock).ship_once()
    assert {row.path for row in trip.manifest().files} == {"tb/run/a.tfevents.9"}
    assert (trip.store.traffic.count() - before).bytes_out < 1000


def test_pauses():
    pace = UploadPace()
    assert pace.after_success(0.01) <= 1
    assert pace.after_success(0.5) == 5
    pauses = [pace.after_failure() for _ in range(20)]
    assert 1 <= pauses[0] <= 2
    assert all(pause <= 60 for pause in pauses)
    assert min(pauses[8:]) >= 30
    assert pace.after_success(0.0) <= 1


def test_an_error_names_its_store_once(caplog):
    for message in ("s3://bucket/x: the server could not write it (503).", "/store/x: no permission to write."):
        conditions = UploadProblems("s3://bucket/x")
        conditions.store_failed("growing", StoreUnreachable(message, hint="Check the network."))
        said = caplog.records[-1].getMessage()
        assert said.count("s3://bucket/x") == 1
        assert said.endswith("Everything is kept here and shipped later. Check the network.")
