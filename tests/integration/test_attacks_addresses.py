# SPDX-License-Identifier: Apache-2.0
"""Addresses, names and headers that try to mean something else than they say."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server import LoginSettings, ServeSettings
from aboard.services.people.accounts import ensure_administrator
from support.attacked_server import attacked_server, me
from support.team_servers import BOSS, TeamServer, team_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    with attacked_server(tmp_path_factory.mktemp("attacked")) as server:
        yield server


def test_what_headers_say_of_the_way_here_is_not_believed(server: TeamServer):
    spoofed = {
        "X_Forwarded_Host": "evil.example",
        "X_Forwarded_Proto": "https",
        "X_Forwarded_User": BOSS,
        "X_Forwarded_For": "192.0.2.1",
        "X_Real_IP": "127.0.0.1",
        "Forwarded": "for=127.0.0.1;host=evil.example",
        "X_Original_URL": "/healthz",
        "X_Rewrite_URL": "/healthz",
        "X_HTTP_Method_Override": "DELETE",
    }
    assert me(server, **spoofed).status == 401
    assert me(server, who="vic", **spoofed).document["name"] == "vic"
    answer = server.ask("/w/x", Accept="text/html", **spoofed)
    assert answer.header("location") == "/login?next=%2Fw%2Fx"


@pytest.mark.parametrize(
    "path",
    [
        "/healthz/../api/v1/runs",
        "/healthz/%2e%2e/api/v1/runs",
        "/healthz/..%2fapi/v1/runs",
        "//api/v1/runs",
        "/api//v1/runs",
        "/api/v1/./runs",
        "/login/..;/api/v1/runs",
        "/login\\..\\api/v1/runs",
        "/api/v1/runs%00",
        "/api/v1/runs%0d%0aSet-Cookie:x=y",
        "/login%2f../api/v1/runs",
        "/%2e%2e/%2e%2e/etc/passwd",
    ],
)
def test_smuggled_paths_do_not_get_past_the_guard(server: TeamServer, path: str):
    answer = server.ask(path)
    assert answer.status in (400, 401, 404)
    assert b"items" not in answer.body
    assert "x=y" not in answer.header("set-cookie")


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/%09/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "///evil.example/x",
        "",
        "evil.example",
    ],
)
def test_a_login_leads_to_no_other_site(server: TeamServer, wanted: str):
    from urllib.parse import urljoin, urlsplit

    form = urlencode({"token": server.tokens["vic"], "next": wanted})
    location = server.ask("/login", "POST", form=form, Origin=server.url).header("location")
    assert urlsplit(urljoin(server.url, location)).netloc == f"127.0.0.1:{server.port}"
    assert not location.startswith(("//", "/\\"))
    assert "\t" not in location


def test_markup_in_names_is_shown_as_text(server: TeamServer):
    evil = "<script>alert(1)</script>"
    answer = server.ask(f"/login?next=/%22%3E{evil.replace('<', '%3C').replace('>', '%3E')}")
    assert b"<script" not in answer.body
    assert server.ask("/login", "POST", form=f"token={evil}", Origin=server.url).body.count(b"<script") == 0
    server.client().people.add(evil.replace("/", ""))
    answer = server.ask("/api/v1/people", who=BOSS)
    assert answer.header("content-type") == "application/json"
    assert answer.header("x-content-type-options") == "nosniff"


@pytest.mark.parametrize(
    "path", ["/", "/login", "/healthz", "/api/v1/runs", "/api/v1/nothing", "/nothing", "/boards/x/"]
)
def test_every_answer_tells_browsers_to_be_careful(server: TeamServer, path: str):
    for headers in ({}, {"who": "vic"}):
        answer = server.ask(path, **headers)
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("referrer-policy") == "same-origin"
        policy = ";".join(value for name, value in answer.headers if name.lower() == "content-security-policy")
        assert "frame-ancestors" in policy
        assert "unsafe-eval" not in policy


def test_a_header_is_believed_of_the_proxy_alone(tmp_path: Path):
    login = LoginSettings(mode="header", header="X-Remote-User", proxy_secret="a secret between the two")
    serve = ServeSettings(proxies=("192.0.2.1/32",))
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, login=login, serve=serve) as server,
    ):
        refusal = me(server, X_Remote_User=BOSS)
        assert (refusal.status, "trusted proxies" in refusal.document["error"]["message"]) == (401, True)
        assert me(server, X_Remote_User=BOSS, X_Aboard_Proxy_Secret="wrong").status == 401
        assert me(server, X_Remote_User=BOSS, X_Forwarded_For="192.0.2.1").status == 401
        assert me(server, X_Forwarded_User=BOSS, X_Aboard_Proxy_Secret=login.proxy_secret).status == 401
        proven = {"X_Aboard_Proxy_Secret": login.proxy_secret}
        found = me(server, X_Remote_User="newcomer", **proven).document
        assert (found["name"], found["administrator"], found["roles"]) == ("newcomer", False, {"default": "editor"})
        # The account that runs the server is an administrator, but not because somebody is called so.
        for name in (BOSS, BOSS.upper()):
            assert me(server, X_Remote_User=name, **proven).document["administrator"] is False
        ensure_administrator(catalog, "chief", is_chosen=True)
        assert me(server, X_Remote_User="Chief", **proven).document["administrator"] is True
        ensure_administrator(catalog, BOSS, is_chosen=True)
        server.control.logins.forget()
        assert me(server, X_Remote_User=BOSS, **proven).document["administrator"] is True
        assert me(server, X_Remote_User="a/../b", **proven).status == 400
        # Browsers reach a proxy with whatever it knows them by, so other sites could use that as they could a cookie.
        body = {"workspace": "default", "name": "x"}
        forged = {"X_Remote_User": "newcomer", "Origin": "http://evil.example", **proven}
        assert server.ask("/api/v1/experiments", "POST", body=body, **forged).status == 403
        assert server.ask("/login", "POST", form=f"token={server.tokens[BOSS]}").status == 403


def test_a_proxy_may_prove_itself_by_its_address(tmp_path: Path):
    login, serve = LoginSettings(mode="header"), ServeSettings(proxies=("127.0.0.1/32",))
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, login=login, serve=serve) as server,
    ):
        assert me(server, X_Forwarded_User="zoe").document["name"] == "zoe"
        assert me(server, X_Forwarded_User="zoe", X_Forwarded_For="198.51.100.7").document["name"] == "zoe"
        # A proxy that adds its header to the one that the client sent.
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            head = f"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
            connection.sendall(f"{head}X-Forwarded-User: {BOSS}\r\nx-forwarded-user: zoe\r\n\r\n".encode())
            assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")
