# SPDX-License-Identifier: Apache-2.0
"""Forged, stolen, expired and guessed credentials, tried against a real server over a socket."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.catalog import Catalog
from aboard.model.people import Role
from aboard.model.times import now
from support.attacked_server import attacked_server, me
from support.shipping import Hands
from support.team_servers import BOSS, TeamServer, team_server


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
    shown = b"".join(
        server.ask(f"/api/v1/{path}", who=BOSS).body for path in ("audit", "tokens?all=true", "people", "info", "me")
    )
    for secret in (*server.tokens.values(), cookie, server.token):
        assert secret.encode() not in shown
