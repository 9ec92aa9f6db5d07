# SPDX-License-Identifier: Apache-2.0
"""What a living run prints, while somebody looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from aboard.model.run_states import RunState
from support.page_world import World, page_world
from support.processes import until
from support.run_texts import put_texts
from support.stored_runs import store_run

LOG = "log/1.log"
LINES = [f"line {number} of many" for number in range(2000)]
LINES[2] = "a needle far above"
TEXT = "\n".join(LINES) + "\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        for name in ("talker", "newsmaker"):
            made.uids[name] = store_run(made.store, name=name, workspace="lab", status=RunState.RUNNING)
            put_texts(made.store, made.uids[name], {LOG: TEXT})
        until(lambda: made.client.runs.count() == 2)
        yield made


def console(world: World, name: str) -> str:
    return f"/w/lab/runs/{world.number(name)}?tab=console"


def test_what_is_printed_while_the_tab_is_open_is_appended(visit, world):
    page = visit(console(world, "talker"))
    page.get_by_text(LINES[-1], exact=True).wait_for()
    put_texts(world.store, world.uids["talker"], {LOG: TEXT + "printed just now\n"}, serial=3)
    page.get_by_text("printed just now").wait_for()
    expect(page.get_by_text(LINES[-1], exact=True)).to_have_count(1)


def test_news_of_the_run_leave_the_console_where_it_was(visit, world):
    page = visit(console(world, "newsmaker"))
    page.get_by_text(LINES[-1], exact=True).wait_for()
    log = page.get_by_role("log")
    log.evaluate("box => { box.scrollTop = 300; box.firstElementChild.dataset.old = 'yes' }")
    world.client.runs.rename(world.uids["newsmaker"], "renamed")
    page.get_by_role("heading", name="renamed").wait_for()
    put_texts(world.store, world.uids["newsmaker"], {LOG: TEXT + "after the news\n"}, serial=3)
    page.get_by_text("after the news").wait_for(state="attached")
    assert log.evaluate("box => box.scrollTop") == 300
    expect(log.locator("[data-old]")).to_have_count(1)


def test_a_search_reaches_far_above_the_last_lines(visit, world):
    page = visit(console(world, "talker"))
    page.get_by_text(LINES[-1], exact=True).wait_for()
    assert page.get_by_text(LINES[2]).count() == 0
    page.get_by_label("Find in the console").fill("needle")
    page.locator("mark", has_text="needle").wait_for()
    page.get_by_role("status").filter(has_text="1 line").wait_for()
    page.get_by_role("button", name="Next").click()
    until(lambda: page.get_by_role("log").evaluate("box => box.scrollTop") < 300)
    page.reload()
    page.locator("mark", has_text="needle").wait_for()


def test_a_search_begins_at_its_first_line_and_another_one_too(visit, world):
    page = visit(console(world, "talker"))
    page.get_by_text(LINES[-1], exact=True).wait_for()
    field = page.get_by_label("Find in the console")
    for wanted, lines in (("of many", (0, 1, 3)), ("line 70", (70, 700)), ("line 1999", (1999, 1999))):
        field.fill(wanted)
        page.get_by_role("status").filter(has_text=re.compile("lines?$")).wait_for()
        for line in lines:
            field.press("Enter")
            page.locator(f".line.at[data-line='{line}']").wait_for()
    field.fill("line 70")
    page.locator(".line.at").wait_for(state="detached")
    field.press("Shift+Enter")
    page.locator(".line.at[data-line='709']").wait_for()


def test_a_search_that_cannot_read_all_of_it_says_so_and_tries_again(visit, world):
    page = visit(console(world, "talker"))
    page.get_by_text(LINES[-1], exact=True).wait_for()
    broken = {"error": {"code": "storage", "message": "the disk is gone"}}
    whole = "**/log?*offset=0*"
    page.route(whole, lambda route: route.fulfill(status=400, json=broken))
    page.get_by_label("Find in the console").fill("needle")
    page.get_by_role("status").filter(has_text="the rest could not be read").wait_for()
    page.unroute(whole)
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("status").filter(has_text=re.compile("^1 line$")).wait_for()
