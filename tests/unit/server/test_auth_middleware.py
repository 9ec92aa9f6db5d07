# SPDX-License-Identifier: Apache-2.0
"""Which requests the login guard passes on: a browser's cookie alone must not let another site change anything."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from aboard.model.people import Access
from aboard.server.auth.authenticator import Authenticator, Principal
from aboard.server.auth.middleware import AuthMiddleware
from aboard.server.auth.pages import LoginPages
from aboard.server.http.addresses import ServerNames
from aboard.server.http.asgi import text_response
from aboard.server.http.limits import RequestLimiter

HOST = "board.example:6006"
RUNS = "/api/v1/runs"
ALLOWED = "https://notebook.example"


class AuthenticatorOfAnn:
    """Recognizes everyone as ann, by a cookie or by a token."""

    def __init__(self, *, by_cookie: bool) -> None:
        self._by_cookie = by_cookie

    async def authenticate(self, *_: object) -> Principal:
        return Principal(Access(name="ann"), self._by_cookie)

    async def renew_session(self, _: object) -> None:
        return None


class NoPages:
    """No path is a login page."""

    can_log_in = False

    def is_open(self, _: str) -> bool:
        return False

    has = is_open


def status_of(method: str = "POST", *, path: str = RUNS, by_cookie: bool = True, **headers: Any) -> int:
    """The status of one request, 200 when the application got it."""
    names = ServerNames(names=frozenset({"board.example"}), any_address=False, origins=frozenset({ALLOWED}))
    authenticator = cast(Authenticator, AuthenticatorOfAnn(by_cookie=by_cookie))
    guard = AuthMiddleware(
        text_response(200, "inside"),
        authenticator,
        cast(LoginPages, NoPages()),
        names,
        RequestLimiter(100),
        largest_request=99,
    )
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(guard(scope, receive, send))
    return sent[0]["status"]


FOREIGN = ["http://evil.example", "null", "", "http://board.example:1", "https://board.example:6006.evil.example"]


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("by_cookie", [True, False], ids=["cookie", "token"])
def test_a_change_from_a_foreign_origin_is_refused(origin: str, by_cookie: bool) -> None:
    assert [status_of(method, by_cookie=by_cookie, origin=origin) for method in ("POST", "PATCH", "DELETE")] == [
        403
    ] * 3


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_a_change_from_another_site_with_the_cookie_is_refused(site: str) -> None:
    assert status_of(sec_fetch_site=site) == 403
    assert status_of(sec_fetch_site=site, by_cookie=False) == 200


def test_a_change_that_says_nothing_of_its_page_needs_a_token() -> None:
    assert status_of() == 403
    assert status_of(by_cookie=False) == 200


@pytest.mark.parametrize(
    "mark",
    [
        {"origin": f"http://{HOST}"},
        {"origin": ALLOWED},
        {"sec_fetch_site": "same-origin"},
        {"x_aboard_request": "1"},
    ],
    ids=lambda mark: next(iter(mark)),
)
def test_pages_of_the_server_may_change(mark: dict[str, Any]) -> None:
    assert status_of(**mark) == 200


def test_reading_needs_no_origin() -> None:
    assert status_of("GET") == status_of("GET", origin="http://evil.example") == 200


@pytest.mark.parametrize("host", ["evil.example", "board.example.evil.example", "127.0.0.1:6006", ""])
def test_other_host_names_are_refused(host: str) -> None:
    assert status_of("GET", host=host) == 421


def test_large_and_unmeasured_bodies_are_refused() -> None:
    own: dict[str, Any] = {"origin": f"http://{HOST}"}
    assert status_of(content_length="99", **own) == 200
    assert status_of(content_length="100", **own) == 413
    assert status_of(content_length="-1", **own) == 400


@pytest.mark.parametrize("path", ["/api/v1/../login", "/api//runs", "/api/v1/runs\\x", "/api/v1/\x00"])
def test_paths_that_are_not_plain_are_refused(path: str) -> None:
    assert status_of("GET", path=path) == 400
