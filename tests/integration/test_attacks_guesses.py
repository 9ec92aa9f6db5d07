# SPDX-License-Identifier: Apache-2.0
"""Guesses at credentials: they are slowed down, cost little, and lock nobody else out."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server import ServeSettings
from aboard.model.people import Role
from aboard.server.routes import operations
from support import nginx
from support.attacked_server import attacked_server, me
from support.object_servers import free_ports
from support.shipping import Hands
from support.team_servers import TeamServer, team_server


@pytest.fixture(scope="module")
def clock() -> Hands:
    return Hands()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, clock: Hands) -> Iterator[TeamServer]:
    with attacked_server(tmp_path_factory.mktemp("attacked"), clock) as server:
        yield server


@pytest.fixture(autouse=True)
def _forgiven(clock: Hands) -> None:
    """Each test begins as somebody who has not tried anything yet: what went wrong in another was long ago."""
    clock.move(3600)


def _cookie_name(server: TeamServer) -> str:
    return f"aboard_session_{server.port}"


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
    codes = [server.login_link(server.tokens["vic"]).rpartition("=")[2] for _ in range(3)]
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
    before = operations._decode

    def decode(kind: type[object], content: bytes) -> object:
        parsed.append(len(content))
        return before(kind, content)

    monkeypatch.setattr(operations, "_decode", decode)
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
