# SPDX-License-Identifier: Apache-2.0
"""Uploads of one run to several stores at the same time, and the way they end."""

import threading
from functools import partial
from typing import Any

import pytest

from aboard.model.states import RunState
from aboard.run.supervisor import uploads
from aboard.run.supervisor.uploads import AttemptUpload, Destination
from aboard.store import open_store
from aboard.upload.retries import UploadPace
from aboard.upload.uploader import Uploader
from support.processes import until
from support.shipping import Trip, append, records

SOURCE = "output/tensorboard/a.tfevents.1"
MIRROR_JOURNAL = "journal-mirror1"


@pytest.fixture
def trip(tmp_path):
    return Trip.begin(tmp_path / "spool", open_store(f"memory://{tmp_path.name}"))


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A store whose answers do not come before `come` is set."""
    store: Any = open_store(f"memory://mirror-{tmp_path.name}")
    store.come, put = threading.Event(), store.put

    def late(*arguments, **options):
        store.come.wait(60)
        return put(*arguments, **options)

    monkeypatch.setattr(store, "put", late)
    yield store
    store.come.set()


@pytest.fixture
def upload(trip, away, monkeypatch):
    """The upload of one run to a store and to a mirror."""
    stores = {trip.store.uri: trip.store, away.uri: away}
    monkeypatch.setattr(uploads, "open_store", lambda uri, **_: stores[uri])
    monkeypatch.setattr(uploads, "Uploader", partial(Uploader, pace=partial(UploadPace, usual_seconds=0.01)))
    both = Destination(
        folder=trip.spool.folder, uid=trip.spool.uid, store=trip.store.uri, mirrors=(away.uri,), output=trip.output
    )
    return AttemptUpload(both, lambda: None, lambda _: True)


def test_the_trouble_of_one_destination_does_not_delay_the_other(trip, away, upload):
    upload.start()
    append(trip.spool.folder / SOURCE, records(0, 5))
    until(lambda: upload.states[0].bytes == len(records(0, 5)))
    assert upload.states[1].bytes == 0
    finished = []
    finishing = threading.Thread(target=lambda: finished.extend(upload.finish(RunState.COMPLETED, 60)))
    finishing.start()
    until(lambda: upload.states[0].is_sealed)
    assert not upload.states[1].is_sealed
    away.come.set()
    finishing.join(60)
    assert [state.is_sealed for state in finished] == [True, True]
    copy = Trip(trip.spool, away, trip.claim)
    copy.check_equal()
    assert copy.manifest().status == "completed"
    assert copy.folder.read_run() is not None


def test_finishing_within_a_time_limit_tells_what_is_left(trip, away, upload):
    append(trip.spool.folder / SOURCE, records(0, 5))
    append(trip.output / "model.pt", b"x" * 1000)
    assert Uploader(trip.spool, trip.store).finish("completed").is_sealed
    first, second = upload.finish(RunState.COMPLETED, 1)
    assert (first.is_sealed, second.is_sealed) == (True, False)
    assert (second.files_left, second.bytes_left) == (2, 1000 + len(records(0, 5)))
    assert "2 files, 1.3 KB left" in str(second)
    away.come.set()
    late = Uploader(trip.spool, away, journal=MIRROR_JOURNAL)
    assert late.finish().is_sealed
    Trip(trip.spool, away, trip.claim).check_equal()
