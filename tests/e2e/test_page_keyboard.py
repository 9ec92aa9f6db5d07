# SPDX-License-Identifier: Apache-2.0
"""The page by keys alone, and a long list of runs: what its boxes select, and all of it as CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from aboard.model.run_states import RunState
from support.page_addresses import query_of
from support.page_world import World, page_world
from support.processes import until
from support.stored_runs import put_manifest, store_run

MANY = 230
ROWS_IN_DOCUMENT = "table => [...table.querySelectorAll('.row')].map(row => Number(row.ariaRowIndex))"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        for index in range(MANY):
            store_run(made.store, name=f"many-{index:04}", workspace="many", ago=timedelta(seconds=index * 7 % MANY))
        for name in ("plain", "tagged", "odd"):
            made.uids[name] = store_run(
                made.store,
                name=name,
                workspace="lab",
                status=RunState.FAILED if name == "plain" else RunState.COMPLETED,
                hparams={"seed": 20240101, "rate": float("nan")},
                metrics={"loss": [float("nan")] if name == "odd" else [0.5]},
                said_tags={"stage": "final <b>"} if name == "tagged" else {},
            )
        until(lambda: made.client.runs.count() == MANY + 3, 60)
        yield made


def press_enter_on(page: Any, found: Any) -> None:
    found.focus()
    page.keyboard.press("Enter")


def test_enter_presses_the_link_or_button_that_has_the_focus(visit):
    page = visit("/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.keyboard.press("j")
    press_enter_on(page, page.get_by_role("button", name="Columns"))
    page.get_by_label("Find a column").wait_for()
    page.keyboard.press("Escape")
    press_enter_on(page, page.get_by_role("link", name="Boards"))
    page.wait_for_url("**/w/lab/boards")


def test_enter_opens_the_run_of_the_cursor(visit):
    page = visit("/w/lab/runs?sort=name")
    page.locator("a.name").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="odd").wait_for()


def focus_is_in(page: Any, selector: str) -> bool:
    return page.evaluate("selector => document.activeElement.closest(selector) !== null", selector)


def test_a_value_of_the_run_at_the_cursor_becomes_a_filter(visit):
    page = visit("/w/lab/runs?sort=name&columns=status,hparams.seed,tags")
    page.locator("a.name").first.wait_for()
    for _ in range(3):  # odd, plain, tagged
        page.keyboard.press("j")
    page.keyboard.press("f")
    fields = page.get_by_role("menu", name="Filter by a value of the run")
    fields.wait_for()
    assert [text.split() for text in fields.get_by_role("menuitem").all_inner_texts()] == [
        ["name", "tagged"],
        ["status", "completed"],
        ["seed", "20240101"],
        ["stage", "final", "<b>"],
    ]
    until(lambda: focus_is_in(page, "[role=menu]"))
    page.keyboard.press("Escape")
    fields.wait_for(state="detached")
    until(lambda: focus_is_in(page, ".row.cursor"))
    page.keyboard.press("f")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("menu", name="Filter by this value").get_by_role("menuitem").first.wait_for()
    until(lambda: focus_is_in(page, "[role=menu]"))
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=re.compile("^1 run")).wait_for()
    assert query_of(page)["where"] == ['tags.stage == "final <b>"']
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").get_by_text("Filter by a value of the run").wait_for()


def test_a_finger_filters_by_the_value_of_a_cell(visit):
    page = visit("/w/lab/runs?columns=hparams.seed", has_touch=True)
    row = page.locator("[role=row]", has=page.locator("a.name", has_text="tagged"))
    row.get_by_role("cell", name="20240101").tap()
    row.get_by_role("button", name="Filter by this value").tap()
    page.get_by_role("menuitem").first.tap()
    page.get_by_role("button", name="Without hparams.seed").wait_for()


def test_tab_leads_out_of_the_filter_unless_it_completes_what_was_typed(visit):
    page = visit('/w/lab/runs?where=status == "completed"')
    page.get_by_role("status").filter(has_text=re.compile("^2 runs")).wait_for()
    field = page.get_by_label("Filter runs")
    page.keyboard.press("/")
    assert page.evaluate("getSelection().toString()") == 'status == "completed"'
    page.keyboard.press("Tab")
    until(lambda: focus_is_in(page, "[aria-label='Clear the filter']"))
    expect(field).to_have_value('status == "completed"')
    page.keyboard.press("/")
    page.keyboard.type("see")
    page.get_by_role("option", name="hparams.seed").wait_for()
    page.keyboard.press("Tab")
    expect(field).to_have_value("hparams.seed ")
    page.get_by_role("option", name="==").wait_for()
    page.keyboard.press("Tab")
    until(lambda: not focus_is_in(page, "[aria-label='Filter runs']"))
    expect(field).to_have_value("hparams.seed ")


def test_arrows_reach_the_first_and_the_last_of_what_is_offered(visit):
    page = visit("/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.keyboard.press("/")
    offered = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    offered.nth(2).wait_for()
    page.keyboard.press("ArrowUp")
    page.locator("[role=option]:last-child[aria-selected=true]").wait_for()
    page.keyboard.press("ArrowDown")
    page.locator("[role=option]:first-child[aria-selected=true]").wait_for()
    first = offered.first.locator("code").inner_text()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Filter runs")).to_have_value(re.compile(rf"^{re.escape(first)}\s*$"))


def test_keys_in_a_window_or_panel_do_nothing_behind_it(visit):
    page = visit("/w/lab/runs")
    page.get_by_role("checkbox", name="Select tagged").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("dialog").get_by_role("checkbox", name="stage").focus()
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("dialog").get_by_role("checkbox").first.focus()
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_text("1 run selected").wait_for()
    page.keyboard.press("c")
    page.get_by_text("1 of 1 run plotted").wait_for()


def test_the_first_tab_leads_past_the_bar_to_the_content(visit):
    page = visit("/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    until(lambda: page.evaluate("document.activeElement.id") == "content")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_the_box_at_the_head_selects_every_run_of_the_filter(visit, world):
    page = visit("/w/many/runs?sort=name&where=many")
    page.locator("a.name", has_text="many-0000").wait_for()
    page.get_by_label("Select all").click()
    page.get_by_text(f"{MANY} runs selected").first.wait_for()
    page.get_by_role("button", name="Experiment", exact=True).click()
    page.keyboard.type("swept")
    page.keyboard.press("Enter")
    until(lambda: world.client.runs.count(where='experiment == "swept"') == MANY, 60)
    page.get_by_text(f"{MANY} runs changed").wait_for()
    page.get_by_role("checkbox", name="Select many-0001").uncheck()
    page.get_by_text(f"{MANY - 1} runs selected").first.wait_for()
    expect(page.get_by_label("Select all")).to_be_checked(indeterminate=True)
    page.get_by_label("Select all").click()
    page.get_by_text(f"{MANY} runs selected").first.wait_for()
    page.get_by_label("Select none").click()
    page.get_by_text("runs selected").wait_for(state="detached")


def test_the_box_at_the_head_is_checked_when_the_runs_are_here(visit, world):
    page = visit("/w/lab/runs")
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/api/v1/runs?*limit=230*", hold)  # as many as are to be selected
    page.goto(f"{world.url}/w/many/runs?sort=name")
    page.locator("a.name", has_text="many-0000").wait_for()
    page.get_by_label("Select all").click()
    until(lambda: page.evaluate("1") and held)
    expect(page.get_by_label("Select all")).not_to_be_checked()
    assert page.get_by_text("runs selected").count() == 0
    held[0].continue_()
    page.get_by_text(f"{MANY} runs selected").first.wait_for()
    expect(page.get_by_label("Select none")).to_be_checked()


def test_a_run_behind_the_listed_ones_is_found_by_its_name_and_plotted(visit):
    page = visit("/w/many/compare?sort=name&first=2&where=many")
    page.get_by_text("2 plotted, first 100 listed").wait_for()
    page.get_by_label("Find a run").fill("many-0229")
    page.get_by_role("button", name="Plot many-0229").click()
    expect(page.get_by_role("button", name="Plot many-0229")).to_have_attribute("aria-pressed", "true")
    page.get_by_text("3 plotted").wait_for()
    page.get_by_label("Find a run").fill("nothing like it")
    page.get_by_text("No runs match “nothing like it”.").wait_for()


def test_another_filter_shows_the_top_of_its_list(visit):
    page = visit("/w/many/runs?sort=name")
    page.locator("a.name", has_text="many-0000").wait_for()
    table = page.locator("[role=table]")
    table.evaluate("table => table.scrollTop = 3000")
    page.locator("a.name", has_text="many-0100").wait_for()
    page.get_by_label("Filter runs").fill("many-01")
    page.keyboard.press("Enter")
    page.locator("a.name", has_text="many-0100").wait_for()
    page.get_by_text("100 runs that match").wait_for()
    assert table.evaluate("table => table.scrollTop") == 0


def test_an_added_column_is_scrolled_into_sight(visit):
    page = visit("/w/lab/runs?columns=status,experiment,user,host,created,started,ended,duration,files,bytes,attempts")
    page.locator("a.name").first.wait_for()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("dialog").get_by_role("checkbox", name="seed").check()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="seed")).to_be_in_viewport(ratio=1)


def test_shift_selects_all_rows_between_also_those_that_have_not_come(visit, world):
    page = visit("/w/lab/runs")
    held: list[str] = []

    def hold_second_page(route: Any) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        if "after" in asked and asked["limit"] == ["100"] and (held or [asked["after"][0]])[0] == asked["after"][0]:
            held.append(asked["after"][0])  # and never answered
        else:
            route.continue_()

    page.route("**/api/v1/runs?*", hold_second_page)
    page.goto(f"{world.url}/w/many/runs?sort=name")
    page.get_by_role("checkbox", name="Select many-0000").click()
    until(lambda: page.evaluate("1") and held)  # the browser is heard only while it is asked
    page.locator("[role=table]").evaluate("table => table.scrollTop = table.scrollHeight")
    last = page.get_by_role("checkbox", name=f"Select many-{MANY - 1:04}")
    last.click(modifiers=["Shift"])
    page.get_by_text(f"{MANY} runs selected").first.wait_for()
    last.click(modifiers=["Shift"])
    expect(last).to_be_checked()
    page.get_by_text(f"{MANY} runs selected").first.wait_for()


def test_after_scrolling_the_rows_stand_in_order_and_the_focus_stays(visit):
    """A screen reader and the tab key follow the document, in which rows are used again while one scrolls."""
    page = visit("/w/many/runs?sort=name")
    page.locator("a.name", has_text="many-0000").wait_for()
    table = page.locator("[role=table]")
    table.evaluate("table => table.scrollTop = 1510")
    page.locator("a.name", has_text="many-0053").focus()
    table.evaluate("table => table.scrollTop = 1390")
    first = 1390 // 30 - 6 + 2  # rows beyond the edge, the head, and counting from one
    until(lambda: (rows := table.evaluate(ROWS_IN_DOCUMENT)) == list(range(first, first + len(rows))))
    assert page.evaluate("document.activeElement.textContent") == "many-0053"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") is not None
    assert page.evaluate("document.activeElement.closest('[role=row]').ariaRowIndex") == "56"
    made = len(table.evaluate(ROWS_IN_DOCUMENT))
    page.set_viewport_size({"width": 1280, "height": 500})
    until(lambda: len(table.evaluate(ROWS_IN_DOCUMENT)) < made)
    until(lambda: (rows := table.evaluate(ROWS_IN_DOCUMENT)) == list(range(first, first + len(rows))))


def test_the_csv_of_the_table_has_every_run_in_the_order_of_the_list(visit):
    page = visit("/w/many/runs?sort=name&columns=status")
    page.locator("a.name", has_text="many-0000").wait_for()
    page.locator("[role=table]").evaluate("table => table.scrollTop = table.scrollHeight")
    page.locator("a.name", has_text=f"many-{MANY - 1:04}").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [f"many-{index:04}" for index in range(MANY)]


def test_a_tag_is_a_column(visit):
    page = visit("/w/lab/runs?columns=tags.stage")
    row = page.locator("[role=row]", has=page.locator("a.name", has_text="tagged"))
    row.get_by_role("cell", name="final <b>", exact=True).wait_for()


def test_numbers_stand_whole_and_nan_is_told_in_the_table(visit):
    page = visit("/w/lab/runs?columns=hparams.seed,hparams.rate,metrics.loss.last")
    row = page.locator("[role=row]", has=page.locator("a.name", has_text="odd"))
    row.get_by_role("cell", name="20240101", exact=True).wait_for()
    expect(row.get_by_role("cell", name="NaN", exact=True)).to_have_count(2)


def test_a_row_that_is_shown_ends_by_itself(visit, world):
    # One of its own: who gives no sign of life for minutes is lost.
    uid = store_run(world.store, name="alive", workspace="alive", status=RunState.RUNNING)
    page = visit("/w/alive/runs?columns=status")
    row = page.locator("[role=row]", has=page.locator("a.name", has_text="alive"))
    row.get_by_text("running").wait_for()
    put_manifest(world.store, uid, status=RunState.COMPLETED, sealed=True, serial=2)
    row.get_by_text("completed").wait_for()
