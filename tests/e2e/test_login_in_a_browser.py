# SPDX-License-Identifier: Apache-2.0
"""A real browser at a server with logins: the login page, a board behind it, and a command that asks for a token."""

from __future__ import annotations

import queue
import threading
import webbrowser
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.cli.people.login import log_in_with_browser
from aboard.model.people import Role
from aboard.store import open_store
from support.accessibility import violations
from support.processes import until
from support.stored_runs import store_run
from support.team_servers import TeamServer, team_server

MILLISECONDS = 60_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("browsed")
    uri = str(folder / "store")
    uid = store_run(open_store(uri, create=True, fsync=False), name="base", workspace="vision", size=0)
    with Catalog.open(folder / "catalog.sqlite") as catalog:
        catalog.people.add("mallory")
        code = catalog.login_codes.issue("mallory", lifetime=timedelta(hours=1))
        with SummaryWriter(str(folder / "store" / uid / "tb")) as writer:
            for step in range(20):
                writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_text("note", f"![picture](/?token={code})")
        with team_server(catalog, folder, uri) as server:
            until(lambda: catalog.runs.count() == 1, 20)
            server.person("ann", vision=Role.EDITOR)
            yield server


def test_a_board_is_behind_the_login_and_works_with_all_headers(server: TeamServer, browser: Any):
    board = server.client("ann").boards.create(["run1"]).board
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{server.url}/boards/{board.id}/", timeout=MILLISECONDS)
    assert "/login?next=" in page.url
    page.fill("input[name=token]", "wrong")
    page.click("button")
    page.wait_for_selector("text=Invalid or revoked token", timeout=MILLISECONDS)
    page.fill("input[name=token]", server.tokens["ann"])
    page.click("button")
    page.wait_for_url(f"**/boards/{board.id}/**", timeout=MILLISECONDS)
    page.wait_for_selector("text=loss", timeout=MILLISECONDS)
    page.wait_for_selector("line-chart path[d^='M']", state="attached", timeout=MILLISECONDS)
    assert [text for text in said if "frame-ancestors" in text or "Refused to load the script" in text] == []
    # A page elsewhere cannot show it in a frame, nor read the cookie.
    assert page.evaluate("document.cookie") == ""
    context.close()


def test_an_image_in_logged_text_logs_nobody_in(server: TeamServer, browser: Any):
    """The image is the address of somebody else's login link."""
    board = server.client("ann").boards.create(["run1"]).board
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/login?next=/boards/{board.id}/", timeout=MILLISECONDS)
    page.fill("input[name=token]", server.tokens["ann"])
    page.click("button")
    page.wait_for_url(f"**/boards/{board.id}/**", timeout=MILLISECONDS)
    with page.expect_response(lambda response: "/?token=" in response.url, timeout=MILLISECONDS) as loaded:
        page.goto(f"{server.url}/boards/{board.id}/#text", timeout=MILLISECONDS)
    assert loaded.value.request.resource_type == "image"
    assert page.evaluate("fetch('/api/v1/me').then(answer => answer.json())")["name"] == "ann"
    context.close()


def test_the_login_is_fit_for_all(server: TeamServer, browser: Any):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/login?next=/", timeout=MILLISECONDS)
    page.fill("input[name=token]", "wrong")
    found = violations(page, "login", says_theme=False)
    page.click("button")
    page.wait_for_selector("text=Invalid or revoked token", timeout=MILLISECONDS)
    assert found + violations(page, "wrong token", says_theme=False) == []
    context.close()


def test_a_command_gets_its_token_by_way_of_the_browser(
    server: TeamServer, browser: Any, monkeypatch: pytest.MonkeyPatch
):
    opened: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.put(address) or True)
    found: list[str | None] = []
    tokens = server.client("ann").tokens
    thread = threading.Thread(target=lambda: found.append(log_in_with_browser(server.url, tokens, 60)))
    thread.start()
    context = browser.new_context()
    page = context.new_page()
    page.goto(opened.get(timeout=20), timeout=MILLISECONDS)
    page.fill("input[name=token]", server.tokens["ann"])
    page.click("button")
    page.click("text=Let it act for me", timeout=MILLISECONDS)
    page.wait_for_selector("text=You are logged in", timeout=MILLISECONDS)
    thread.join(30)
    context.close()
    assert found[0] is not None
    assert server.ask("/api/v1/me", Authorization=f"Bearer {found[0]}").document["name"] == "ann"
