# SPDX-License-Identifier: Apache-2.0
"""What pages of other sites may try with the browser of somebody who is logged in."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from aboard.model.people import Role
from support.attacked_server import attacked_server, me
from support.team_servers import Answer, TeamServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    with attacked_server(tmp_path_factory.mktemp("attacked")) as server:
        yield server


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


TYPED = {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
"""As a browser sends it for an address that a program or a person opens."""


def _link(server: TeamServer, who: str) -> str:
    server.person("mallory", vision=Role.EDITOR)
    return server.login_link(server.tokens[who], "/runs?x=1")


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
