# SPDX-License-Identifier: Apache-2.0
"""The page of a server with logins: what people share, and what their roles allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aboard.catalog.catalog import Catalog
from aboard.model.people import Role
from aboard.store import open_store
from support.page_world import MILLISECONDS
from support.processes import until
from support.stored_runs import store_run
from support.team_servers import TeamServer, team_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("people")
    uri = str(folder / "store")
    store = open_store(uri, create=True, fsync=False)
    for index in range(4):
        store_run(store, name=f"run of seed {index}", workspace="vision", hparams={"seed": index})
    with Catalog.open(folder / "catalog.sqlite") as catalog, team_server(catalog, folder, uri) as server:
        until(lambda: catalog.runs.count() == 4, 20)
        server.person("ed", vision=Role.EDITOR)
        server.person("eve", vision=Role.EDITOR)
        server.person("vic", vision=Role.VIEWER)
        yield server


@pytest.fixture
def visit_as(server: TeamServer, browser: Any) -> Iterator[Callable[[str, str], Any]]:
    contexts: list[Any] = []

    def open_as(person: str, path: str) -> Any:
        context = browser.new_context()
        contexts.append(context)
        name, _, value = server.logged_in(person).partition("=")
        context.add_cookies([{"name": name, "value": value, "url": server.url}])
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(server.url + path)
        return page

    yield open_as
    for context in contexts:
        context.close()


def views(page: Any) -> Any:
    page.get_by_role("button", name="Saved views").click()
    return page.get_by_role("dialog", name="Saved views")


def test_views_are_shared_and_belong_to_who_saved_them(server: TeamServer, visit_as: Callable[[str, str], Any]):
    page = visit_as("ed", "/w/vision/runs?where=hparams.seed > 1")
    panel = views(page)
    panel.get_by_label("Name of this view").fill("<b>high</b> seeds")
    panel.get_by_role("button", name="Save", exact=True).click()
    panel.get_by_role("link", name="<b>high</b> seeds").wait_for()
    panel.get_by_label("Name of this view").fill("<B>HIGH</B> seeds")
    panel.get_by_role("button", name="Save", exact=True).click()
    panel.get_by_role("alert").filter(has_text="already").wait_for()
    panel.get_by_role("button", name="Update it to the current view").wait_for()

    other = visit_as("eve", "/w/vision/runs")
    panel_of_eve = views(other)
    panel_of_eve.get_by_role("link", name="<b>high</b> seeds").wait_for()
    assert panel_of_eve.get_by_role("button", name="Delete <b>high</b> seeds").count() == 0
    panel_of_eve.get_by_role("link", name="<b>high</b> seeds").click()
    other.get_by_text("2 runs that match").wait_for()

    viewer = visit_as("vic", "/w/vision/runs")
    views(viewer).get_by_text("Saving needs the role editor in vision").wait_for()

    panel.get_by_role("button", name="Rename <b>high</b> seeds").click()
    panel.get_by_label("New name of <b>high</b> seeds").fill("seeds")
    panel.get_by_role("button", name="Rename", exact=True).click()
    panel.get_by_role("link", name="seeds", exact=True).wait_for()
    panel.get_by_role("button", name="Delete seeds").click()
    panel.get_by_text("No saved views yet").wait_for()
    assert server.client("vic").saved_views.list("vision").items == ()
