# SPDX-License-Identifier: Apache-2.0
"""Sources of jobs in a store: who needs them keeps them, and nobody else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from aboard.errors import Conflict, InvalidValue
from aboard.jobs import sources
from aboard.jobs.cancellation import KEY, mark_in_store
from aboard.jobs.sources import (
    SAFE_SECONDS,
    SOURCE_VARIABLE,
    PackedSource,
    StoredSource,
    clean_sources,
    enter_source,
    forget_source,
    need_source,
)
from aboard.model.names import new_uid
from aboard.services.runs.retention import RetentionTask
from aboard.services.stores.jobs import clean_stores
from aboard.store import Patience, Store, open_store
from aboard.store.store import ObjectInfo
from support.processes import until

DAY = 86400.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Store:
    return open_store(str(folder), create=True)


@pytest.fixture
def sent(tmp_path: Path) -> PackedSource:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text("print(1)")
    return PackedSource.of(tmp_path / "source")


def _grow_old(folder: Path, days: float, what: str = "*") -> None:
    for path in (folder / "_sources").rglob(what):
        old = time.time() - days * DAY
        os.utime(path, (old, old))


def _environment(sent: PackedSource, folder: Path) -> dict[str, str]:
    return {SOURCE_VARIABLE: sent.key, "ABOARD_STORE": str(folder)}


def test_a_source_stays_while_a_job_waits_for_it_and_goes_after_the_last(
    store: Store, folder: Path, sent: PackedSource
) -> None:
    first, second = new_uid(), new_uid()
    sent.send(str(folder), [first, second])
    _grow_old(folder, 300)
    assert clean_sources(store) == 0
    StoredSource(store, sent.key).release(first)
    assert clean_sources(store) == 0
    StoredSource(store, sent.key).release(second)
    assert clean_sources(store) == 1
    assert not list(store.list("_sources"))


def test_nothing_goes_before_a_safe_time(store: Store, folder: Path, sent: PackedSource) -> None:
    sent.send(str(folder), [])
    assert clean_sources(store) == 0
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    sent.send(str(folder), [])  # who is just submitting makes it young
    assert clean_sources(store) == 0
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    assert clean_sources(store) == 1


def test_a_job_that_has_begun_needs_its_source_until_it_completes(
    store: Store, folder: Path, sent: PackedSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unit = new_uid()
    sent.send(str(folder), [unit])
    environ = {**_environment(sent, folder), "ABOARD_UNIT_ID": unit}
    is_done = enter_source(environ, str(folder), tmp_path / "home")
    assert (Path.cwd() / "train.py").read_text() == "print(1)"
    assert SOURCE_VARIABLE not in environ
    _grow_old(folder, 80)
    assert clean_sources(store) == 0, "it may be killed, and start again elsewhere"
    is_done()
    assert clean_sources(store) == 1
    with pytest.raises(InvalidValue, match=r"not in .* any more") as refused:
        enter_source({**_environment(sent, folder), "ABOARD_UNIT_ID": unit}, str(folder), tmp_path / "other")
    assert "name=" in refused.value.hint


@pytest.mark.parametrize(("what", "days"), [("*.begun", 91), ("*", 367)])
def test_marks_of_jobs_that_nobody_heard_of_grow_old(
    store: Store, folder: Path, sent: PackedSource, what: str, days: float
) -> None:
    unit = new_uid()
    sent.send(str(folder), [unit])
    if what == "*.begun":
        StoredSource(store, sent.key).begin(unit)
    _grow_old(folder, days)
    assert clean_sources(store) == 1
    assert not list(store.list("_sources"))


def test_forgetting_the_last_job_takes_the_source_along(store: Store, folder: Path, sent: PackedSource) -> None:
    first, second = new_uid(), new_uid()
    sent.send(str(folder), [first, second])
    _grow_old(folder, 0.1)
    forget_source(_environment(sent, folder), first)
    assert store.exists(sent.key)
    forget_source(_environment(sent, folder), second)
    assert not store.exists(sent.key)
    forget_source({}, second)
    with pytest.raises(Conflict, match="the source of the job line is not in") as refused:
        need_source(_environment(sent, folder), second, "line")
    assert "as the first time" in refused.value.hint


def test_a_job_that_finds_no_source_leaves_no_mark(store: Store, folder: Path, sent: PackedSource) -> None:
    with pytest.raises(Conflict, match="is not in"):
        need_source(_environment(sent, folder), new_uid(), "line")
    assert not list(store.list("_sources"))


def test_marks_of_a_submission_that_died_go(store: Store, folder: Path, sent: PackedSource) -> None:
    StoredSource(store, sent.key).need([new_uid(), new_uid()])  # and killed before the source was there
    assert clean_sources(store) == 0
    assert len(list(store.list("_sources"))) == 2, "who is just submitting has time"
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    assert clean_sources(store) == 0
    assert not list(store.list("_sources"))


def test_what_stays_costs_one_listing(store: Store, folder: Path, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / "source").mkdir(exist_ok=True)
        (tmp_path / "source" / "train.py").write_text(f"print({number})")
        PackedSource.of(tmp_path / "source").send(str(folder), [new_uid()])
    opened = open_store(str(folder))
    assert clean_sources(opened) == 0
    assert set(opened.traffic.count().requests) == {"list"}


def test_a_source_that_somebody_wants_at_the_last_moment_stays(store: Store, folder: Path, sent: PackedSource) -> None:
    sent.send(str(folder), [])
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    listed = store.list

    def wanted_meanwhile(place: str) -> Iterator[ObjectInfo]:
        yield from listed(place)
        if place == "_sources":
            sent.send(str(folder), [new_uid()])

    store.list = wanted_meanwhile  # type: ignore[method-assign]
    assert clean_sources(store) == 0
    assert store.exists(sent.key)


@pytest.mark.parametrize("wants", ["send", "again"])
def test_a_source_that_somebody_wants_while_it_is_removed_is_not_lost(
    store: Store, folder: Path, sent: PackedSource, monkeypatch: pytest.MonkeyPatch, wants: str
) -> None:
    """Its remover has looked before the mark was there, and deletes after it."""
    sent.send(str(folder), [])
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    unit, is_waiting = new_uid(), threading.Event()
    refused: list[Conflict] = []

    def want() -> None:
        try:
            if wants == "send":
                sent.send(str(folder), [unit])
            else:
                need_source(_environment(sent, folder), unit, "line")
        except Conflict as error:
            refused.append(error)

    submitter = threading.Thread(target=want)
    delete = store.delete

    def deleted_late(keys: str | Iterable[str]) -> None:
        listed = [keys] if isinstance(keys, str) else list(keys)
        if sent.key in listed:
            submitter.start()
            until(lambda: is_waiting.is_set() or not submitter.is_alive())
        delete(listed)

    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=lambda _: is_waiting.set())
    monkeypatch.setattr(sources, "time", clock)
    store.delete = deleted_late  # type: ignore[method-assign]
    assert clean_sources(store) == 1
    submitter.join(60)
    # Who has it sends it once more; who does not is told, and not its job when that begins.
    assert (store.exists(sent.key), len(refused)) == ((True, 0) if wants == "send" else (False, 1))
    assert not list(store.list(sent.key.replace(".tar", ".going")))


def test_a_remover_that_died_is_not_waited_for(store: Store, folder: Path, sent: PackedSource) -> None:
    store.put(sent.key.replace(".tar", f".going/{new_uid()}"), b"{}")
    _grow_old(folder, 0.1)
    sent.send(str(folder), [new_uid()])
    assert store.exists(sent.key)
    assert clean_sources(store) == 0
    assert not list(store.list(sent.key.replace(".tar", ".going")))


def test_marks_around_a_training_do_not_wait_long_for_a_store(
    folder: Path, store: Store, sent: PackedSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unit = new_uid()
    sent.send(str(folder), [unit])
    longest: list[float] = []
    opened = sources.open_store

    def noted(uri: str, *, read_only: bool = False, patience: Patience | None = None) -> Store:
        if not read_only:  # the source itself has to come
            told = patience or Patience()
            longest.append(told.request_seconds + told.retry_seconds)
        return opened(uri, read_only=read_only)

    monkeypatch.setattr(sources, "open_store", noted)
    enter_source({**_environment(sent, folder), "ABOARD_UNIT_ID": unit}, str(folder), tmp_path / "home")()
    assert len(longest) == 2
    assert max(longest) <= 15


def test_a_sweep_that_is_refused_takes_its_source_along(store: Store, folder: Path, sent: PackedSource) -> None:
    units = [new_uid() for _ in range(3)]
    sent.send(str(folder), units)
    _grow_old(folder, 0.1)
    forget_source(_environment(sent, folder), *units)
    assert not list(store.list("_sources"))


def test_a_server_cleans_its_stores_whatever_rules_it_has(store: Store, folder: Path, sent: PackedSource) -> None:
    sent.send(str(folder), [])
    mark_in_store({KEY: "", "ABOARD_STORE": str(folder)}, "ended")
    _grow_old(folder, SAFE_SECONDS / DAY + 1)
    old = time.time() - 8 * DAY
    os.utime(folder / "_cancelled" / "ended", (old, old))
    stores = [str(folder.parent / "absent"), "nowhere://at/all", str(folder)]
    retention = RetentionTask(
        lambda asked: pytest.fail("asked"), [], first_after=0.01, chores=[lambda: clean_stores(stores)]
    )
    until(lambda: not store.exists(sent.key) and not list(store.list("_cancelled")))
    retention.stop()
