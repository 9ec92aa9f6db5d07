# SPDX-License-Identifier: Apache-2.0
"""Following a store, round by round, without its thread."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.errors import UnknownName
from aboard.model.names import check_name, check_workspace_name, first_uid_at, new_uid
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.services.stores import indexing
from aboard.services.stores.following import StoreFollower
from aboard.services.stores.indexing import RunIndexer
from aboard.store import Store, open_store
from aboard.store.run.claims import announce, claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.loading import LoadedRun
from aboard.store.run.run_folder import RunFolder
from support.shipping import Hands
from support.stored_runs import put_manifest, store_run


@pytest.fixture
def catalog(tmp_path: Path) -> Generator[Catalog]:
    with Catalog.open(tmp_path / "catalog.sqlite") as opened:
        yield opened


@pytest.fixture
def store() -> Store:
    return open_store(f"memory://{new_uid().lower()}/runs")


def follower(catalog: Catalog, store: Store, clock: Callable[[], float] = time.monotonic) -> StoreFollower:
    return StoreFollower(catalog, RunIndexer(catalog), store, interval=60, monotonic=clock)


def status(catalog: Catalog, uid: str) -> RunState:
    return catalog.runs.by_uid(uid).status


def requests(store: Store) -> int:
    return store.traffic.count().total_requests


def test_new_runs_and_the_end_of_live_ones_are_seen(catalog: Catalog, store: Store):
    following = follower(catalog, store)
    live = store_run(store, status=RunState.RUNNING)
    following.look()
    assert status(catalog, live) is RunState.RUNNING
    done = store_run(store)
    put_manifest(store, live, status=RunState.COMPLETED, sealed=True, serial=2)
    following.look()
    assert (status(catalog, live), status(catalog, done)) == (RunState.COMPLETED, RunState.COMPLETED)
    assert following.status().live == 0


def test_sealed_runs_cost_nothing_and_live_ones_one_request_each(catalog: Catalog, store: Store):
    following = follower(catalog, store)
    for _ in range(20):
        store_run(store)
    for _ in range(3):
        store_run(store, status=RunState.RUNNING)
    following.look()
    before = requests(store)
    following.look()
    listings = 1  # of the names of all runs
    assert requests(store) - before == listings + 3


def test_a_run_that_changes_all_the_time_is_read_whole_now_and_then_only(catalog: Catalog, store: Store):
    clock = Hands()
    following = follower(catalog, store, clock)
    live = store_run(store, status=RunState.RUNNING)
    following.look()
    before = requests(store)
    for serial in range(2, 12):
        put_manifest(store, live, serial=serial, size=serial)
        following.look()
    puts, polls = 10, 10 * 2
    assert requests(store) - before == puts + polls
    clock.move(10)
    put_manifest(store, live, serial=12, size=4096)
    following.look()
    assert catalog.runs.by_uid(live).bytes == 4096


def test_silence_is_told_and_what_is_heard_later_counts(catalog: Catalog, store: Store):
    clock = Hands()
    following = follower(catalog, store, clock)
    live = store_run(store, status=RunState.RUNNING)
    following.look()
    clock.move(80)
    following.look()
    assert status(catalog, live) is RunState.RUNNING
    clock.move(80)
    following.look()
    lost = catalog.runs.by_uid(live)
    assert lost.status is RunState.LOST
    assert lost.ended == lost.heartbeat
    assert "No sign of life since" in lost.reason
    put_manifest(store, live, serial=2)
    clock.move(60)  # lost ones are asked for once a minute
    following.look()
    back = catalog.runs.by_uid(live)
    assert (back.status, back.ended, back.reason) == (RunState.RUNNING, None, "")


def test_a_heartbeat_that_comes_another_way_keeps_a_run_from_being_lost(catalog: Catalog, store: Store):
    clock = Hands()
    following = follower(catalog, store, clock)
    live = store_run(store, status=RunState.RUNNING)
    following.look()
    clock.move(1000)
    following.heard_of(live)
    following.look()
    assert status(catalog, live) is RunState.RUNNING


def test_a_clock_that_is_wrong_by_minutes_loses_no_run_and_one_from_yesterday_is_lost_at_once(
    catalog: Catalog, store: Store
):
    following = follower(catalog, store)
    behind = store_run(store, status=RunState.RUNNING, ago=timedelta(minutes=40))
    ahead = store_run(store, status=RunState.RUNNING, ago=-timedelta(minutes=40))
    dead = store_run(store, status=RunState.RUNNING, ago=timedelta(days=1))
    following.look()
    assert (status(catalog, behind), status(catalog, ahead)) == (RunState.RUNNING, RunState.RUNNING)
    assert status(catalog, dead) is RunState.LOST


def test_after_a_restart_only_what_may_have_changed_is_read(catalog: Catalog, store: Store):
    old = [store_run(store, ago=timedelta(days=30)) for _ in range(30)]
    live = store_run(store, status=RunState.RUNNING)
    follower(catalog, store).look()
    reopened = old[3]
    put_manifest(store, reopened, serial=9)
    announce(RunFolder(store, reopened))
    put_manifest(store, live, status=RunState.FAILED, sealed=True, serial=2)
    late = store_run(store)
    before = requests(store)
    follower(catalog, store).look()
    assert requests(store) - before < 25
    found = [status(catalog, uid) for uid in (reopened, live, late)]
    assert found == [RunState.RUNNING, RunState.FAILED, RunState.COMPLETED]


def test_a_run_that_is_just_being_made_is_waited_for(catalog: Catalog, store: Store):
    following = follower(catalog, store)
    uid = new_uid()
    store.put(f"{uid}/attempts/1.json", b"{}")
    following.look()
    with pytest.raises(UnknownName):
        catalog.runs.by_uid(uid)
    assert not following.status().damaged
    store.delete(f"{uid}/attempts/1.json")
    store_run(store, uid=uid)
    following.look()
    assert status(catalog, uid) is RunState.COMPLETED


def test_a_mended_document_is_read(catalog: Catalog, store: Store):
    clock = Hands()
    following = follower(catalog, store, clock)
    uid = store_run(store, name="mended")
    good = store.get(f"{uid}/run.json")
    store.put(f"{uid}/run.json", b"{")
    following.look()
    assert uid in (following.status().damaged or {})
    store.put(f"{uid}/run.json", good)
    clock.move(10)
    following.look()
    assert not following.status().damaged
    assert catalog.runs.by_uid(uid).name == "mended"


def test_a_lost_run_that_is_begun_again_is_seen_at_once(catalog: Catalog, store: Store):
    following = follower(catalog, store)
    uid = store_run(store, status=RunState.RUNNING, ago=timedelta(days=1))
    following.look()
    assert status(catalog, uid) is RunState.LOST
    claim = AttemptClaim(number=2, token="t", claimed=now())
    claim_attempt(RunFolder(store, uid), claim, watch=False)
    following.look()
    assert status(catalog, uid) is RunState.RUNNING
    assert len(catalog.runs.by_uid(uid).attempts) == 2


HOSTILE_DOCUMENTS: dict[str, dict[str, object]] = {
    "half a character": {"name": "a\ud800b", "experiment": "e\ud800", "tags": {"\ud800": "\ud800"}, "user": "\ud800"},
    "a newline, a slash and NUL": {"name": "a\nb/c\0d", "experiment": "a\nb/c\0d"},
    "no name is left": {"name": "\n/\0", "experiment": "\n"},
    "a workspace that cannot be": {"workspace": "a/../b\n"},
    "the largest revision": {"revision": 2**63 - 1},
    "the last moment": {"created": "9999-12-31T23:59:59.999999Z"},
}


@pytest.mark.parametrize("document", HOSTILE_DOCUMENTS.values(), ids=HOSTILE_DOCUMENTS.keys())
def test_one_hostile_document_does_not_hide_other_runs(catalog: Catalog, store: Store, document: dict[str, object]):
    bad = store_run(store)
    key = f"{bad}/run.json"
    store.put(key, json.dumps({**json.loads(store.get(key)), **document}).encode())
    following = follower(catalog, store)
    following.look()
    good = store_run(store, name="good")
    following.look()
    assert catalog.runs.by_uid(good).name == "good"
    with suppress(UnknownName):
        found = catalog.runs.by_uid(bad)
        assert check_name(found.name, "a run")
        assert found.experiment is None or check_name(found.experiment, "an experiment")
        assert check_workspace_name(found.workspace)


FAR_FUTURES = ["7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "76EZ91ZQ000000000000000000", first_uid_at(now() + timedelta(days=2))]


@pytest.mark.parametrize("uid", FAR_FUTURES, ids=["last", "beyond-year-9999", "in-two-days"])
def test_a_uid_from_the_future_does_not_hide_other_runs(catalog: Catalog, store: Store, uid: str):
    following = follower(catalog, store)
    store_run(store, uid=uid, name="future")
    following.look()
    good = store_run(store, name="good")
    following.look()
    assert (catalog.runs.by_uid(uid).name, catalog.runs.by_uid(good).name) == ("future", "good")


@pytest.mark.parametrize("uid", FAR_FUTURES, ids=["last", "beyond-year-9999", "in-two-days"])
def test_a_folder_from_the_future_without_a_document_is_forgotten_with_it(catalog: Catalog, store: Store, uid: str):
    clock = Hands()
    following = follower(catalog, store, clock)
    store.put(f"{uid}/manifest.json", b"{")
    following.look()
    assert following.status().waiting == 0
    assert set(following.status().damaged or ()) == {uid}
    store.delete(f"{uid}/manifest.json")
    clock.move(10)
    following.look()
    assert not following.status().damaged
    good = store_run(store, name="good")
    following.look()
    assert catalog.runs.by_uid(good).name == "good"


def test_an_error_that_nobody_foresaw_is_damage_of_one_run(
    catalog: Catalog, store: Store, monkeypatch: pytest.MonkeyPatch
):
    bad, good = store_run(store), store_run(store, name="good")
    load = indexing.load_run

    def fails(folder: RunFolder) -> LoadedRun:
        if folder.uid == bad:
            raise ZeroDivisionError("unforeseen")
        return load(folder)

    monkeypatch.setattr(indexing, "load_run", fails)
    following = follower(catalog, store)
    following.look()
    assert catalog.runs.by_uid(good).name == "good"
    assert "unforeseen" in following.status().damaged[bad]
