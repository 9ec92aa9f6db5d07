# SPDX-License-Identifier: Apache-2.0
"""Who may ask a server on this machine, and with what."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse

from aboard.server.auth.shared_token import SharedTokenMiddleware

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


def ask(guard, path="/", *, method="GET", query="", **headers):
    """Status and headers of the answer."""
    answers = []

    async def send(message):
        answers.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(guard(scope, receive, send))
    start = answers[0]
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


def guard_of(*, hosts: frozenset[str] | None = LOCAL, token: str | None = None) -> SharedTokenMiddleware:
    return SharedTokenMiddleware(PlainTextResponse("inside"), hosts=hosts, token=token, cookie="c")


@pytest.mark.parametrize("host", ["127.0.0.1:6006", "localhost:6006", "[::1]:6006", "LOCALHOST"])
def test_this_machine_may_ask(host):
    assert ask(guard_of(), host=host)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:6006", "127.0.0.1.evil.example:6006", ""])
def test_a_name_that_only_points_here_may_not(host):
    assert ask(guard_of(), host=host)[0] == 421


def test_forms_of_other_pages_are_refused():
    other = ask(guard_of(), method="POST", host="localhost:1", origin="http://evil.example")
    own = ask(guard_of(), method="POST", host="localhost:1", origin="http://localhost:1")
    assert (other[0], own[0]) == (403, 200)


@pytest.mark.parametrize("origin", ["null", "", "http://[", "http://localhost:2"])
def test_an_origin_that_is_none_of_its_own_is_refused(origin):
    assert ask(guard_of(), method="PATCH", host="localhost:1", origin=origin)[0] == 403


@pytest.mark.parametrize(
    ("site", "change", "image", "link"),
    [
        ("cross-site", 403, 403, 200),
        ("same-site", 403, 200, 200),
        ("same-origin", 200, 200, 200),
        ("none", 200, 200, 200),
    ],
)
def test_what_a_browser_calls_another_site_may_only_lead_here(site, change, image, link):
    given = {"host": "localhost:1", "sec-fetch-site": site}
    assert ask(guard_of(), method="POST", **given)[0] == change
    assert ask(guard_of(), **given, **{"sec-fetch-mode": "no-cors"})[0] == image
    assert ask(guard_of(), **given, **{"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})[0] == link


def test_without_the_token_there_is_only_the_health_route():
    guard = guard_of(hosts=None, token="secret")
    assert ask(guard, host="gpu7:6006")[0] == 401
    assert ask(guard, query="token=wrong", host="gpu7:6006")[0] == 401
    assert ask(guard, host="gpu7:6006", cookie="c=wrong")[0] == 401
    assert ask(guard, "/healthz", host="gpu7:6006")[0] == 200


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address():
    guard = guard_of(hosts=None, token="secret")
    status, headers = ask(guard, "/x/", query="token=secret&darkMode=true", host="gpu7:6006")
    assert (status, headers["location"]) == (303, "/x/?darkMode=true")
    cookie = headers["set-cookie"]
    assert "c=secret" in cookie
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert ask(guard, host="gpu7:6006", cookie="c=secret")[0] == 200
    assert ask(guard, host="gpu7:6006", authorization="Bearer secret")[0] == 200


def test_the_redirect_stays_on_this_server():
    guard = guard_of(hosts=None, token="secret")
    assert ask(guard, "//evil.example/x", query="token=secret", host="gpu7")[1]["location"] == "/evil.example/x"
