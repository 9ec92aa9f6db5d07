# SPDX-License-Identifier: Apache-2.0
"""Stores that fail while they are read: what can be read is shown, the rest is told once and comes when it can."""

import logging
import resource
import uuid

import pytest

import aboard
from aboard.errors import CredentialsRefused, StoreUnreachable
from aboard.reader.collection import Follower, RunCollection
from aboard.reader.mirror import fetching, store_mirror
from aboard.reader.roots import StoreUri
from aboard.store import Patience, open_store
from support.clouds import clear_clouds, use
from support.fault_proxy import fault_proxy
from support.object_servers import READER, Keys
from support.processes import until
from support.trained_runs import StoredRun, stored_run, without_columns


@pytest.fixture(autouse=True)
def _a_person(monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path / "home"))
    quick = Patience(
        connect_seconds=2, stall_seconds=2, request_seconds=10, retries=1, retry_seconds=1, longest_pause=1
    )
    monkeypatch.setattr(store_mirror, "PATIENCE", quick)


@pytest.fixture
def store(s3_server, monkeypatch):
    use(monkeypatch, s3_server.environment())
    return open_store(f"s3://contract/{uuid.uuid4().hex}")


@pytest.fixture
def memory():
    return open_store(f"memory://{uuid.uuid4().hex}")


@pytest.fixture
def proxy(s3_server, store, monkeypatch):
    """From here on requests pass it; `store` was opened before, and does not."""
    with fault_proxy(s3_server.port) as proxy:
        use(monkeypatch, {**s3_server.environment(READER), "AWS_ENDPOINT_URL": proxy.endpoint})
        yield proxy


@pytest.fixture
def followed():
    """Collections that are followed until the test ends."""
    ended = []

    def follow(uri):
        collection = RunCollection({"": StoreUri(uri)})
        follower = Follower(collection, 0.2)
        follower.start()
        ended.append((follower, collection))
        return collection

    yield follow
    for follower, collection in ended:
        follower.stop()
        collection.close()


def points(collection, run):
    reader = collection.runs.get(run)
    tags = reader.tags() if reader else []
    return tags[0].status.points if tags else 0


def records_with(caplog, words):
    return [record for record in caplog.records if words in record.getMessage()]


def test_no_network_at_the_start_and_in_the_middle(store, proxy, followed, tmp_path, caplog):
    run = StoredRun.begin(store, tmp_path, "live")
    run.log(range(5))
    run.ship()
    proxy.cut()
    collection = followed(store.uri)
    until(lambda: collection.store_problems)
    until(lambda: collection.progress.cycles)
    assert len(collection.runs) == 0
    proxy.heal()
    until(lambda: points(collection, "live/train") == 5)
    until(lambda: not collection.store_problems)
    proxy.cut()
    run.log(range(5, 9))
    run.ship()
    until(lambda: collection.store_problems)
    assert points(collection, "live/train") == 5
    proxy.heal()
    until(lambda: points(collection, "live/train") == 9)
    assert len(records_with(caplog, "tried again")) <= 3
    assert records_with(caplog, "can be read again")


def test_no_network_for_who_waits(store, proxy):
    proxy.cut()
    with pytest.raises(StoreUnreachable, match="s3://contract/"):
        aboard.open(store.uri)


def test_a_copy_is_shown_while_the_store_cannot_be_reached(store, proxy, followed, tmp_path):
    stored_run(store, tmp_path, "done", lambda run: run.log(range(5)))
    aboard.open(store.uri).close()
    proxy.cut()
    collection = followed(store.uri)
    until(lambda: points(collection, "done/train") == 5)
    until(lambda: collection.store_problems)


def test_wrong_credentials(store, proxy, monkeypatch, s3_server):
    use(monkeypatch, s3_server.environment(Keys("nobody", "wrong")) | {"AWS_ENDPOINT_URL": proxy.endpoint})
    with pytest.raises(CredentialsRefused):
        aboard.open(store.uri)


@pytest.mark.parametrize("fault", ["error", "cut off", "slow"])
def test_one_object_that_fails_hides_nothing_else(store, proxy, followed, tmp_path, caplog, fault):
    bad, good = (stored_run(store, tmp_path, name, lambda run: run.log(range(40))) for name in ("bad", "good"))
    which = {"path": f"{bad.uid}/"}
    if fault == "error":
        proxy.answer(500, **which)
    elif fault == "cut off":
        proxy.truncate(100, **which)
    else:
        proxy.hang(**which)
    collection = followed(store.uri)
    until(lambda: points(collection, "good/train") == 40)
    until(lambda: collection.store_problems)
    assert bad.uid in collection.store_problems[0]
    assert points(collection, "bad/train") == 0
    proxy.heal()
    until(lambda: points(collection, "bad/train") == 40)
    until(lambda: not collection.store_problems)
    assert len(records_with(caplog, "tried again")) == 1
    assert good.uid not in caplog.text


@pytest.mark.parametrize("what", ["columns/", "manifest.json", "tb/"])
def test_who_never_answers_does_not_hold_up_the_others(store, proxy, followed, tmp_path, monkeypatch, what):
    monkeypatch.setattr(store_mirror, "PATIENCE", Patience(stall_seconds=60, retries=0))
    monkeypatch.setattr(fetching, "_WAIT_SECONDS", 0.5)
    silent, live = (StoredRun.begin(store, tmp_path, name) for name in ("silent", "live"))
    for run in (silent, live):
        run.log(range(5))
        run.ship()
    proxy.hang(path=f"{silent.uid}/{what}")
    collection = followed(store.uri)
    until(lambda: points(collection, "live/train") == 5)
    live.log(range(5, 8))
    live.ship()
    until(lambda: points(collection, "live/train") == 8)
    assert points(collection, "silent/train") == 0


def test_slow_and_failing_now_and_then(store, proxy, tmp_path):
    for number in range(3):
        stored_run(store, tmp_path, f"run{number}", lambda run: run.log(range(30)))
    proxy.answer(503, times=1)
    proxy.delay(0.2, times=4)
    with aboard.open(store.uri) as opened:
        assert [len(run.scalars["loss"]) for run in opened.runs] == [30, 30, 30]


def test_damaged_documents(memory, tmp_path, caplog, monkeypatch):
    """A manifest that cannot be read costs a listing, a `run.json` the name; nothing else is touched."""
    without_columns(monkeypatch)
    runs = [stored_run(memory, tmp_path, name, lambda run: run.log(range(20))) for name in ("a", "b", "c", "d")]
    memory.put(runs[0].folder.key("manifest.json"), b'{"format": "aboard-man')
    memory.delete(runs[1].folder.key("manifest.json"))
    memory.put(runs[2].folder.key("run.json"), b"[]")
    nameless = f"run-{runs[2].uid[-8:].lower()}/train"
    with caplog.at_level(logging.WARNING), aboard.open(memory.uri) as opened:
        assert sorted(opened.runs.keys()) == sorted(["a/train", "b/train", "d/train", nameless])
        assert [len(run.scalars["loss"]) for run in opened.runs] == [20] * 4
        opened.refresh()
        assert [len(run.scalars["loss"]) for run in opened.runs] == [20] * 4
    assert len(records_with(caplog, "manifest.json")) == 2
    assert len(records_with(caplog, "run.json")) == 1


def test_a_manifest_of_a_later_version(memory, tmp_path, caplog, monkeypatch):
    without_columns(monkeypatch)
    run = stored_run(memory, tmp_path, "new", lambda run: run.log(range(20)))
    key = run.folder.key("manifest.json")
    memory.put(key, memory.get(key).replace(b"[1,0]", b"[2,0]"))
    with caplog.at_level(logging.WARNING), aboard.open(memory.uri) as opened:
        assert len(opened.runs["new/train"].scalars["loss"]) == 20
    assert records_with(caplog, "newer aboard")


def test_objects_that_are_deleted_under_us(memory, tmp_path, caplog):
    gone = StoredRun.begin(memory, tmp_path, "gone")
    gone.log(range(20))
    gone.ship()
    stored_run(memory, tmp_path, "there", lambda run: run.log(range(20)))
    (key,) = [entry.key for entry in memory.list(gone.folder.key("tb"))]
    content = memory.get(key)
    memory.delete(key)
    with caplog.at_level(logging.WARNING), aboard.open(memory.uri) as opened:
        assert list(opened.runs.keys()) == ["there/train"]
        assert records_with(caplog, "the manifest names")
        memory.put(key, content)
        opened.refresh()
        assert len(opened.runs["gone/train"].scalars["loss"]) == 20
        gone.log(range(20, 30))
        gone.ship()
        opened.refresh()
        memory.delete([entry.key for entry in memory.list(gone.folder.uid)])
        opened.refresh()
        assert len(opened.runs["there/train"].scalars["loss"]) == 20


def test_what_is_rolled_up_while_it_is_read(memory, tmp_path):
    """Each round the shipper may replace segments that the manifest in our hands still names."""
    run = StoredRun.begin(memory, tmp_path, "busy")
    with aboard.open(memory.uri) as opened:
        for step in range(0, 300, 3):
            run.log(range(step, step + 3))
            run.ship()
            if step % 9 == 0:
                opened.refresh()
                assert opened.runs["busy/train"].scalars["loss"].steps.tolist() == list(range(step + 3))
    with aboard.open(memory.uri) as opened:
        assert len(opened.runs["busy/train"].scalars["loss"]) == 300


def test_content_that_is_not_what_the_manifest_says(memory, tmp_path, caplog, monkeypatch):
    without_columns(monkeypatch)
    run = stored_run(memory, tmp_path, "odd", lambda run: run.log(range(50)))
    (key,) = [entry.key for entry in memory.list(run.folder.key("tb"))]
    content = bytearray(memory.get(key))
    content[700] ^= 255
    memory.put(key, bytes(content))
    with caplog.at_level(logging.WARNING), aboard.open(memory.uri) as opened:
        assert 45 <= len(opened.runs["odd/train"].scalars["loss"]) < 50
        assert opened.runs["odd/train"].bad_records == 1
    assert len(records_with(caplog, "not what the manifest says")) == 1


def test_a_disk_that_takes_no_more(memory, tmp_path):
    stored_run(memory, tmp_path, "large", lambda run: run.log(range(1000)))
    stored_run(memory, tmp_path, "small", lambda run: run.log(range(10)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        opened = aboard.open(memory.uri)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with opened:
        assert list(opened.runs.keys()) == ["small/train"]
        (problem,) = opened._collection.store_problems
        assert "cannot be written: File too large" in problem
        opened.refresh()
        assert len(opened.runs["large/train"].scalars["loss"]) == 1000
        assert opened._collection.store_problems == []
