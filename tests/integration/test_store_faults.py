# SPDX-License-Identifier: Apache-2.0
"""A store behind a network that fails: what is tried again, what is not, and that no call waits for ever."""

import os
from dataclasses import replace

import pytest

from aboard.errors import KeyExists, StoreUnreachable
from aboard.store import Connection, Patience, open_store
from support.clouds import clear_clouds, use
from support.fault_proxy import fault_proxy
from support.object_servers import WRITER

QUICK = Patience(retries=3, first_pause=0.01, longest_pause=0.05)
HASTY = Patience(stall_seconds=0.2, request_seconds=0.4, retries=1, retry_seconds=1, first_pause=0.01)
"""For a server that never answers."""
FORGIVING = Patience(stall_seconds=0.5, request_seconds=1, retries=20, retry_seconds=60, first_pause=0.01)
"""For one that answers the second time: on a busy machine that may take another time."""
BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


@pytest.fixture(autouse=True)
def no_clouds(monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)


@pytest.fixture
def proxy(s3_server):
    with fault_proxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def connection(proxy):
    return Connection(endpoint=proxy.endpoint, key_id=WRITER.id, secret=WRITER.secret, region="us-east-1")


@pytest.fixture
def store(proxy, connection, request):
    store = open_store(f"s3://contract/{request.node.name}", connection=connection, patience=QUICK)
    store.put("x", b"0123456789" * 1000)
    proxy.forget()
    return store


def unreachable(act, *says):
    with pytest.raises(StoreUnreachable) as caught:
        act()
    assert caught.value.temporary
    assert all(word in str(caught.value) for word in says), caught.value


def test_a_busy_server_is_asked_again(store, proxy):
    for status in (503, 500, 429):
        proxy.answer(status, BUSY, times=2)
        assert store.get("x") == b"0123456789" * 1000
        proxy.answer(status, BUSY, times=2)
        store.put("y", b"1")
        proxy.answer(status, BUSY, times=2)
        assert [entry.key for entry in store.list()] == ["x", "y"]
    assert store.get("y") == b"1"


def test_a_server_that_stays_busy_is_given_up(store, proxy):
    proxy.answer(503, BUSY)
    for act in (
        lambda: store.get("x"),
        lambda: store.put("y", b""),
        lambda: list(store.list()),
        lambda: store.delete("x"),
    ):
        proxy.forget()
        unreachable(act, "503", "SlowDown")
        assert len(proxy.requests) == 1 + QUICK.retries


def test_a_cut_network_heals(store, proxy):
    proxy.cut()
    unreachable(lambda: store.get("x"), "connection")
    unreachable(lambda: store.put("y", b"1"))
    unreachable(lambda: list(store.list()))
    proxy.heal()
    assert store.get("x") == b"0123456789" * 1000
    store.put("y", b"1")
    assert [entry.key for entry in store.list()] == ["x", "y"]


def test_a_broken_connection_is_tried_again(store, proxy):
    proxy.reset(times=2)
    assert store.get("x") == b"0123456789" * 1000
    proxy.reset(times=1, method="HEAD")
    assert store.head("x").size == 10_000


def test_a_cut_answer_is_completed_not_repeated(store, proxy):
    """The rest of an object is asked for where the answer broke off."""
    proxy.truncate(4000, times=1)
    assert store.get("x") == b"0123456789" * 1000
    ranges = [asked.headers.get("range") for asked in proxy.requests]
    assert ranges[0] is None
    assert ranges[1].startswith("bytes=")
    proxy.truncate(3, times=1)
    assert store.get_range("x", 5, 15) == b"5678901234"


def test_a_truncated_answer_is_never_taken_for_the_whole(store, proxy):
    proxy.truncate(10)
    unreachable(lambda: store.get("x"))
    proxy.heal()
    proxy.truncate(40, path="list-type")
    unreachable(lambda: list(store.list()))


def test_a_slow_server_is_waited_for(store, proxy):
    proxy.delay(0.1, times=1)
    assert store.get("x") == b"0123456789" * 1000
    assert len(proxy.requests) == 1


def test_a_silent_server_does_not_hold_anyone(store, proxy, connection):
    proxy.hang()
    store = open_store(store.uri, connection=connection, patience=HASTY)
    unreachable(lambda: store.get("x"), "in time")
    unreachable(lambda: store.put("y", b"1"), "in time")
    unreachable(lambda: list(store.list()), "in time")


def test_a_slow_upload_is_not_a_silent_server(store, proxy, connection):
    store = open_store(store.uri, connection=connection, patience=replace(FORGIVING, request_seconds=60))
    proxy.delay(2 * FORGIVING.stall_seconds, times=2)
    store.put("y", b"1")
    assert proxy.counts() == {"PUT": 1}
    assert store.get("y") == b"1"
    assert proxy.counts()["GET"] >= 2


def test_silence_once_is_forgiven_where_repeating_does_no_harm(store, proxy, connection):
    store = open_store(store.uri, connection=connection, patience=FORGIVING)
    proxy.hang(times=1)
    assert store.get("x") == b"0123456789" * 1000
    proxy.hang(times=1)
    store.put("y", b"1")
    assert store.get("y") == b"1"


def test_a_create_only_put_is_not_repeated_when_its_answer_is_lost(store, proxy):
    """Repeating it would find its own work, and call it somebody else's."""
    proxy.lose_answer(method="PUT", times=1)
    unreachable(lambda: store.put("claim", b"mine", create_only=True))
    assert store.get("claim") == b"mine"
    with pytest.raises(KeyExists):
        store.put("claim", b"mine", create_only=True)


def test_large_files_over_a_bad_network(store, proxy, tmp_path):
    data = os.urandom(20 << 20)
    (tmp_path / "ckpt").write_bytes(data)
    proxy.answer(500, path="partNumber=2", times=2)
    proxy.reset(path="partNumber=1&", times=1)
    proxy.answer(503, BUSY, path="uploads", times=1)
    store.put("ckpt", tmp_path / "ckpt")
    proxy.truncate(1_000_000, method="GET", times=1)
    proxy.reset(method="GET", times=1)
    assert store.download("ckpt", tmp_path / "back") == len(data)
    assert (tmp_path / "back").read_bytes() == data


def test_an_upload_that_fails_leaves_nothing(store, proxy, tmp_path):
    (tmp_path / "ckpt").write_bytes(os.urandom(20 << 20))
    proxy.answer(500, path="partNumber=2")
    unreachable(lambda: store.put("ckpt", tmp_path / "ckpt"))
    proxy.heal()
    assert not store.exists("ckpt")
    assert [asked.method for asked in proxy.requests if "uploadId" in asked.query][-1] == "DELETE"


def test_a_download_of_what_is_replaced_meanwhile(store, proxy, tmp_path):
    """Two halves of two versions would be a checkpoint of none."""
    store.put("ckpt", os.urandom(17 << 20))
    pieces = store._stream("ckpt")
    next(pieces)
    store.put("ckpt", os.urandom(17 << 20))
    unreachable(lambda: next(pieces), "replaced")


def test_counted_traffic_is_what_the_server_saw(store, proxy, tmp_path):
    (tmp_path / "big").write_bytes(b"x" * (20 << 20))
    before = store.traffic.count()
    store.put("big", tmp_path / "big")
    store.put("claim", b"1", create_only=True)
    store.get_ranges("big", [(0, 10), (5, 50), (1 << 20, (1 << 20) + 5)], gap=100)
    store.get_if_changed("x", store.head("x").etag)
    store.download("big", tmp_path / "back")
    list(store.list())
    list(store.list_folders())
    store.delete(["big", "claim"])
    spent = store.traffic.count() - before
    assert spent.total_requests == len(proxy.requests)
    assert spent.requests == {"put": 3 + 2 + 1, "get": 2 + 1 + 2, "head": 1, "list": 2, "delete": 1}
    assert (spent.bytes_in, spent.bytes_out) == (50 + 5 + (20 << 20), 1 + (20 << 20))


def test_listing_thousands_asks_page_by_page(store, proxy):
    from concurrent.futures import ThreadPoolExecutor

    names = [f"r{number % 3}/{number:05}" for number in range(1300)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda name: store.put(name, b""), names))
    proxy.forget()
    before = store.traffic.count()
    assert [entry.key for entry in store.list()] == [*sorted(names), "x"]
    assert (store.traffic.count() - before).requests == {"list": len(proxy.requests)}
    assert len(proxy.requests) == 2
    proxy.forget()
    assert next(iter(store.list())).key == "r0/00000"
    assert len(proxy.requests) == 1
    proxy.forget()
    assert list(store.list_folders(start_after="r0")) == ["r1", "r2"]
    assert len(proxy.requests) <= 3


def test_azure_over_a_bad_network(azure_server, monkeypatch):
    use(monkeypatch, azure_server.environment())
    with fault_proxy(azure_server.port) as proxy:
        connection = Connection(endpoint=f"{proxy.endpoint}/{azure_server.account}")
        store = open_store("az://contract/faults", connection=connection, patience=QUICK)
        data = os.urandom(20 << 20)
        proxy.answer(503, times=1)
        store.put("x", data)
        proxy.truncate(100_000, times=1)
        assert store.get("x") == data
        proxy.cut()
        unreachable(lambda: store.get("x"))
        proxy.heal()
        proxy.forget()
        before = store.traffic.count()
        store.put("x", data)
        store.delete(["x", "never/was"])
        assert store.traffic.count().total_requests - before.total_requests == len(proxy.requests)
