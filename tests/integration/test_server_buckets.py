# SPDX-License-Identifier: Apache-2.0
"""A server over a bucket on a real S3 server: following, changing, and going on when the network does not."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import AccessDenied, StoreError
from aboard.model.states import RunState
from aboard.store import Patience, Store, open_store
from support.clouds import use
from support.fault_proxy import FaultProxy, fault_proxy
from support.object_servers import READER, S3Server
from support.processes import until
from support.stored_runs import put_manifest, serving_runs, store_run


@pytest.fixture
def store(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Store:
    use(monkeypatch, s3_server.environment())
    return open_store(s3_server.new_uri())


@pytest.fixture
def catalog(tmp_path: Path) -> Generator[Catalog]:
    with Catalog.open(tmp_path / "catalog.sqlite") as opened:
        yield opened


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as made:
        yield made


def names(client: Client) -> list[str]:
    return sorted(run.name for run in client.runs.list().items)


def test_runs_of_a_bucket_are_followed_changed_and_deleted(catalog: Catalog, store: Store):
    store_run(store, name="done", metrics={"loss": [2.0, 1.0]})
    live = store_run(store, name="live", status=RunState.RUNNING)
    with serving_runs(catalog, store.uri) as client:
        until(lambda: names(client) == ["done", "live"])
        put_manifest(store, live, status=RunState.FAILED, sealed=True, serial=2)
        until(lambda: client.runs.get("live").status is RunState.FAILED)
        assert client.runs.tag(["done", "live"], {"seen": "yes"}).problems == ()
        assert client.runs.get("done").metrics["loss"].smallest.value == 1.0
        client.runs.delete("live", files=True)
        assert not list(store.list(live))
        state = client.reindex(store.uri)
        assert (state.written, state.problems) == (1, ())
        assert names(client) == ["done"]


def test_without_a_network_what_is_known_is_told_and_changes_are_refused(
    catalog: Catalog, store: Store, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    store_run(store, name="base")
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    impatient = Patience(connect_seconds=10, stall_seconds=20, request_seconds=30, retries=0, retry_seconds=1)
    with serving_runs(catalog, store.uri, patience=impatient) as client:
        until(lambda: names(client) == ["base"])
        proxy.cut()
        until(lambda: client.stores().items[0].state == "failing")
        assert names(client) == ["base"]
        with pytest.raises(StoreError):
            client.runs.tag("base", ["x"])
        assert client.runs.get("base").tags == {}
        assert client.reindex(store.uri).state == "failed"
        assert names(client) == ["base"]
        store_run(store, name="meanwhile")
        proxy.heal()
        until(lambda: names(client) == ["base", "meanwhile"], 90)
        assert client.runs.tag("base", ["x"]).items[0].tags == {"x": ""}


def test_to_read_is_enough_to_list(catalog: Catalog, store: Store, s3_server: S3Server, monkeypatch):
    store_run(store, name="base")
    use(monkeypatch, s3_server.environment(READER))
    with serving_runs(catalog, store.uri) as client:
        until(lambda: names(client) == ["base"])
        with pytest.raises(AccessDenied):
            client.runs.rename("base", "other")
        assert names(client) == ["base"]
