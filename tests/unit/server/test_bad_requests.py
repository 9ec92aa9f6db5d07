# SPDX-License-Identifier: Apache-2.0
"""Requests that no client of ours would send: each is answered with a document that says what is wrong."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.store import open_store
from support.stored_runs import TOKEN, serving_runs, store_run


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Client]:
    folder = tmp_path_factory.mktemp("server")
    store = open_store(str(folder / "store"), create=True)
    store_run(store, name="base", hparams={"lr": 0.1})
    with Catalog.open(folder / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri) as made:
        assert made.runs.count() == 1
        yield made


def ask(client: Client, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, object]]:
    host, _, port = client.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request(method, f"/api/v1/{path}", body, {"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "runs", b"{", 400),
        ("PATCH", "runs", b"\xff\xfe", 400),
        ("PATCH", "runs", b"[]", 400),
        ("PATCH", "runs", b'{"runs": ["base"]}', 400),
        ("PATCH", "runs", b'{"runs": [], "note": "x"}', 400),
        ("PATCH", "runs", b'{"runs": ["base"], "name": "a\\u0000b"}', 400),
        ("PATCH", "runs", b'{"runs": ["base"], "name": "  "}', 400),
        ("PATCH", "runs", b'{"runs": ["base"], "set_tags": {"": "x"}}', 400),
        ("PATCH", "runs", b"[" * 100_000, 400),
        ("POST", "runs/delete", b'{"runs": ["run99"]}', 404),
        ("POST", "runs/delete", b'{"runs": ["base"], "files": "yes"}', 400),
        ("POST", "runs", b'{"uid": "../../etc", "workspace": "w"}', 400),
        ("POST", "runs", b'{"uid": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "workspace": "../w"}', 400),
        ("POST", "runs/..%2f..%2fetc/heartbeat", b"", 404),
        ("POST", "runs/..%252fetc/heartbeat", b"", 400),
        ("POST", "retention", b'{"keep_newest": -1, "dry_run": false}', 400),
        ("POST", "retention", b'{"older_than_seconds": "NaN", "dry_run": false}', 400),
        ("POST", "retention", b'{"older_than_seconds": 1e300}', 400),
        ("POST", "workspaces", b'{"name": "a/b"}', 400),
        ("POST", "reindex", b'{"store": "nothing://x"}', 400),
        ("POST", "stores", b'{"uri": "s3://key:secret@bucket/x"}', 400),
        ("POST", "selections/resolve", b"{}", 400),
        ("POST", "selections/resolve", b'{"words": "base"}', 400),
        ("POST", "selections/resolve", b'{"words": ["base"], "numbers": "moon"}', 400),
        ("POST", "selections/resolve", b'{"words": ["base"], "where": "run == 1", "zone": 99999}', 400),
        ("POST", "selections/resolve", b'{"words": ["../secrets"]}', 400),
        ("POST", "selections/resolve", b'{"words": ["~root/x"]}', 400),
        ("POST", "selections/resolve", b'{"words": ["s3://key:secret@bucket/x"]}', 400),
        ("POST", "selections/resolve", b'{"words": ["a\\u0000b"]}', 404),
        ("POST", "selections/resolve", b'{"words": ["run1-run999999999999999999", "*\\u0000"]}', 200),
        ("GET", "reindex/none", None, 404),
        ("GET", "runs?limit=99999", None, 400),
        ("GET", "runs?limit=1e3", None, 400),
        ("GET", "runs?zone=99999", None, 400),
        ("GET", "runs?zone=99999&where=number%3E0", None, 400),
        ("GET", "runs?bin=perhaps", None, 400),
        ("GET", "runs?where=" + quote("(" * 5000), None, 400),
        ("GET", "runs?where=name%20%3D%3D%20%22%00%22", None, 200),
        ("GET", "runs?after=" + quote("ÄÖ"), None, 400),
        ("GET", "runs/" + quote("x" * 5000), None, 404),
        ("GET", "runs/%00", None, 404),
        ("GET", "runs/%ff%fe", None, 404),
        ("GET", "runs/run999999999999999999999", None, 404),
        ("GET", "experiments/999999999999999999", None, 404),
        ("GET", "comparison?run=base", None, 400),
        ("GET", "usage?by=;drop", None, 400),
        ("DELETE", "runs/base", None, 405),
        ("GET", "series", None, 400),
        ("GET", "series?run=run99", None, 404),
        ("GET", "series?run=" + "&run=".join(map(str, range(600))), None, 404),
        ("GET", "series?run=base&tag=%00", None, 404),
        ("GET", "series?run=base&pattern=%28", None, 400),
        ("GET", "series?run=base&pattern=" + "a" * 501, None, 400),
        ("GET", "series?run=base&pattern=" + quote("(a+)+$"), None, 200),
        ("GET", "series?run=base&from_step=9223372036854775808", None, 400),
        ("GET", "series?run=base&from_step=-9223372036854775808&to_step=9223372036854775807", None, 200),
        ("GET", "series?run=base&from_step=9&to_step=1", None, 200),
        ("GET", "series?run=base&since=nan", None, 400),
        ("GET", "series?run=base&since=1e400", None, 400),
        ("GET", "series?run=base&points=-1", None, 400),
        ("GET", "series?run=base&points=1000001", None, 400),
        ("GET", "series?run=base&format=html", None, 400),
        ("GET", "runs/base/tags?kind=moon", None, 400),
        ("GET", "runs/base/tags?limit=0", None, 400),
        ("GET", "runs/base/tags?after=%ff", None, 200),
        ("GET", "runs/..%252f..%252fbase/tags", None, 404),
        ("GET", "runs/base/media?tag=x", None, 404),
        ("GET", "runs/base/media", None, 400),
        ("GET", "runs/base/media/content?tag=x&step=99999999999999999999", None, 400),
        ("GET", "runs/base/media/content?tag=x&sample=-1", None, 400),
        ("GET", "runs/base/files?prefix=../", None, 200),
        ("GET", "runs/base/files/content?path=..%2f..%2fcatalog.sqlite", None, 404),
        ("GET", "runs/base/files/content", None, 400),
        ("GET", "runs/base/log", None, 404),
        ("GET", "runs/base/log?path=tb/x", None, 404),
        ("GET", "runs/base/log?offset=-1", None, 400),
    ],
)
def test_what_is_wrong_is_told(client: Client, method: str, path: str, body: bytes | None, status: int):
    code, document = ask(client, method, path, body)
    assert code == status, document
    if status != 200:
        assert isinstance(document["error"], dict)
        assert document["error"]["message"]
    assert client.runs.get("base").deleted is None


def test_a_request_that_is_too_large_is_refused(client: Client):
    code, document = ask(client, "PATCH", "runs", b'{"note": "' + b"x" * (17 << 20) + b'"}')
    assert code == 400
    assert "larger than" in str(document)


def test_what_a_document_says_besides_is_told_whatever_it_is(tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True)
    uid = store_run(store, name="odd")
    document = json.loads(store.get(f"{uid}/run.json"))
    document |= {"large": 10**40, "half": "\ud800", "deep": {"a": [1, None]}}
    store.put(f"{uid}/run.json", json.dumps(document).encode())
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri) as client:
        details = client.runs.get("odd").details
        assert (details["large"], details["half"], details["deep"]) == (10**40, "\ud800", {"a": [1, None]})
        assert client.runs.tag("odd", ["x"]).items[0].details == details
