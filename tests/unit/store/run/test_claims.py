# SPDX-License-Identifier: Apache-2.0
"""Who may work on a run: one attempt at a time, however clocks differ."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aboard.errors import RunClaimed, StoreUnreachable
from aboard.model.names import first_uid_at, new_uid, uid_time
from aboard.model.times import now
from aboard.store import open_store
from aboard.store.run.claims import announce, claim_attempt
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.listing import RunListing
from aboard.store.run.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path):
    return RunFolder(open_store(f"memory://{tmp_path.name}"), new_uid())


def claim_of(token):
    return AttemptClaim(number=0, token=token, claimed=now(), host=f"host-of-{token}", pid=5)


class Waiting:
    """Counts the seconds that somebody waits, and lets something happen meanwhile."""

    def __init__(self, happens=lambda: None):
        self.seconds = 0.0
        self._happens = happens

    def __call__(self, seconds):
        self.seconds += seconds
        self._happens()


def change(folder, **fields):
    folder.write_manifest(replace(folder.read_manifest().manifest, **fields))


def test_the_first_claim_waits_for_nobody(folder):
    wait = Waiting()
    assert claim_attempt(folder, claim_of("a"), sleep=wait).number == 1
    assert wait.seconds == 0
    manifest = folder.read_manifest().manifest
    assert (manifest.attempt, manifest.status, manifest.sealed) == (1, "running", False)


def test_a_repeated_claim_is_the_same(folder):
    claim = claim_of("a")
    assert claim_attempt(folder, claim).number == 1
    assert claim_attempt(folder, claim).number == 1
    assert folder.attempt_numbers() == [1]


def test_a_claim_whose_answer_was_lost_can_be_made_again(folder, monkeypatch):
    claim, put = claim_of("a"), folder.store.put

    def lose(*arguments, **options):
        put(*arguments, **options)
        raise StoreUnreachable("the answer was lost")

    monkeypatch.setattr(folder.store, "put", lose)
    with pytest.raises(StoreUnreachable):
        claim_attempt(folder, claim)
    monkeypatch.undo()
    assert claim_attempt(folder, claim).number == 1


def test_a_sealed_run_is_taken_at_once_and_announced(folder):
    claim_attempt(folder, claim_of("a"))
    change(folder, sealed=True, status="preempted")
    wait = Waiting()
    assert claim_attempt(folder, claim_of("b"), sleep=wait).number == 2
    assert wait.seconds == 0
    assert len(list(folder.store.list("_reopened"))) == 1
    assert [one.status for one in folder.read_manifest().manifest.earlier] == ["preempted"]


def test_a_living_attempt_is_not_disturbed(folder):
    claim_attempt(folder, claim_of("a"))
    wait = Waiting(lambda: wait.seconds >= 20 and change(folder, alive=now(), serial=9))
    with pytest.raises(RunClaimed, match=r"Attempt 1 of run .* by process 5 on host-of-a") as raised:
        claim_attempt(folder, claim_of("b"), sleep=wait)
    assert wait.seconds <= 22
    assert raised.value.hint
    assert folder.attempt_numbers() == [1]


def test_without_watching_a_fresh_sign_is_believed(folder):
    claim_attempt(folder, claim_of("a"))
    with pytest.raises(RunClaimed):
        claim_attempt(folder, claim_of("b"), watch=False)
    change(folder, alive=now() - timedelta(seconds=61))
    assert claim_attempt(folder, claim_of("b"), watch=False).number == 2


@pytest.mark.parametrize(("age", "expected"), [(3600, 26), (5, 60), (-3600, 60)], ids=["old", "fresh", "future"])
def test_a_dead_attempt_is_found_out(folder, age, expected):
    claim_attempt(folder, claim_of("a"))
    change(folder, alive=now() - timedelta(seconds=age))
    wait = Waiting()
    assert claim_attempt(folder, claim_of("b"), sleep=wait).number == 2
    assert abs(wait.seconds - expected) <= 2
    assert [one.status for one in folder.read_manifest().manifest.earlier] == ["lost"]


def test_who_knows_that_the_process_is_gone_need_not_wait(folder):
    claim_attempt(folder, claim_of("a"))
    wait = Waiting()
    with pytest.raises(RunClaimed):
        claim_attempt(folder, claim_of("b"), is_over=lambda last: last.pid != 5, watch=False, sleep=wait)
    assert claim_attempt(folder, claim_of("b"), is_over=lambda last: last.pid == 5, sleep=wait).number == 2
    assert wait.seconds == 0


def test_a_clock_that_is_behind_kills_nobody(folder):
    """The other machine's clock is an hour behind, and its signs look old; but they change."""
    claim_attempt(folder, claim_of("a"))
    behind = timedelta(hours=1)
    change(folder, alive=now() - behind)
    wait = Waiting(lambda: wait.seconds >= 20 and change(folder, alive=now() - behind))
    with pytest.raises(RunClaimed):
        claim_attempt(folder, claim_of("b"), sleep=wait)


def test_two_claims_at_the_same_moment_have_one_winner(folder):
    claim_attempt(folder, claim_of("a"))
    change(folder, alive=now() - timedelta(hours=1))
    claims = []

    def meanwhile():
        if not claims and wait.seconds >= 20:
            claims.append(claim_attempt(folder, claim_of("quick"), sleep=Waiting()))

    wait = Waiting(meanwhile)
    with pytest.raises(RunClaimed):
        claim_attempt(folder, claim_of("slow"), sleep=wait)
    assert folder.read_attempt(2).token == "quick"


def test_a_damaged_manifest_does_not_lock_a_run_for_ever(folder):
    claim_attempt(folder, claim_of("a"))
    folder.store.put(folder.key("manifest.json"), b"{")
    assert claim_attempt(folder, claim_of("b"), sleep=Waiting()).number == 2


def test_an_attempt_that_was_only_claimed(folder):
    folder.create_attempt(replace(claim_of("a"), number=1, claimed=now() - timedelta(hours=1)))
    wait = Waiting()
    assert claim_attempt(folder, claim_of("b"), sleep=wait).number == 2
    assert wait.seconds >= 25


def test_runs_are_listed_once(folder):
    store = folder.store
    listing = RunListing(store)
    assert listing.new() == []
    uids = [new_uid() for _ in range(3)]
    for uid in uids[:2]:
        store.put(f"{uid}/run.json", b"{}")
    store.put("somebody's file", b"")
    store.put("other/folder", b"")
    assert listing.new() == uids[:2]
    assert listing.new() == []
    store.put(f"{uids[2]}/run.json", b"{}")
    assert listing.new() == uids[2:]


def test_late_and_reopened_runs_are_listed_again(folder):
    store = folder.store
    late = first_uid_at(now() - timedelta(days=9))[:-1] + "7"
    uid = new_uid()
    store.put(f"{uid}/run.json", b"{}")
    listing = RunListing(store)
    assert listing.new() == [uid]
    store.put(f"{late}/run.json", b"{}")
    assert listing.new() == []
    announce(RunFolder(store, late))
    announce(RunFolder(store, uid))
    assert listing.new() == [late, uid]
    assert listing.new() == []
    announce(RunFolder(store, uid))
    assert listing.new() == [uid]


def test_clocks_may_differ_when_listing(folder):
    store = folder.store
    clock = iter(range(0, 10_000, 100))
    listing = RunListing(store, lambda: next(clock))
    future = first_uid_at(now() + timedelta(days=900))
    store.put(f"{future}/run.json", b"{}")
    assert listing.new() == [future]
    behind = first_uid_at(now() - timedelta(minutes=50))
    for uid in (behind, new_uid()):
        store.put(f"{uid}/run.json", b"{}")
        assert listing.new() == [uid]
    assert abs((uid_time(behind) - now()).total_seconds() + 3000) < 60


def test_what_is_inside_young_runs_is_not_listed_again_and_again(folder):
    store, seconds = folder.store, [0.0]
    listing = RunListing(store, lambda: seconds[0])
    young = first_uid_at(now() - timedelta(minutes=10))
    old = [first_uid_at(now() - timedelta(days=number + 1)) for number in range(40)]
    for uid in (*old, young, new_uid()):
        store.put(f"{uid}/run.json", b"{}")
    assert len(listing.new()) == 42
    started_from = []
    real = store.list_folders
    store.list_folders = lambda **where: started_from.append(where["start_after"]) or real(**where)
    behind = first_uid_at(now() - timedelta(minutes=30))
    store.put(f"{behind}/run.json", b"{}")
    seconds[0] = 30.0
    assert listing.new() == []
    seconds[0] = 61.0
    assert listing.new() == [behind]
    assert started_from[0] > young > behind > started_from[1]
    fresh = [new_uid() for _ in range(20)]
    for uid in fresh:
        store.put(f"{uid}/run.json", b"{}")
    assert listing.new() == fresh
    assert listing.new() == []
    assert started_from[3] == ""  # the names of all runs are fewer than what is inside of those
