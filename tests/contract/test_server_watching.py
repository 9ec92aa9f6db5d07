# SPDX-License-Identifier: Apache-2.0
"""What those see who watch over a server: health, counters, request ids, and its log."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.server.http.logging import REQUEST_ID, JsonFormatter, TextFormatter
from aboard.store import Store, open_store
from support.http_asking import ask
from support.logged_runs import logged_run
from support.processes import until
from support.stored_runs import serving_runs


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store"), create=True)


@pytest.fixture
def client(tmp_path: Path, store: Store) -> Iterator[Client]:
    logged_run(store, name="base", curves={"loss": [1.0, 2.0]})
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, serving_runs(catalog, store.uri, personal=False) as made:
        until(lambda: made.runs.count() == 1)
        yield made


def numbers(client: Client) -> dict[str, float]:
    answer = ask(client, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in (line.rpartition(" ") for line in lines)}


def test_counters_tell_what_happened(client: Client, store: Store):
    client.series.get("base", "loss")
    ask(client, "/api/v1/runs/nothing")
    missed = 'aboard_requests_total{method="GET",route="/api/v1/runs/{run}",status="404"}'
    until(lambda: missed in numbers(client))  # counted when the answer is out
    found = numbers(client)
    assert found['aboard_requests_total{method="GET",route="/api/v1/series",status="200"}'] == 1
    assert found[missed] == 1
    assert found['aboard_request_seconds_count{route="/api/v1/series"}'] == 1
    assert (found["aboard_runs"], found["aboard_open_runs"], found["aboard_open_boards"]) == (1, 1, 0)
    assert found[f'aboard_store_up{{store="{store.uri}"}}'] == 1
    assert found[f'aboard_store_requests_total{{kind="list",store="{store.uri}"}}'] > 0
    assert found["process_resident_memory_bytes"] > 1e6


def test_a_path_that_is_made_up_adds_no_counter(client: Client):
    for number in range(3):
        ask(client, f"/made/up/{number}")
    counter = 'aboard_requests_total{method="GET",route="other",status="404"}'
    until(lambda: numbers(client).get(counter) == 3)


def test_it_is_ready_and_says_when_a_store_is_not(client: Client, store: Store):
    ready = ask(client, "/readyz", Authorization="")
    assert (ready.status, ready.json()) == (
        200,
        {"status": "ready", "database": "ok", "stores": 1, "failing_stores": 0},
    )
    assert ask(client, "/healthz", Authorization="").json() == {"status": "ok"}
    assert ask(client, "/metrics", Authorization="").status == 401
    shutil.move(store.uri, f"{store.uri}-away")
    until(lambda: ask(client, "/readyz").json()["status"] == "degraded")
    # What was read before is still told.
    assert client.runs.get("base").name == "base"
    shutil.move(f"{store.uri}-away", store.uri)
    until(lambda: ask(client, "/readyz").json()["status"] == "ready")


def test_every_answer_has_the_id_of_its_request(client: Client):
    assert ask(client, "/api/v1/info", X_Request_Id="from-my-proxy.7").headers["x-request-id"] == "from-my-proxy.7"
    for given in ("", "two words", "x" * 100):
        made = ask(client, "/api/v1/nothing", X_Request_Id=given).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", made)
    assert ask(client, "/api/v1/info", Authorization="").headers["x-request-id"]


def test_the_log_says_what_was_asked(client: Client, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "aboard.access"):
        ask(client, "/api/v1/runs/nothing%0aforged", X_Request_Id="abc")
        ask(client, "/healthz")
        until(lambda: any(getattr(one, "facts", {}).get("request_id") == "abc" for one in caplog.records))
    assert not any("healthz" in one.getMessage() for one in caplog.records)
    (record,) = [one for one in caplog.records if getattr(one, "facts", {}).get("request_id") == "abc"]
    line = json.loads(JsonFormatter().format(record))
    assert (line["request_id"], line["method"], line["status"], line["level"]) == ("abc", "GET", 404, "info")
    assert line["path"] == "/api/v1/runs/nothing\nforged"
    assert line["milliseconds"] > 0
    text = TextFormatter().format(record)
    assert r"nothing\nforged 404" in text
    assert text.endswith("[abc]")


def test_what_is_logged_while_a_request_is_answered_carries_its_id():
    token = REQUEST_ID.set("abc")
    try:
        try:
            raise ValueError("broken")
        except ValueError as error:
            record = logging.makeLogRecord({"msg": "failed", "exc_info": (type(error), error, error.__traceback__)})
        line = json.loads(JsonFormatter().format(record))
        assert (line["request_id"], line["message"]) == ("abc", "failed")
        assert "broken" in line["traceback"]
        assert "\x1b" not in TextFormatter().format(logging.makeLogRecord({"msg": "a\x1b[2Jb"}))
    finally:
        REQUEST_ID.reset(token)


def test_no_text_in_a_record_looks_like_another_record():
    forged = "2026-01-01 00:00:00,000 INFO aboard.access: POST /api/v1/FORGED 200"
    try:
        raise ValueError(f"broken\n{forged}")
    except ValueError as error:
        raised = (type(error), error, error.__traceback__)
    for record in (
        {"msg": "no folder %r or %s", "args": (f"a\n{forged}", f"b\r\n{forged}")},
        {"msg": f"HParams error: c\n{forged}"},
        {"msg": "failed", "exc_info": raised},
        {"msg": "failed", "stack_info": f"Stack\n{forged}"},
        {"msg": f"d\u2028{forged}\x85{forged}\v{forged}"},
    ):
        text = TextFormatter().format(logging.makeLogRecord(record))
        assert forged in text
        assert not any(line.startswith(forged[:10]) for line in text.splitlines()[1:])
    assert "\n  Traceback" in TextFormatter().format(logging.makeLogRecord({"msg": "failed", "exc_info": raised}))


def test_headers_alone(client: Client):
    answer = ask(client, "/api/v1/info", "HEAD")
    assert (answer.status, answer.body) == (200, b"")


def test_what_nobody_foresaw_is_told_in_the_same_shape_and_logged_once(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("an inner secret")

    monkeypatch.setattr("aboard.catalog.groups.StorageUsage.by", broken)
    answer = ask(client, "/api/v1/usage")
    assert (answer.status, answer.json()["error"]["message"]) == (500, "the server failed")
    assert b"secret" not in answer.body
    failures = [record for record in caplog.records if record.exc_info]
    assert len(failures) == 1
    assert "an inner secret" in json.loads(JsonFormatter().format(failures[0]))["traceback"]
    assert client.runs.count() == 1
