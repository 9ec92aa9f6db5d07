# SPDX-License-Identifier: Apache-2.0
"""The application of `aboard view` while its board is not there yet, and the way to a WSGI application."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from aboard.reader.progress import ReadingProgress
from aboard.server.boards.wsgi import WSGIBridge
from aboard.server.view import ViewApp

RUNS: Any = SimpleNamespace(progress=ReadingProgress(3, 4, 500, 1, 0.0), runs={}, traffic={}, store_problems=[])


def echo(environ, start_response):
    """What a WSGI application sees."""
    body = environ["wsgi.input"].read()
    names = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "CONTENT_LENGTH", "REMOTE_ADDR", "HTTP_X_Y")
    document = {name: environ.get(name) for name in names} | {"body": body.decode()}
    start_response("200 OK", [("Content-Type", "application/json"), ("X-Twice", "1"), ("X-Twice", "2")])
    return [json.dumps(document).encode()]


async def ask(app, path="/", *, method="GET", query="", parts=(b"",), headers=()):
    """The messages of an answer."""
    given = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    given[-1]["more_body"] = False
    sent: list[dict[str, Any]] = []

    async def receive():
        return given.pop(0)

    async def send(message):
        sent.append(dict(message))

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "http_version": "1.1",
        "headers": list(headers),
        "client": ("127.0.0.1", 5),
    }
    await app(scope, receive, send)
    return sent


def fail(error: Exception) -> None:
    pytest.fail(str(error))


def body_of(sent) -> bytes:
    return b"".join(message["body"] for message in sent[1:])


def answering(name):
    """An application that answers with its name and the path it sees."""

    async def app(scope, _, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": f"{name} {scope['path']}".encode()})

    return app


page, api = answering("page"), answering("api")


def test_page_health_and_progress_wait_for_nothing():
    may_open, may_import = threading.Event(), threading.Event()

    def open_runs():
        assert may_open.wait(30)
        return RUNS

    def make_api(_):
        assert may_import.wait(30)
        return api

    async def story():
        app = ViewApp(page, open_runs, make_api, lambda _: echo, fail)
        answer = asyncio.create_task(ask(app, "/api/v1/runs"))
        assert body_of(await ask(app, "/w/runs")) == b"page /w/runs"
        assert json.loads(body_of(await ask(app, "/healthz"))) == {"status": "ok"}
        before = json.loads(body_of(await ask(app, "/api/v1/progress")))
        assert (before["complete"], before["runs_found"], before["newest_point_age"]) == (False, 0, None)
        assert not answer.done()
        may_open.set()
        while not (after := json.loads(body_of(await ask(app, "/api/v1/progress"))))["complete"]:
            await asyncio.sleep(0.01)
        assert before.keys() == after.keys()
        assert (after["runs_read"], after["runs_found"]) == (3, 4)
        assert not answer.done()
        may_import.set()
        assert body_of(await answer) == b"api /api/v1/runs"

    asyncio.run(story())


def test_a_prefix_and_what_is_not_below_it():
    async def story():
        app = ViewApp(page, lambda: RUNS, lambda _: api, lambda _: echo, fail, "/deep/ü")
        assert (await ask(app, "/healthz"))[0]["status"] == 404
        assert (await ask(app, "/deep/üx"))[0]["status"] == 404
        assert (await ask(app, "/deep/ü/healthz"))[0]["status"] == 200
        seen = json.loads(body_of(await ask(app, "/deep/ü/a/é", query="q=1")))
        assert (seen["SCRIPT_NAME"], seen["PATH_INFO"]) == ("/deep/ü".encode().decode("latin-1"), "/a/Ã©")
        assert seen["QUERY_STRING"] == "q=1"
        assert body_of(await ask(app, "/deep/ü")) == b"page /"
        below = json.loads(body_of(await ask(app, "/deep/ü/tensorboard/data/runs")))
        assert (below["SCRIPT_NAME"][-12:], below["PATH_INFO"]) == ("/tensorboard", "/data/runs")

    asyncio.run(story())


def test_only_pages_of_the_same_origin_may_show_tensorboard_in_a_frame():
    app = ViewApp(page, lambda: RUNS, lambda _: api, lambda _: echo, fail, "/deep")
    for path in ("/deep/tensorboard/", "/deep/data/runs"):
        policies = [
            value.decode()
            for name, value in asyncio.run(ask(app, path))[0]["headers"]
            if name == b"content-security-policy"
        ]
        assert [policy for policy in policies if "frame-ancestors 'self';" in policy], policies


def test_the_page_works_without_tensorboard():
    missing = [True]

    def make_board(_):
        if missing.pop() if missing else False:
            raise ImportError("no tensorboard today")
        return echo

    async def story():
        app = ViewApp(page, lambda: RUNS, lambda _: api, make_board, fail)
        refused = await ask(app, "/tensorboard/")
        assert refused[0]["status"] == 503
        assert b"no tensorboard today" in body_of(refused)
        assert body_of(await ask(app, "/w/x")) == b"page /w/x"
        assert (await ask(app, "/tensorboard/"))[0]["status"] == 200

    asyncio.run(story())


def test_an_api_that_cannot_be_made_ends_the_view():
    failures = []

    def make_api(_):
        raise RuntimeError("no api today")

    async def story():
        app = ViewApp(page, lambda: RUNS, make_api, lambda _: echo, failures.append)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no api today"):
                await ask(app, "/api/v1/runs")

    asyncio.run(story())
    assert [str(error) for error in failures] == ["no api today"]


def test_what_a_wsgi_application_gets_and_gives():
    async def story():
        bridge = WSGIBridge(echo, workers=2)
        headers = [(b"x-y", b"a"), (b"x-y", b"b"), (b"content-length", b"7")]
        sent = await ask(bridge, "/p", method="POST", parts=(b"one", b"", b"two!"), headers=headers)
        seen = json.loads(body_of(sent))
        assert (seen["REQUEST_METHOD"], seen["body"], seen["CONTENT_LENGTH"]) == ("POST", "onetwo!", "7")
        assert (seen["REMOTE_ADDR"], seen["HTTP_X_Y"]) == ("127.0.0.1", "a,b")
        assert sent[0]["status"] == 200
        assert [value for name, value in sent[0]["headers"] if name == b"x-twice"] == [b"1", b"2"]
        assert not sent[-1].get("more_body")

    asyncio.run(story())


@pytest.mark.parametrize("size", [0, 1, 256 << 10, (256 << 10) + 1, 3_000_000])
def test_large_answers_go_out_in_pieces(size):
    whole = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    closed = []

    class Parts:
        def __iter__(self):
            return iter([whole[: size // 3], whole[size // 3 :]])

        def close(self):
            closed.append(True)

    def app(_, start_response):
        start_response("206 Partial Content", [("Content-Length", str(size))])
        return Parts()

    sent = asyncio.run(ask(WSGIBridge(app, workers=1)))
    assert sent[0]["status"] == 206
    assert body_of(sent) == whole
    assert closed == [True]
    assert all(message["more_body"] for message in sent[1:-1])


def test_a_request_that_is_too_large_is_refused():
    part = bytes(8 << 20)
    sent = asyncio.run(ask(WSGIBridge(echo, workers=1), method="POST", parts=[part] * 9))
    assert sent[0]["status"] == 413
