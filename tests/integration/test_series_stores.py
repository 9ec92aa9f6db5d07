# SPDX-License-Identifier: Apache-2.0
"""Curves of runs in a real bucket, beside those of a folder, and while the bucket does not answer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.errors import AboardError
from aboard.services.runs.open_runs import ReadingPatience
from aboard.store import Patience, Store, open_store
from support.clouds import use
from support.fault_proxy import FaultProxy, fault_proxy
from support.http_asking import ask
from support.logged_runs import logged_run
from support.object_servers import S3Server
from support.processes import until
from support.stored_runs import serving_runs, until_seen
from support.trained_runs import stored_run

ASKING = 40


@pytest.fixture
def catalog(tmp_path: Path) -> Generator[Catalog]:
    with Catalog.open(tmp_path / "catalog.sqlite") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(s3_server.port) as made:
        yield made


@pytest.fixture
def bucket(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, proxy: FaultProxy) -> Store:
    """A store in a bucket; what is opened after this goes through the proxy."""
    use(monkeypatch, s3_server.environment())
    opened = open_store(s3_server.new_uri())
    use(monkeypatch, {**s3_server.environment(), "AWS_ENDPOINT_URL": proxy.endpoint})
    return opened


def test_curves_and_files_of_a_bucket(catalog: Catalog, folder: Store, bucket: Store, tmp_path: Path):
    logged_run(folder, name="near", curves={"loss": [5.0, 6.0]})
    far = stored_run(bucket, tmp_path / "far", "far", lambda run: run.log(range(5)))
    with serving_runs(catalog, folder.uri, bucket.uri) as client:
        until_seen(client)
        curves = {one.name: one for one in client.series.get(["near", far.uid], "loss")}
        assert (curves["far"].logdir, curves["far"].steps.tolist()) == ("train", [0, 1, 2, 3, 4])
        assert curves["near"].values.tolist() == [5.0, 6.0]
        assert [(one.logdir, one.tag, one.count) for one in client.series.tags(far.uid)] == [("train", "loss", 5)]
        (file,) = ask(client, f"/api/v1/runs/{far.uid}/files?prefix=tb/").json()["items"]
        content = ask(client, f"/api/v1/runs/{far.uid}/files/content?path={quote(file['path'])}")
        assert (len(content.body), b"loss" in content.body) == (file["bytes"], True)


def test_a_bucket_that_hangs_keeps_nobody_else_waiting(
    catalog: Catalog,
    folder: Store,
    bucket: Store,
    proxy: FaultProxy,
    tmp_path: Path,
):
    patience = ReadingPatience(Patience(stall_seconds=60, retries=0))
    logged_run(folder, name="near", curves={"loss": [5.0, 6.0]})
    far = stored_run(bucket, tmp_path / "far", "far", lambda run: run.log(range(5)))
    with serving_runs(catalog, folder.uri, bucket.uri, reading_patience=patience) as client:
        until_seen(client)
        proxy.hold()
        waiting = [threading.Thread(target=_ask, args=(client, far.uid)) for _ in range(ASKING)]
        for one in waiting:
            one.start()
        for _ in range(5):
            assert client.series.get("near", "loss")[0].values.tolist() == [5.0, 6.0]
        assert any(one.is_alive() for one in waiting), "it was not their answers that let these through"
        found, problems = client.series.get_partly(["near", far.uid], "loss")
        assert ([one.name for one in found], [one.run for one in problems]) == (["near"], ["far"])
        proxy.release()
        for one in waiting:
            one.join(60)
        until(lambda: _has_points(client, far.uid))


def _ask(client: Client, uid: str) -> None:
    with contextlib.suppress(AboardError):
        client.series.get(uid, "loss")


def _has_points(client: Client, uid: str) -> bool:
    try:
        return len(client.series.get(uid, "loss")[0]) == 5
    except AboardError:
        return False
