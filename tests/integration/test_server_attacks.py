# SPDX-License-Identifier: Apache-2.0
"""What somebody might try against a server with logins, tried against a real one over a socket."""

from __future__ import annotations

import contextlib
import html
import http.client
import itertools
import re
import socket
import ssl
import struct
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server_settings import LoginSettings, ServeSettings
from aboard.control import failure_limit
from aboard.control.control import Control
from aboard.control.first_administrator import ensure_administrator
from aboard.errors import UnknownName
from aboard.model.times import now
from aboard.model.user import Role
from aboard.server import answering
from support import nginx
from support.object_servers import free_ports
from support.processes import until
from support.team_servers import BOSS, Answer, TeamServer, team_server

_later = itertools.count(0, 3600)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("attacked")
    serve = ServeSettings(proxies=("192.0.2.1/32",), largest_request=1 << 20)
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder, serve=serve) as server:
        server.person("vic", vision=Role.EDITOR)
        yield server


@pytest.fixture(autouse=True)
def _forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as somebody who has not tried anything yet: what went wrong in another was long ago."""
    ahead = next(_later)
    monkeypatch.setattr(failure_limit, "clock", lambda: time.monotonic() + ahead)


def me(server: TeamServer, **headers: str) -> Answer:
    return server.ask("/api/v1/me", **headers)


def _cookie_name(server: TeamServer) -> str:
    return f"aboard_session_{server.port}"


# --- tokens and cookies -------------------------------------------------------------------------------------------


def test_forged_tokens_and_cookies_open_nothing(server: TeamServer):
    good = server.tokens["vic"]
    head, token_id, secret = good.split("_", 2)
    forged = [
        "",
        "x",
        good[:-1],
        good + "A",
        f"{head}_{token_id}_{'A' * 43}",
        f"{head}_{'0' * 16}_{secret}",
        f"{head}_{token_id}_{secret}\u00e9",
        f"{head}_{token_id}' OR '1'='1_{secret}",
        "A" * 10_000,
    ]
    for text in forged[:6]:
        answer = me(server, Authorization=f"Bearer {text}".encode().decode("latin-1"))
        assert answer.status == 401, text
        assert answer.document["error"]["code"] == "Unauthorized"
    for text in forged:
        assert me(server, Cookie=f"{_cookie_name(server)}={text.encode().decode('latin-1')}").status in (401, 429), text


def test_a_token_is_no_cookie_and_a_cookie_no_token(server: TeamServer):
    cookie = server.logged_in("vic")
    assert me(server, Cookie=cookie).status == 200
    assert me(server, Authorization=f"Bearer {cookie.partition('=')[2]}").status == 401
    assert me(server, Cookie=f"{_cookie_name(server)}={server.tokens['vic']}").status == 401
    # The digest that the catalog holds, should somebody read it, opens nothing.
    with server.catalog.database.reading() as connection:
        for table in ("sessions", "tokens"):
            for (kept,) in connection.exec_driver_sql(f"SELECT hash FROM {table}"):
                assert me(server, Cookie=f"{_cookie_name(server)}={kept}").status == 401


def test_expired_sessions_open_nothing(server: TeamServer):
    secret = server.catalog.sessions.begin("vic", origin="token", lifetime=timedelta(seconds=-1))
    assert me(server, Cookie=f"{_cookie_name(server)}={secret}").status == 401
    living = server.catalog.sessions.begin("vic", origin="token", lifetime=timedelta(hours=1))
    assert server.catalog.sessions.check(living, now() + timedelta(hours=2)) is None


def test_tokens_and_cookies_of_another_server_open_nothing(server: TeamServer, tmp_path: Path):
    with Catalog.open(tmp_path / "other.sqlite") as catalog, team_server(catalog, tmp_path) as other:
        other.person("vic", vision=Role.ADMIN)
        secret = other.logged_in("vic").partition("=")[2]
        assert me(server, Authorization=f"Bearer {other.tokens['vic']}").status == 401
        assert me(server, Cookie=f"{_cookie_name(server)}={secret}").status == 401
        assert me(other, Cookie=f"{_cookie_name(other)}={secret}").status == 200


def test_a_session_cannot_be_foisted(server: TeamServer):
    """A login never takes over the secret that a browser brings: an attacker may have put it there."""
    planted = f"{_cookie_name(server)}={'p' * 43}"
    form = f"token={server.tokens['vic']}"
    answer = server.ask("/login", "POST", form=form, Cookie=planted, Origin=server.url)
    assert answer.status == 303
    assert answer.cookie != planted
    assert me(server, Cookie=planted).status == 401
    second = server.ask("/login", "POST", form=form, Cookie=answer.cookie, Origin=server.url)
    assert second.cookie != answer.cookie


def test_tokens_in_addresses_open_nothing(server: TeamServer):
    """Addresses end up in logs and histories: only codes that work once may stand in them."""
    answer = server.ask(f"/?token={server.tokens['vic']}", Accept="text/html")
    assert (answer.status, answer.header("set-cookie")) == (401, "")
    assert server.ask(f"/api/v1/me?token={server.tokens['vic']}").status == 401


def test_secrets_do_not_stand_in_answers_or_the_record(server: TeamServer):
    cookie = server.logged_in("vic").partition("=")[2]
    told = b"".join(
        server.ask(f"/api/v1/{path}", who=BOSS).body for path in ("audit", "tokens?all=true", "people", "info", "me")
    )
    for secret in (*server.tokens.values(), cookie, server.token):
        assert secret.encode() not in told


# --- other sites --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1.evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {},
    ],
)
def test_pages_of_others_change_nothing_with_the_cookie(server: TeamServer, headers: dict[str, str]):
    cookie = server.logged_in("vic")
    new = {"workspace": "vision", "name": f"by-{len(str(headers))}"}
    answer = server.ask("/api/v1/experiments", "POST", body=new, Cookie=cookie, **headers)
    assert answer.status == 403
    assert server.ask("/logout", "POST", form="", Cookie=cookie, **headers).status == 403
    assert me(server, Cookie=cookie).status == 200


@pytest.mark.parametrize("mark", [{"Origin": "own"}, {"Sec_Fetch_Site": "same-origin"}, {"X_Aboard_Request": "1"}])
def test_own_pages_may_change(server: TeamServer, mark: dict[str, str]):
    cookie = server.logged_in("vic")
    given = {name: server.url if value == "own" else value for name, value in mark.items()}
    body = {"workspace": "vision", "name": f"own-{next(iter(mark))}"}
    answer = server.ask("/api/v1/experiments", "POST", body=body, Cookie=cookie, **given)
    assert (answer.status, answer.document["name"]) == (200, body["name"])


def test_nobody_is_logged_in_by_a_form_of_another_site(server: TeamServer):
    form = f"token={server.tokens['vic']}"
    answer = server.ask("/login", "POST", form=form, Origin="http://evil.example")
    assert (answer.status, answer.header("set-cookie")) == (403, "")


# --- login links --------------------------------------------------------------------------------------------------

TYPED = {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
"""As a browser sends it for an address that a program or a person opens."""


def _link(server: TeamServer, who: str) -> str:
    server.person("mallory", vision=Role.EDITOR)
    return server.client(who).tokens.browser_address("/runs?x=1").removeprefix(server.url)


def test_a_link_that_is_opened_logs_in_without_a_question(server: TeamServer):
    for headers in (TYPED, {}, {**TYPED, "Sec_Fetch_Site": "same-origin"}):
        answer = server.ask(_link(server, "vic"), Accept="text/html", **headers)
        assert (answer.status, answer.header("location")) == (303, "/runs?x=1")
        assert me(server, Cookie=answer.cookie).document["name"] == "vic"
        # Also where the same person is logged in already.
        again = server.ask(_link(server, "vic"), Cookie=answer.cookie, **headers)
        assert (again.status, me(server, Cookie=again.cookie).document["name"]) == (303, "vic")


@pytest.mark.parametrize(
    ("mode", "dest"),
    [("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "script"), ("navigate", "embed")],
)
def test_a_link_works_in_no_part_of_a_page(server: TeamServer, mode: str, dest: str):
    """An image in logged text must not replace the session of who looks at it, and must not use the link up."""
    cookie, link = server.logged_in("vic"), _link(server, "mallory")
    headers = {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}
    for one in ({"Cookie": cookie}, {}):
        assert server.ask(link, **headers, **one).header("set-cookie") == ""
    assert me(server, Cookie=cookie).document["name"] == "vic"
    assert server.ask(link, **TYPED).status == 303


@pytest.mark.parametrize("site", ["none", "same-origin", "same-site", "cross-site", ""])
def test_nobody_elses_session_is_replaced_without_a_question(server: TeamServer, site: str):
    cookie, link = server.logged_in("vic"), _link(server, "mallory")
    headers = {**TYPED, "Sec_Fetch_Site": site} if site else {}
    asked = server.ask(link, Cookie=cookie, Accept="text/html", **headers)
    assert (asked.status, asked.header("set-cookie")) == (200, "")
    assert "You are logged in as vic." in asked.body.decode()
    assert 'href="/runs?x=1"' in asked.body.decode()
    assert asked.header("x-frame-options") == "DENY"
    assert me(server, Cookie=cookie).document["name"] == "vic"
    form = _confirmed(asked)
    for other in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "same-site"}):
        forged = server.ask("/login", "POST", form=form, Cookie=cookie, **other)
        assert (forged.status, forged.header("set-cookie")) == (403, "")
    assert me(server, Cookie=cookie).document["name"] == "vic"
    own = {"Origin": server.url, "Sec_Fetch_Site": "same-origin"}
    answer = server.ask("/login", "POST", form=form, Cookie=cookie, **own)
    assert (answer.status, answer.header("location")) == (303, "/runs?x=1")
    assert me(server, Cookie=answer.cookie).document["name"] == "mallory"
    assert me(server, Cookie=cookie).status == 401


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_a_link_on_a_page_of_another_site_asks_first(server: TeamServer, site: str):
    asked = server.ask(_link(server, "mallory"), Accept="text/html", **{**TYPED, "Sec_Fetch_Site": site})
    assert (asked.status, asked.header("set-cookie")) == (200, "")
    assert "Log in as mallory" in asked.body.decode()
    answer = server.ask("/login", "POST", form=_confirmed(asked), Origin=server.url)
    assert me(server, Cookie=answer.cookie).document["name"] == "mallory"


def _confirmed(asked: Answer) -> str:
    """What the browser sends when the person presses the button."""
    page = asked.body.decode()
    assert 'method="post" action="/login"' in page
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    return urlencode({name: html.unescape(value) for name, value in fields})


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1].evil", "a b"])
def test_names_that_only_lead_here_are_refused(server: TeamServer, host: str):
    assert me(server, who="vic", Host=host).status == 421
    assert me(server, who="vic", Host=f"localhost:{server.port}").status == 200


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


# --- addresses ----------------------------------------------------------------------------------------------------


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
    from urllib.parse import urlencode, urljoin, urlsplit

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


# --- too much -----------------------------------------------------------------------------------------------------


def test_large_requests_are_cut_off(server: TeamServer):
    answer = server.ask("/api/v1/runs", "PATCH", body={"runs": ["x" * (2 << 20)]}, who="vic")
    assert answer.status == 413
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        head = (
            f"PATCH /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.tokens['vic']}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        said = b""
        try:
            for _ in range(64):
                connection.sendall(piece)
            connection.sendall(b"0\r\n\r\n")
            said = connection.recv(4096)
        except ConnectionError:
            said = b"HTTP/1.1 413 "
    assert b" 413 " in said or b" 400 " in said


def test_slow_and_broken_clients_keep_nobody_waiting(server: TeamServer):
    """Some stop in the middle of their headers, some in what they send, some take no answer, some break off."""
    head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n"
    unfinished = (
        "GET /api/v1/me HTT",
        f"GET /api/v1/me HTTP/1.1\r\n{head}",
        f"PATCH /api/v1/runs HTTP/1.1\r\n{head}Content-Length: 1000\r\n\r\n{{",
        f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 1000\r\n\r\ntoken=",
        f"GET /api/v1/openapi.json HTTP/1.1\r\n{head}\r\n" * 50,
    )
    with contextlib.ExitStack() as stack:
        for number in range(200):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
            stack.callback(client.close)
            client.sendall(unfinished[number % len(unfinished)].encode())
            if number % 7 == 0:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no farewell
                client.close()
        assert [me(server, who="vic").status for _ in range(20)] == [200] * 20
    assert me(server, who="vic").status == 200


def _unfinished(port: int, token: str) -> list[bytes]:
    host = f"Host: 127.0.0.1:{port}\r\n"
    known = f"{host}Authorization: Bearer {token}\r\n"
    texts = (
        "",
        "GET /api/v1/me HTT",
        f"GET /api/v1/me HTTP/1.1\r\n{known}",
        f"PATCH /api/v1/runs HTTP/1.1\r\n{known}Content-Length: 1000\r\n\r\n{{",
        f"POST /login HTTP/1.1\r\n{host}Content-Length: 1000\r\n\r\ntoken=",
        f"POST /api/v1/login/exchange HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n5\r\n",
    )
    return [text.encode() for text in texts]


def test_unfinished_requests_are_cut_off_and_streams_are_not(tmp_path: Path):
    serve = ServeSettings(header_seconds=1, body_seconds=1, stalled_seconds=1)
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=serve) as server,
        contextlib.ExitStack() as stack,
    ):
        server.person("vic", vision=Role.EDITOR)

        def connect(port: int, sent: bytes) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            client.sendall(sent)
            return client

        known = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n\r\n"
        stream = connect(server.port, f"GET /api/v1/events HTTP/1.1\r\n{known}".encode())
        assert stream.recv(4096).startswith(b"HTTP/1.1 200 ")
        for _ in range(3):
            clients = [
                connect(port, text)
                for port in (server.port, server.boards_port)
                for text in _unfinished(port, server.tokens["vic"])
                for _ in range(5)
            ]
            for client in clients:  # all come to their end, some with a response
                with contextlib.suppress(ConnectionResetError):
                    while client.recv(4096):
                        pass
        server.control.changes.tell("run", "vision", {"name": "after-all-of-that"})
        heard = b""
        while b"after-all-of-that" not in heard:
            piece = stream.recv(4096)
            assert piece, heard
            heard += piece


@pytest.mark.parametrize("of", ["port", "boards_port"])
def test_idle_connections_take_no_place_from_others(tmp_path: Path, of: str):
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=ServeSettings(connections=20, header_seconds=3600)) as server,
        contextlib.ExitStack() as stack,
    ):
        port = getattr(server, of)
        texts = [text for text in _unfinished(port, server.tokens[BOSS])[:3] for _ in range(40)]
        clients: list[socket.socket] = []
        for text in texts:
            clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)))
            with contextlib.suppress(ConnectionError):
                clients[-1].sendall(text)
            assert server.ask("/healthz").status == 200
        for client in clients[:-20]:
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""
        assert me(server, who=BOSS).status == 200


def test_a_flood_of_tries_is_slowed_down_and_does_not_lock_others_out(tmp_path: Path):
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, team_server(catalog, tmp_path) as server:
        server.person("vic", vision=Role.VIEWER)
        assert me(server, who="vic").status == 200
        head, token_id, _ = server.tokens["vic"].split("_", 2)
        found = [me(server, Authorization=f"Bearer {head}_{token_id}_{n:043d}").status for n in range(15)]
        assert found[:10] == [401] * 10
        assert found[-1] == 429
        flood = [server.ask("/login", "POST", form=f"token=guess{n}", Origin=server.url) for n in range(40)]
        assert flood[-1].status == 429
        assert me(server, Authorization="Bearer guess").header("retry-after").isdecimal()
        codes = [server.ask(f"/?token=guess{n}").status for n in range(3)]
        assert codes == [429] * 3
        body = {"code": "guess", "verifier": ""}
        assert server.ask("/api/v1/login/exchange", "POST", body=body).status == 429
        # The account that runs the server is not in that queue.
        assert me(server, Authorization=f"Bearer {server.token}").status == 200


def _guess_until_throttled(server: TeamServer) -> None:
    statuses = [me(server, Authorization="Bearer aboard_bad").status for _ in range(40)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


def test_failed_logins_do_not_lock_out_valid_credentials(server: TeamServer):
    """All people behind one address share its count of failed attempts, so only failed attempts may be refused."""
    cookie = server.logged_in("vic")
    client = server.client("vic")
    codes = [client.tokens.browser_address().rpartition("=")[2] for _ in range(3)]
    _guess_until_throttled(server)
    for _ in range(3):
        server.control.logins.forget()  # a lookup a moment ago must not be what lets them in
        assert me(server, Cookie=cookie).status == 200
        server.control.logins.forget()
        assert me(server, who="vic").status == 200
        assert me(server, Authorization="Bearer aboard_bad").status == 429
    assert server.ask("/login", "POST", form=f"token={server.tokens['vic']}", Origin=server.url).status == 303
    assert server.ask(f"/?token={codes[0]}").status == 303
    body = {"code": codes[1], "verifier": ""}
    assert server.ask("/api/v1/login/exchange", "POST", body=body).status == 200
    # Codes that were used already are failed attempts, but not for somebody who is logged in.
    assert server.ask(f"/?token={codes[0]}").status == 429
    assert server.ask(f"/?token={codes[0]}", Cookie=cookie).status == 303
    assert server.ask("/api/v1/login/exchange", "POST", body=body).status == 429


def test_somebody_whose_session_has_ended_reaches_the_login_page(server: TeamServer):
    secret = server.catalog.sessions.begin("vic", origin="token", lifetime=timedelta(seconds=-1))
    _guess_until_throttled(server)
    ended = f"{_cookie_name(server)}={secret}"
    assert server.ask("/w/vision", Cookie=ended, Accept="text/html").header("location") == "/login?next=%2Fw%2Fvision"
    assert me(server, Cookie=ended).status == 429
    assert server.ask("/login", Cookie=ended).status == 200


def test_failed_logins_through_the_documented_proxy_count_for_their_own_address(tmp_path: Path):
    """Documented settings pass the addresses of clients, so that a guesser is throttled alone."""
    front, port = free_ports(2)
    passing = nginx.Place(front, "/team/aboard", port)
    documented = tomllib.loads(
        (Path(__file__).parents[2] / "docs" / "logins.md")
        .read_text()
        .partition("serve.proxies")[2]
        .partition("```nginx")[2]
        .partition("```toml")[2]
        .partition("```")[0]
    )["serve"]
    assert documented["url"].endswith(passing.path)
    serve = ServeSettings(url=passing.url, proxies=tuple(documented["proxies"]))

    def guess(source: str, certificate: Path) -> int:
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("localhost", front, context=context, source_address=(source, 0))
        connection.request("GET", f"{passing.path}/api/v1/me", headers={"Authorization": "Bearer aboard_bad"})
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=serve, port=port),
        nginx.nginx(tmp_path, [passing]) as certificate,
    ):
        assert [guess("127.0.0.2", certificate) for _ in range(40)][-1] == 429
        assert guess("127.0.0.3", certificate) == 401


def test_guessed_codes_take_no_turn_at_writing_the_catalog(server: TeamServer, monkeypatch: pytest.MonkeyPatch):
    from aboard.catalog.database import Database

    def refused(*_: object) -> None:
        raise AssertionError("a guess wrote")

    monkeypatch.setattr(Database, "write", refused)
    assert server.ask("/?token=guess").status == 401
    assert server.ask("/api/v1/login/exchange", "POST", body={"code": "x", "verifier": "y"}).status == 401


@pytest.mark.parametrize("path", ["/api/v1/login/exchange", "/api/v1/login", "/login", "/healthz", "/readyz"])
def test_large_bodies_of_strangers_are_not_read(server: TeamServer, path: str, monkeypatch: pytest.MonkeyPatch):
    parsed: list[int] = []
    before = answering._understood

    def understood(kind: type[object], content: bytes) -> object:
        parsed.append(len(content))
        return before(kind, content)

    monkeypatch.setattr(answering, "_understood", understood)
    nested = b'{"code":"x","x":[' + b",".join([b"[]"] * 200_000) + b"]}"
    answer = server.ask(path, "POST", form=nested.decode(), Content_Type="application/json", Origin=server.url)
    assert answer.status == 413
    # The same without saying how much will come.
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        with contextlib.suppress(ConnectionError):  # it may stop reading, which is the point
            for at in range(0, len(nested), 50_000):
                piece = nested[at : at + 50_000]
                connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
            assert connection.recv(4096).startswith((b"HTTP/1.1 405", b"HTTP/1.1 413"))
    assert max(parsed, default=0) <= 16 << 10


@pytest.mark.parametrize("form", ["{", '{"code": 1}', "x" * 100_000])
def test_malformed_logins_are_failed_attempts(server: TeamServer, form: str):
    given = {"form": form, "Content_Type": "application/json", "Origin": server.url}
    statuses = [server.ask("/api/v1/login/exchange", "POST", **given).status for _ in range(40)]
    assert statuses[0] in (400, 413)
    assert statuses[-1] == 429
    assert me(server, Authorization="Bearer aboard_bad").status == 429


def test_forms_that_are_too_large_are_failed_attempts(server: TeamServer):
    form = "token=" + "x" * 100_000
    statuses = [server.ask("/login", "POST", form=form, Origin=server.url).status for _ in range(40)]
    assert statuses[0] in (400, 413)
    assert me(server, Authorization="Bearer aboard_bad").status == 429


def test_large_responses_of_one_person_wait_for_each_other(server: TeamServer, monkeypatch: pytest.MonkeyPatch):
    """Whole curves are made in memory: at most four at once of one person, who is answered otherwise meanwhile."""
    lock, may_end = threading.Lock(), threading.Event()
    under_way: list[int] = [0]

    def slow(*_: object) -> None:
        with lock:
            under_way.append(under_way[-1] + 1)
        assert may_end.wait(60)
        with lock:
            under_way.append(under_way[-1] - 1)
        raise UnknownName("there is no such run")

    monkeypatch.setattr(Control, "curves", slow)
    with ThreadPoolExecutor(13) as pool:
        asked = [pool.submit(server.ask, "/api/v1/series?run=run1&points=0", who="vic") for _ in range(12)]
        try:
            until(lambda: under_way[-1] == 4)
            assert me(server, who="vic").status == 200
            assert server.ask("/healthz").status == 200
            other = pool.submit(server.ask, "/api/v1/series?run=run1&points=0", who=BOSS)
            until(lambda: under_way[-1] == 5)
        finally:
            may_end.set()
        assert [one.result().status for one in (*asked, other)] == [404] * 13
    assert max(under_way) == 5


def test_streams_of_one_person_leave_connections_for_others(tmp_path: Path):
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, serve=ServeSettings(connections=80)) as server,
        contextlib.ExitStack() as stack,
    ):
        server.person("vic", vision=Role.VIEWER)
        known = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.tokens['vic']}\r\n\r\n"
        begun: list[bytes] = []
        for _ in range(24):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            client.sendall(f"GET /api/v1/events HTTP/1.1\r\n{known}".encode())
            begun.append(client.recv(4096))
        assert [one[9:12] for one in begun] == [b"200"] * 20 + [b"429"] * 4
        assert b"retry-after: 1\r\n" in begun[-1].lower()
        assert me(server, who="vic").status == 429
        assert me(server, who=BOSS).status == 200


def test_guesses_take_no_longer_the_nearer_they_are(server: TeamServer):
    """Secrets are found by a digest of 256 random bits, so the clock tells nothing; here that nothing else is done."""
    from aboard.catalog.tokens import Tokens

    good = server.tokens["vic"]
    near, far = good[:-1] + ("A" if good[-1] != "A" else "B"), good[:24] + "0" * 43

    def quickest(text: str) -> float:
        tokens = Tokens(server.catalog.database)
        times = []
        for _ in range(50):
            began = time.perf_counter()
            assert tokens.check(text) is None
            times.append(time.perf_counter() - began)
        return min(times)

    assert quickest(near) < 20 * quickest(far)
    assert quickest(far) < 20 * quickest(near)


# --- a proxy that names people --------------------------------------------------------------------------------------


def test_a_header_is_believed_of_the_proxy_alone(tmp_path: Path):
    login = LoginSettings(mode="header", header="X-Remote-User", proxy_secret="a secret between the two")
    serve = ServeSettings(proxies=("192.0.2.1/32",))
    with (
        Catalog.open(tmp_path / "catalog.sqlite") as catalog,
        team_server(catalog, tmp_path, login=login, serve=serve) as server,
    ):
        told = me(server, X_Remote_User=BOSS)
        assert (told.status, "trusted proxies" in told.document["error"]["message"]) == (401, True)
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
