# SPDX-License-Identifier: Apache-2.0
"""Servers that die and come back, and logins that end, while somebody looks at the page."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.catalog.catalog import Catalog
from aboard.config.server import ServeSettings
from aboard.model.people import Role
from aboard.model.states import RunState
from aboard.server.page_files import FOLDER
from aboard.store import open_store
from support.browsing import MILLISECONDS
from support.chart_files import card, rows_of
from support.logged_runs import logged_run
from support.nginx import Place, nginx
from support.object_servers import free_ports
from support.processes import needs, until
from support.runs import Machine, finish
from support.stored_runs import put_manifest
from support.team_servers import TeamServer, team_server

TOKEN = "a-token-of-twenty-letters-or-more"
GONE = "Can't reach the server"
ENDED = "Your session has expired"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    needs("" if (FOLDER / "index.html").exists() else "the page was not built: run make page")
    context = browser.new_context(accept_downloads=True, ignore_https_errors=True)
    page = context.new_page()
    page.set_default_timeout(MILLISECONDS)
    yield page
    context.close()


@contextlib.contextmanager
def server_process(machine: Machine, port: int) -> Iterator[tuple[Any, str]]:
    """A server of its own, as a person starts it; its process, and the link that it prints."""
    process = machine.start("server", "--port", port, "--store", machine.store, "--json", ABOARD_TOKEN=TOKEN)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            pytest.fail(str(finish(process).err))
        yield process, json.loads(line)["link"]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def test_a_comparison_goes_on_when_a_killed_server_is_back(page: Any, tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True, fsync=False)
    logged_run(store, name="long", workspace="lab", curves={"loss": [float(step) for step in range(5000)]})
    machine = Machine(tmp_path / "machine", store.uri)
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with server_process(machine, port) as (process, link):
        page.goto(link)
        page.locator("a.name", has_text="long").wait_for()
        page.goto(f"{url}/w/lab/compare?zoom=1000~1100")
        until(lambda: 101 <= len(rows_of(page, "loss")) <= 105)
        before = rows_of(page, "loss")
        process.kill()
        process.wait(20)
        card(page, "loss").get_by_role("application").press("ArrowRight")
        page.get_by_role("alert").filter(has_text=GONE).wait_for()
        page.get_by_role("status").filter(has_text="last known point").wait_for()
        # What was there stays.
        assert rows_of(page, "loss") == before
    with server_process(machine, port):
        page.get_by_role("alert").filter(has_text=GONE).wait_for(state="detached")
        until(lambda: int(rows_of(page, "loss")[-1]["x"]) >= 1112, 30)
        assert page.locator("section[data-tag=loss] .bad").count() == 0


@contextlib.contextmanager
def behind(place: Place, catalog: Catalog, folder: Path) -> Iterator[TeamServer]:
    """The server that a proxy asks; its streams end with it, as those of `aboard server` do."""
    serve = ServeSettings(url=place.url)
    with team_server(catalog, folder, str(folder / "store"), serve=serve, port=place.server) as server:
        yield server
        server.control.changes.close()


def test_an_outage_behind_a_proxy_is_noticed_and_recovered_from(page: Any, tmp_path: Path):
    store = open_store(str(tmp_path / "store"), create=True, fsync=False)
    uid = logged_run(store, name="long", workspace="lab", status=RunState.RUNNING, curves={"loss": [1.0, 2.0]})
    own, front = free_ports(2)
    place = Place(front, "/team", own)
    status = page.locator("header").get_by_text
    with Catalog.open(tmp_path / "catalog.sqlite") as catalog, nginx(tmp_path, [place]):
        with behind(place, catalog, tmp_path) as server:
            until(lambda: catalog.runs.count() == 1, 20)
            server.person("ann", lab=Role.EDITOR)
            page.goto(f"{place.url}/w/lab/runs/1")
            enter(page, server)
            status("running").wait_for()
        # The proxy answers for it, and nobody touches the page.
        page.get_by_role("alert").filter(has_text=GONE).wait_for()
        put_manifest(store, uid, status=RunState.COMPLETED, sealed=True, serial=2)
        status("running").wait_for()
        with behind(place, catalog, tmp_path):
            page.get_by_role("alert").filter(has_text=GONE).wait_for(state="detached")
            status("completed").wait_for()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("people")
    uri = str(folder / "store")
    logged_run(open_store(uri, create=True, fsync=False), name="base", workspace="lab", curves={"loss": [1.0, 2.0]})
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder, uri) as server:
        until(lambda: catalog.runs.count() == 1, 20)
        server.person("ann", lab=Role.EDITOR)
        yield server


def enter(page: Any, server: TeamServer) -> None:
    page.fill("input[name=token]", server.tokens["ann"])
    page.click("button")


def end_login(page: Any, server: TeamServer) -> None:
    """As its time does it."""
    (cookie,) = page.context.cookies()
    server.catalog.sessions.end(cookie["value"])
    server.control.logins.forget()


def notice_end(page: Any) -> None:
    page.get_by_role("columnheader", name="status").get_by_role("button").first.click()
    page.get_by_role("alert").filter(has_text=ENDED).wait_for()


def test_a_login_that_ended_is_renewed_here_or_in_another_tab(page: Any, server: TeamServer):
    page.goto(f'{server.url}/w/lab/runs?where=name == "base"')
    enter(page, server)
    page.locator("a.name", has_text="base").wait_for()
    end_login(page, server)
    notice_end(page)
    before = page.url
    page.get_by_role("link", name="Log in").click()
    page.wait_for_url("**/login?next=**")
    enter(page, server)
    page.locator("a.name", has_text="base").wait_for()
    assert page.url == before
    assert page.get_by_text(ENDED).count() == 0

    end_login(page, server)
    notice_end(page)
    other = page.context.new_page()
    other.goto(f"{server.url}/login?next=/w/lab/runs")
    enter(other, server)
    other.locator("a.name", has_text="base").wait_for(timeout=MILLISECONDS)
    # Without a screen there is no focus to give; this is what a browser says of a tab that is chosen again.
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_text(ENDED).wait_for(state="detached")
    page.locator("a.name", has_text="base").wait_for()
