# SPDX-License-Identifier: Apache-2.0
"""Many tabs of one browser, which opens at most six connections to a server over HTTP/1.1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from aboard.model.states import RunState
from support.browsing import SHELL, WHOLE, launched
from support.logged_runs import logged_run
from support.page_world import World, page_world
from support.processes import until
from support.stored_runs import put_manifest


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with page_world(tmp_path) as made:
        for name, workspace in (("first", "lab"), ("second", "other")):
            made.uids[name] = logged_run(
                made.store, name=name, workspace=workspace, status=RunState.RUNNING, curves={"loss": [1.0, 2.0]}
            )
        until(lambda: made.client.runs.count() == 2)
        yield made


@pytest.fixture(scope="module", params=["without-bfcache", "with-bfcache"])
def browser(playwright: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    has_cache = request.param == "with-bfcache"  # which Chromium without windows does not have
    with launched(playwright, WHOLE if has_cache else SHELL, has_page_cache=has_cache) as browser:
        yield browser


def complete(world: World) -> None:
    for uid in world.uids.values():
        put_manifest(world.store, uid, status=RunState.COMPLETED, sealed=True, serial=2)


def test_eight_tabs_show_runs_and_receive_changes(visit, world: World):
    places = ("/w/lab/runs", "/w/other/runs", "/w/lab/runs/1", "/w/*/runs") * 2 + ("/w/lab/runs",)
    first = visit(places[0])
    for number in range(8):  # every page that is left may keep its connection
        first.goto(f"{world.url}{places[0]}?first={number + 1}")
        first.locator(".mark", has_text="running").wait_for()
    tabs = [first, *(first.context.new_page() for _ in places[1:])]
    for tab, path in zip(tabs[1:], places[1:], strict=True):
        tab.goto(world.url + path)
    for tab in tabs:
        tab.locator(".mark", has_text="running").first.wait_for()
    first.goto("about:blank")  # the tab that opened the stream goes away
    complete(world)
    for tab in tabs[1:]:
        tab.locator(".mark", has_text="completed").first.wait_for()
        expect(tab.locator(".mark", has_text="running")).to_have_count(0)


@pytest.mark.parametrize("browser", ["with-bfcache"], indirect=True)
def test_a_page_from_the_back_forward_cache_shows_what_changed_meanwhile(visit, world: World):
    page = visit("/w/lab/runs")
    page.locator(".mark", has_text="running").wait_for()
    page.evaluate("addEventListener('pageshow', (event) => (window.wasCached = event.persisted))")
    page.goto(f"{world.url}/w/other/runs")
    page.locator(".mark", has_text="running").wait_for()
    complete(world)
    page.locator(".mark", has_text="completed").wait_for()
    page.go_back(wait_until="commit")  # a page from the cache is not loaded again
    page.locator(".mark", has_text="completed").wait_for()
    assert page.url.endswith("/w/lab/runs")
    assert page.evaluate("window.wasCached")
