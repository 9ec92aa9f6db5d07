# SPDX-License-Identifier: Apache-2.0
"""Requests that no client of ours would send: each is answered with a document that says what is wrong."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

import pytest

from support.asgi_requests import Answer, send_request

if TYPE_CHECKING:
    from aboard.model.runs import RunRecord
    from aboard.store import Store

CASES = [
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
    ("GET", "reindex/none", b"", 404),
    ("GET", "runs?limit=99999", b"", 400),
    ("GET", "runs?limit=1.5", b"", 400),
    ("GET", "runs?zone=99999", b"", 400),
    ("GET", "runs?zone=99999&where=number%3E0", b"", 400),
    ("GET", "runs?bin=perhaps", b"", 400),
    ("GET", "runs?where=" + quote("(" * 5000), b"", 400),
    ("GET", "runs?where=name%20%3D%3D%20%22%00%22", b"", 200),
    ("GET", "runs?after=" + quote("ÄÖ"), b"", 400),
    ("GET", "runs/" + quote("x" * 5000), b"", 404),
    ("GET", "runs/%00", b"", 404),
    ("GET", "runs/%ff%fe", b"", 404),
    ("GET", "runs/run999999999999999999999", b"", 404),
    ("GET", "experiments/999999999999999999", b"", 404),
    ("GET", "comparison?run=base", b"", 400),
    ("GET", "usage?by=;drop", b"", 400),
    ("DELETE", "runs/base", b"", 405),
    ("GET", "series", b"", 400),
    ("GET", "series?run=run99", b"", 404),
    ("GET", "series?run=" + "&run=".join(map(str, range(600))), b"", 404),
    ("GET", "series?run=base&tag=%00", b"", 404),
    ("GET", "series?run=base&pattern=%28", b"", 400),
    ("GET", "series?run=base&pattern=" + "a" * 501, b"", 400),
    ("GET", "series?run=base&pattern=" + quote("(a+)+$"), b"", 200),
    ("GET", "series?run=base&from_step=9223372036854775808", b"", 400),
    ("GET", "series?run=base&from_step=-9223372036854775808&to_step=9223372036854775807", b"", 200),
    ("GET", "series?run=base&from_step=9&to_step=1", b"", 200),
    ("GET", "series?run=base&since=nan", b"", 400),
    ("GET", "series?run=base&since=1e400", b"", 400),
    ("GET", "series?run=base&points=-1", b"", 400),
    ("GET", "series?run=base&points=1000001", b"", 400),
    ("GET", "series?run=base&format=html", b"", 400),
    ("GET", "runs/base/tags?kind=moon", b"", 400),
    ("GET", "runs/base/tags?limit=0", b"", 400),
    ("GET", "runs/base/tags?after=%ff", b"", 200),
    ("GET", "runs/..%252f..%252fbase/tags", b"", 404),
    ("GET", "runs/base/media?tag=x", b"", 404),
    ("GET", "runs/base/media", b"", 400),
    ("GET", "runs/base/media/content?tag=x&step=99999999999999999999", b"", 400),
    ("GET", "runs/base/media/content?tag=x&sample=-1", b"", 400),
    ("GET", "runs/base/files?prefix=../", b"", 200),
    ("GET", "runs/base/files/content?path=..%2f..%2fcatalog.sqlite", b"", 404),
    ("GET", "runs/base/files/content", b"", 400),
    ("GET", "runs/base/log", b"", 404),
    ("GET", "runs/base/log?path=tb/x", b"", 404),
    ("GET", "runs/base/log?offset=-1", b"", 400),
]


class Ask(Protocol):
    """Send a request to the API."""

    def __call__(self, method: str, path: str, body: bytes = b"") -> Answer: ...


@contextlib.contextmanager
def api_over(store: Store, folder: Path) -> Generator[Ask]:
    """The API over a store that was looked at, without a socket."""
    from aboard.catalog.catalog import Catalog
    from aboard.server.app import create_app
    from aboard.server.auth.shared_token import SharedTokenMiddleware
    from aboard.services.services import ServiceOptions, Services

    with Catalog.open(folder / "catalog.sqlite") as catalog:
        options = ServiceOptions(stores=[store.uri], may_add_stores=True, look_seconds=60)
        with contextlib.closing(Services(catalog, options)) as control:
            control.look_now()
            app = create_app(control, personal=True, private=False, actor="tester", remember=lambda _: None)
            guarded = SharedTokenMiddleware(app, hosts=frozenset({"127.0.0.1"}), token="secret", cookie="aboard_test")
            headers = {"authorization": "Bearer secret"}

            def ask(method: str, path: str, body: bytes = b"") -> Answer:
                return send_request(guarded, method, f"/api/v1/{path}", headers=headers, body=body)

            yield ask


def run_in(document: object) -> RunRecord:
    from aboard.api.wire import from_wire
    from aboard.model.runs import RunRecord

    return from_wire(RunRecord, document)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ask]:
    from aboard.store import open_store
    from support.stored_runs import store_run

    folder = tmp_path_factory.mktemp("server")
    store = open_store(str(folder / "store"), create=True)
    store_run(store, name="base", hparams={"lr": 0.1})
    with api_over(store, folder) as made:
        assert made("GET", "runs/base").status == 200
        yield made


def test_what_is_wrong_is_told(ask: Ask):
    for method, path, body, status in CASES:
        case = f"{method} {path[:200]} {body[:100]!r}"
        answer = ask(method, path, body)
        assert answer.status == status, f"{case}: {answer.body!r}"
        if status != 200:
            assert answer.json()["error"]["message"], case
        assert run_in(ask("GET", "runs/base").json()).deleted is None, case


def test_a_request_that_is_too_large_is_refused(ask: Ask):
    answer = ask("PATCH", "runs", b'{"note": "' + b"x" * (17 << 20) + b'"}')
    assert answer.status == 400
    assert b"larger than" in answer.body


def test_what_a_document_says_besides_is_told_whatever_it_is(tmp_path: Path):
    from aboard.store import open_store
    from support.stored_runs import store_run

    store = open_store(str(tmp_path / "store"), create=True)
    uid = store_run(store, name="odd")
    document = json.loads(store.get(f"{uid}/run.json"))
    said = {"large": 10**40, "half": "\ud800", "deep": {"a": [1, None]}}
    store.put(f"{uid}/run.json", json.dumps(document | said).encode())
    with api_over(store, tmp_path) as ask:
        details = run_in(ask("GET", "runs/odd").json()).details
        assert {name: details[name] for name in said} == said
        changed = ask("PATCH", "runs", b'{"runs": ["odd"], "set_tags": {"x": ""}}').json()
        assert run_in(changed["items"][0]).details == details
