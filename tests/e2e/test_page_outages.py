# SPDX-License-Identifier: Apache-2.0
"""Servers that die and come back, and logins that end, while somebody looks at the page."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.config.server_settings import ServeSettings
from aboard.model.run_states import RunState
from aboard.model.user import Role
from aboard.server.page_files import FOLDER
from aboard.store import open_store
from support.browsing import MILLISECONDS
from support.chart_files import card, rows_of
from support.logged_runs import logged_run, tb_folder
from support.nginx import Place, nginx
from support.object_servers import free_ports
from support.page_world import World, page_world
from support.processes import needs, until
from support.run_texts import put_texts
from support.runs import Machine, finish
from support.stored_runs import put_manifest
from support.team_servers import TeamServer, team_server

TOKEN = "a-token-of-twenty-letters-or-more"
GONE = "The server does not answer"
ENDED = "Your login has ended"


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
        card(page, "loss").get_by_role("img").press("ArrowRight")
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
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("views")) as made:
        for name in ("one", "two"):
            uid = logged_run(made.store, name=name, workspace="lab", hparams={"name": name}, curves={"loss": [1.0]})
            with SummaryWriter(str(tb_folder(made.store, uid))) as writer:
                writer.add_text("words", "a text of the run", 0)
            diff = "diff --git a/train.py b/train.py\n+rate = 2\n"
            texts = {"log/1.diff": diff, "log/1.log": "printed by the run\n"}
            put_texts(made.store, uid, texts, status=RunState.COMPLETED)
        made.uids["fresh"] = logged_run(made.store, name="fresh", workspace="lab", curves={})
        until(lambda: made.client.runs.count() == 3)
        yield made


def test_the_age_of_the_newest_point_grows_by_itself(visit, world: World):
    page = visit("/w/lab/runs")
    page.clock.install()
    with SummaryWriter(str(tb_folder(world.store, world.uids["fresh"]))) as writer:
        writer.add_scalar("now", 1.0, 1)
    page.goto(f"{world.url}/w/lab/compare?where=fresh")
    page.get_by_text(re.compile(r"newest point\s+(just now|\d+ s ago)")).wait_for()
    page.clock.fast_forward("05:00")
    page.get_by_text(re.compile(r"newest point\s+[56] min ago")).wait_for()


VIEWS = {
    "files": ("runs/1?tab=files", "/files?", "log/1.log"),
    "code": ("runs/1?tab=code", "/files?", "+rate = 2"),
    "console": ("runs/1?tab=console", "/log?", "printed by the run"),
    "differences": ("compare?runs=1,2&tab=differences", "/runs/", "reference"),
    "code of two": ("compare?runs=1,2&tab=differences&all=1", "/files?", "+rate = 2"),
    "texts": ("compare?runs=1,2&tab=media", "/media/content?", "a text of the run"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_view_could_not_ask_is_asked_when_the_server_is_back(visit, world: World, view: str):
    path, question, content = VIEWS[view]
    page = visit("/w/lab/runs")
    is_away = True
    page.route(
        lambda url: question in url or "/healthz" in url,
        lambda route: route.abort() if is_away else route.continue_(),
    )
    page.goto(f"{world.url}/w/lab/{path}")
    page.locator("main").get_by_text(GONE).first.wait_for()
    assert page.get_by_text(content).count() == 0
    is_away = False
    page.get_by_text(content).first.wait_for()
    page.locator("main").get_by_text(GONE).first.wait_for(state="detached")


def test_parameters_of_all_runs_are_asked_for_when_the_server_is_back(visit, world: World):
    page = visit("/w/lab/runs")
    is_away = True
    page.route(
        lambda url: "limit=1000" in url or "/healthz" in url,
        lambda route: route.abort() if is_away else route.continue_(),
    )
    page.goto(f"{world.url}/w/lab/compare?first=1&tab=parameters")
    page.get_by_role("alert").filter(has_text=GONE).wait_for()
    with page.expect_response(lambda answer: "limit=1000" in answer.url and answer.ok):
        is_away = False


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


@pytest.fixture
def ended(page: Any, server: TeamServer) -> Any:
    """A page whose login has ended, and which has heard of it."""
    page.goto(f'{server.url}/w/lab/runs?where=name == "base"')
    enter(page, server)
    page.locator("a.name", has_text="base").wait_for()
    end_login(page, server)
    page.get_by_role("columnheader", name="status").get_by_role("button").first.click()
    page.get_by_role("alert").filter(has_text=ENDED).wait_for()
    return page


def test_a_login_that_ended_is_renewed_and_leads_back(ended: Any, server: TeamServer):
    before = ended.url
    ended.get_by_role("link", name="Log in").click()
    ended.wait_for_url("**/login?next=**")
    enter(ended, server)
    ended.locator("a.name", has_text="base").wait_for()
    assert ended.url == before
    assert ended.get_by_text(ENDED).count() == 0


def test_a_login_in_another_tab_is_enough(ended: Any, server: TeamServer):
    other = ended.context.new_page()
    other.goto(f"{server.url}/login?next=/w/lab/runs")
    enter(other, server)
    other.locator("a.name", has_text="base").wait_for(timeout=MILLISECONDS)
    # Without a screen there is no focus to give; this is what a browser says of a tab that is chosen again.
    ended.evaluate("dispatchEvent(new Event('focus'))")
    ended.get_by_text(ENDED).wait_for(state="detached")
    ended.locator("a.name", has_text="base").wait_for()
