# SPDX-License-Identifier: Apache-2.0
"""A server below a path of a site with TLS, behind a real nginx: login, page, boards, redirections, commands."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.client.client import Client
from aboard.config.server import LoginSettings, OidcSettings, ServeSettings
from aboard.model.boards import BoardKind
from aboard.model.people import Role
from aboard.model.states import UnitState
from aboard.server.page_files import FOLDER
from aboard.store import open_store
from support.commands import aboard
from support.nginx import Place, nginx
from support.object_servers import free_ports
from support.openid import CLIENT_SECRET, Browser, openid_provider, why_no_provider
from support.processes import needs, until
from support.stored_runs import store_run
from support.team_servers import Answer, TeamServer, team_server

PATH, BOARDS_PATH = "/team/aboard", "/processes"
MILLISECONDS = 60_000
PEOPLE = {"s-eve": {"preferred_username": "eve", "email": "eve@example.org", "email_verified": True}}


@dataclass
class Site:
    """The server as it is reached through the proxy: by its path, and on another port without that it hears of it."""

    server: TeamServer
    passing: Place
    stripping: Place
    certificate: Path

    @property
    def url(self) -> str:
        return self.passing.url

    def ask(self, path: str, place: Place | None = None, method: str = "GET", **headers: str) -> Answer:
        """One request for a path of the site; it goes by way of `place`, and is for the address that people know."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        connection = http.client.HTTPSConnection("localhost", (place or self.passing).port, context=context, timeout=30)
        try:
            host = {"Host": f"localhost:{self.passing.port}"}
            connection.request(method, path, headers=host | {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    needs(why_no_provider())
    folder = tmp_path_factory.mktemp("below")
    uri = str(folder / "store")
    uid = store_run(open_store(uri, create=True, fsync=False), name="base", workspace="vision", size=0)
    with SummaryWriter(str(folder / "store" / uid / "tb")) as writer:
        for step in range(20):
            writer.add_scalar("loss", 1 / (step + 1), step)
    own, front, second_front, boards_front, provider = free_ports(5)
    passing = Place(front, PATH, own)
    serve = ServeSettings(url=passing.url, boards_url=f"https://localhost:{boards_front}{BOARDS_PATH}")
    with (
        pytest.MonkeyPatch.context() as patch,
        openid_provider(folder, provider, f"{passing.url}/login/oidc/callback", PEOPLE) as issuer,
        Catalog.open(folder / "catalog.sqlite") as catalog,
    ):
        patch.setenv("ABOARD_HOME", str(folder))
        login = LoginSettings(mode="oidc", oidc=OidcSettings(issuer, "aboard", CLIENT_SECRET))
        options = {"process_home": folder}
        with team_server(catalog, folder, uri, login=login, serve=serve, options=options, port=own) as server:
            stripping = Place(second_front, PATH, own, strips=True)
            boards = Place(boards_front, BOARDS_PATH, server.boards_port)
            until(lambda: catalog.runs.count() == 1, 30)
            server.person("ann", vision=Role.EDITOR)
            with nginx(folder, [passing, stripping, boards]) as certificate:
                patch.setenv("SSL_CERT_FILE", str(certificate))
                yield Site(server, passing, stripping, certificate)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(ignore_https_errors=True)
    yield context.new_page()
    context.close()


def log_in(page: Any, token: str) -> None:
    page.fill("input[name=token]", token)
    page.click("button")


def test_the_page_and_a_board_are_reached_through_the_login(site: Site, page: Any):
    needs("" if (FOLDER / "index.html").exists() else "the page was not built: run make page")
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{site.url}/w/vision/runs", timeout=MILLISECONDS)
    assert page.url.startswith(f"{site.url}/login?next=")
    log_in(page, site.server.tokens["ann"])
    page.wait_for_url(f"{site.url}/w/vision/runs", timeout=MILLISECONDS)
    page.click("text=base", timeout=MILLISECONDS)
    page.wait_for_url(f"{site.url}/w/vision/runs/1**", timeout=MILLISECONDS)
    page.click("nav >> text=Boards")
    page.wait_for_url(f"{site.url}/w/vision/boards", timeout=MILLISECONDS)
    page.goto(f"{site.url}/w/vision/compare?runs=1", timeout=MILLISECONDS)
    page.wait_for_selector("canvas", timeout=MILLISECONDS)
    board = Client(site.url, site.server.tokens["ann"]).boards.create("run1").board
    page.goto(f"{site.url}/w/vision/boards/{board.id}", timeout=MILLISECONDS)
    shown = page.frame_locator("iframe")
    shown.locator("text=loss").first.wait_for(timeout=MILLISECONDS)
    assert failed == []
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["path"], cookie["secure"]) == ("__Secure-aboard_session", PATH, True)


def test_a_view_is_saved_and_opened_and_who_leaves_is_out(site: Site, page: Any):
    needs("" if (FOLDER / "index.html").exists() else "the page was not built: run make page")
    page.set_default_timeout(MILLISECONDS)
    page.goto(f'{site.url}/w/vision/runs?where=name == "nobody"')
    log_in(page, site.server.tokens["ann"])
    page.get_by_role("button", name="Saved views").click()
    panel = page.get_by_role("dialog", name="Saved views")
    panel.get_by_label("Name of this view").fill("nobody")
    panel.get_by_role("button", name="Save", exact=True).click()
    panel.get_by_role("link", name="nobody").wait_for()
    page.goto(f"{site.url}/w/vision/runs")
    page.locator("a.name", has_text="base").wait_for()
    page.get_by_role("button", name="Saved views").click()
    panel.get_by_role("link", name="nobody").click()
    page.locator("a.name").wait_for(state="detached")
    assert page.url.startswith(f"{site.url}/w/vision/runs?where=")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{site.url}/login**")
    assert page.context.cookies() == []
    page.goto(f"{site.url}/w/vision/runs")
    page.wait_for_url(f"{site.url}/login?next=**")


@pytest.mark.parametrize("way", ["passing", "stripping"])
def test_redirections_stay_below_the_path(site: Site, way: str):
    place: Place = getattr(site, way)
    to_login = site.ask(f"{PATH}/boards/", place, Accept="text/html")
    assert (to_login.status, to_login.header("location")) == (303, f"{PATH}/login?next=%2Fboards%2F")
    form = site.ask(f"{PATH}/login?next=/boards/", place)
    assert f'action="{PATH}/login"'.encode() in form.body
    assert f'href="{PATH}/login/oidc?next=%2Fboards%2F"'.encode() in form.body
    assert (
        site.ask(f"{PATH}/favicon.ico", place, Authorization=bearer(site)).header("location") == f"{PATH}/favicon.svg"
    )
    assert site.ask(f"{PATH}/healthz", place).status == 200
    assert site.ask("/", place).body == b"another application"


def test_paths_that_only_look_like_it_lead_nowhere(site: Site):
    own = site.server
    for path in (f"{PATH}x/api/v1/info", "/team/api/v1/info", f"{PATH}{PATH}/api/v1/info", f"{PATH}//api/v1/info"):
        assert own.ask(path, Authorization=bearer(site)).status in (400, 404), path
    assert own.ask(PATH).header("location") == f"{PATH}/"


def test_a_board_that_is_a_process_is_below_a_path_of_its_own_origin(site: Site, page: Any):
    client = Client(site.url, site.server.tokens["ann"])
    board = client.boards.create("run1", kind=BoardKind.PROCESS).board
    until(lambda: client.boards.get(board.id).state is UnitState.RUNNING, 90)
    page.goto(f"{site.url}/boards/{board.id}/", timeout=MILLISECONDS)
    log_in(page, site.server.tokens["ann"])
    page.wait_for_url(f"**{BOARDS_PATH}/boards/{board.id}/**", timeout=MILLISECONDS)
    page.wait_for_selector("text=loss", timeout=MILLISECONDS)
    paths = {cookie["path"] for cookie in page.context.cookies()}
    assert paths == {PATH, f"{BOARDS_PATH}/boards/{board.id}/"}
    client.boards.delete(board.id)


def test_commands_have_the_whole_address(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    said = aboard("login", site.url, "--token", site.server.tokens["ann"])
    assert f"Logged in at {site.url} as ann" in said.out, said
    monkeypatch.setenv("ABOARD_SERVER", site.url)
    said = aboard("board", "start", "run1", "--no-browser")
    assert f"{site.url}/boards/" in said.out + said.err


def test_an_openid_login_comes_back_below_the_path(site: Site):
    person = Browser()
    came = person.log_in(f"{site.url}/login/oidc?next=/api/v1/me", "s-eve")
    assert (came.status, came.url) == (200, f"{site.url}/api/v1/me"), came.text
    assert json.loads(came.text)["name"] == "eve"


def bearer(site: Site) -> str:
    return f"Bearer {site.server.tokens['ann']}"
