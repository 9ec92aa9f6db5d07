# SPDX-License-Identifier: Apache-2.0
"""The pool of open runs: shared, bounded, and never held up by one slow store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from aboard.errors import StoreUnreachable
from aboard.reader.collection import RunCollection
from aboard.reader.roots import Root
from aboard.services.runs.open_runs import OpenRun, OpenRuns, ReadingPatience, RunLocation, StoreReadPool
from aboard.store import Store, open_store
from support.logged_runs import log_more, logged_run
from support.processes import until


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def pool() -> Iterator[OpenRuns]:
    made = OpenRuns(follow_seconds=0.01, patience=ReadingPatience(rest_seconds=0.01))
    yield made
    made.close()


def before_opening(monkeypatch: pytest.MonkeyPatch, action: Callable[[Mapping[str, Root]], None]) -> None:
    """Have something happen whenever the files of a run are opened."""

    def opened(roots: Mapping[str, Root], **options: Any) -> RunCollection:
        action(roots)
        return RunCollection(roots, **options)

    monkeypatch.setattr("aboard.services.runs.open_runs.RunCollection", opened)


def points(run: OpenRun, logdir: str = "") -> int:
    (tag,) = run.logdirs[logdir].tags()
    return tag.status.points


def test_two_who_read_one_run_share_it(store: Store, pool: OpenRuns):
    place = RunLocation(store.uri, logged_run(store, curves={"loss": [1.0, 2.0]}))
    with pool.fresh([place]) as (first,), pool.fresh([place]) as (second,):
        assert first is second
        assert points(first) == 2
    assert pool.open_count == 1


def test_a_run_that_is_followed_grows_by_itself(store: Store, pool: OpenRuns):
    uid = logged_run(store, curves={"loss": [1.0]})
    run = pool.take(RunLocation(store.uri, uid), follow=True)
    until(lambda: run.is_read and points(run) == 1)
    log_more(store, uid, curves={"loss": [2.0, 3.0]}, first=1)
    until(lambda: points(run) == 3)
    pool.give_back(run, follow=True)


def test_a_run_without_files_is_read_as_empty(store: Store, pool: OpenRuns):
    with pool.fresh([RunLocation(store.uri, "01ARZ3NDEKTSV4RRFFQ69G5FAV")]) as (run,):
        assert (run.failure, dict(run.logdirs)) == (None, {})


def test_what_nobody_uses_goes_when_room_is_needed(store: Store):
    uids = [logged_run(store, curves={"loss": [1.0]}) for _ in range(4)]
    pool = OpenRuns(most_open=2)
    kept = pool.take(RunLocation(store.uri, uids[0]))
    for uid in uids[1:]:
        with pool.fresh([RunLocation(store.uri, uid)]):
            pass
    assert pool.open_count == 3
    pool.give_back(kept)
    assert pool.open_count == 2
    with pool.fresh([RunLocation(store.uri, uids[0])]) as (again,):
        assert points(again) == 1
    pool.close()


def test_memory_is_bounded(store: Store):
    uids = [logged_run(store, curves={"loss": [float(step) for step in range(2000)]}) for _ in range(3)]
    pool = OpenRuns(memory_limit=250_000)
    for uid in uids:
        with pool.fresh([RunLocation(store.uri, uid)]) as (run,):
            assert points(run) == 2000
    assert pool.memory <= 250_000
    assert pool.open_count == 2
    pool.close()


def test_a_store_that_hangs_holds_up_only_those_who_wait_for_it(
    store: Store, pool: OpenRuns, monkeypatch: pytest.MonkeyPatch
):
    place = RunLocation(store.uri, logged_run(store, curves={"loss": [1.0]}))
    freed = threading.Event()

    def hang(roots: Mapping[str, Root]) -> None:
        if str(roots[""]).startswith("s3://slow"):
            freed.wait(60)
            raise StoreUnreachable("no answer")

    before_opening(monkeypatch, hang)
    slow = [pool.take(RunLocation("s3://slow", f"uid{number}")) for number in range(20)]
    with pool.fresh([place], patience=60) as (run,):
        assert points(run) == 1
    assert all(one.failure is not None and not one.is_read for one in slow)
    freed.set()


def test_only_so_many_wait_for_one_store():
    readers = StoreReadPool(threads=1, waiting=2)
    freed, held = threading.Event(), threading.Event()
    waiting = [threading.Thread(target=readers.call, args=(lambda: freed.wait(60),)) for _ in range(2)]
    for one in waiting:
        one.start()

    def refusal() -> str:
        with pytest.raises(StoreUnreachable) as refused:
            readers.call(lambda: None, seconds=0)
        return refused.value.message

    until(lambda: "too many" in refusal())
    freed.set()
    for one in waiting:
        one.join(60)
    assert readers.call(lambda: 7) == 7
    with pytest.raises(StoreUnreachable, match="has not answered"):
        readers.call(lambda: held.wait(60), seconds=0.05)
    held.set()
    readers.close()


def test_a_failure_is_told_and_tried_again_later(store: Store, pool: OpenRuns, monkeypatch: pytest.MonkeyPatch):
    place = RunLocation(store.uri, logged_run(store, curves={"loss": [1.0]}))
    failures = [StoreUnreachable("no network")]

    def fail_once(_: object) -> None:
        if failures:
            raise failures.pop()

    before_opening(monkeypatch, fail_once)
    with pool.fresh([place]) as (run,):
        assert "no network" in str(run.failure)

    def works() -> bool:
        with pool.fresh([place]) as (run,):
            return run.failure is None

    until(works)
    pool.close()


def test_forgotten_runs_are_closed(store: Store, pool: OpenRuns):
    uid = logged_run(store, curves={"loss": [1.0]})
    with pool.fresh([RunLocation(store.uri, uid)]):
        pass
    pool.forget(uid)
    assert pool.open_count == 0
