# SPDX-License-Identifier: Apache-2.0
"""The table of runs in a real browser: found, sorted, chosen, changed, alive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from support.logged_runs import logged_run
from support.page_addresses import query_of
from support.page_questions import count_questions
from support.page_world import World, page_world, sweep
from support.processes import until
from support.stored_runs import store_run

RUNS = "/w/lab/runs"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, points=300)
        until(lambda: made.client.runs.count(workspaces="lab") == 8)
        yield made


def rows(page: Any) -> list[str]:
    page.wait_for_selector("[role=row] a.name")
    return page.locator("[role=row] a.name").all_inner_texts()


def shows(page: Any, count: str) -> None:
    page.get_by_role("status").filter(has_text=re.compile(f"^{count}")).wait_for()


def test_the_front_door_leads_to_the_runs_of_the_only_workspace(visit):
    page = visit("/")
    page.wait_for_url("**/w/lab/runs")
    assert sorted(rows(page)) == [f"sweep-{index}" for index in range(8)]
    assert page.title().startswith("Runs of lab")


def test_a_filter_is_completed_while_it_is_typed_and_stands_in_the_address(visit):
    page = visit(RUNS)
    page.keyboard.press("/")
    page.keyboard.type("lr")
    page.get_by_role("option", name="hparams.lr").click()
    page.keyboard.type("< 0.05 and status == ")
    page.get_by_role("option", name='"completed"').click()
    page.keyboard.press("Enter")
    shows(page, "3 runs that match")
    assert query_of(page)["where"] == ['hparams.lr < 0.05 and status == "completed"']
    page.reload()
    shows(page, "3 runs that match")
    page.get_by_role("button", name="Without status").click()
    shows(page, "4 runs that match")
    assert query_of(page)["where"] == ["hparams.lr < 0.05"]


def test_values_that_runs_have_are_offered_while_a_filter_is_typed(visit):
    page = visit(RUNS)
    rows(page)
    page.keyboard.press("/")
    page.keyboard.type("hparams.optimizer == ")
    page.get_by_role("option", name='"adam"').wait_for()
    page.keyboard.type('"S')
    page.get_by_role("option", name='"adam"').wait_for(state="detached")
    page.get_by_role("option", name='"sgd"').click()
    page.keyboard.type("and tags.")
    page.get_by_role("option", name="tags.best").click()
    page.keyboard.type("== ")
    page.get_by_role("option", name='""').click()
    page.keyboard.type("and hparams.lr in [0.0")
    page.get_by_role("option", name="0.001").click()
    page.keyboard.type("]")
    page.keyboard.press("Enter")
    shows(page, "1 run that match")
    assert query_of(page)["where"] == ['hparams.optimizer == "sgd" and tags.best == "" and hparams.lr in [0.001 ]']


def test_a_question_for_values_that_fails_leaves_the_completion_as_it_is(visit):
    page = visit(RUNS)
    rows(page)
    page.route("**/api/v1/field-values?*", lambda route: route.fulfill(status=400, body="{}"))
    page.keyboard.press("/")
    with page.expect_response("**/api/v1/field-values?field=user*"):
        page.keyboard.type("user == ")
    page.keyboard.type('"x" or status == "comp')
    page.get_by_role("option", name='"completed"').click()
    page.keyboard.press("Enter")
    shows(page, "7 runs that match")


def test_an_error_in_a_filter_is_told_at_its_place(visit):
    page = visit(f"{RUNS}?where=hparams.lr %3C and 1")
    alert = page.locator("#query-error")
    alert.locator("mark").wait_for()
    assert alert.inner_text().strip()
    page.get_by_role("button", name="Clear the filter").click()
    shows(page, "8 runs")


def test_a_click_on_a_value_writes_the_same_text(visit):
    page = visit(f"{RUNS}?columns=hparams.optimizer")
    cell = page.locator("[role=row]", has_text="sweep-1").locator("[role=cell]", has_text="adam")
    cell.hover()
    page.get_by_role("button", name="Filter by this value").click()
    page.get_by_role("menuitem").first.click()
    shows(page, "4 runs that match")
    assert query_of(page)["where"] == ['hparams.optimizer == "adam"']
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("button", name="completed").click()
    shows(page, "3 runs that match")


def test_columns_are_chosen_sorted_widened_pinned_and_hidden(visit):
    page = visit(f"{RUNS}?columns=status")
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Find a column").fill("acc max")
    page.get_by_role("checkbox", name="test/acc max").check()
    page.keyboard.press("Escape")
    head = page.get_by_role("columnheader", name="test/acc max")
    head.get_by_role("button", name="test/acc max", exact=True).click()
    page.wait_for_url("**sort=-metrics*")
    until(lambda: sorted(rows(page)[:2]) == ["sweep-0", "sweep-4"])
    head.hover()
    head.get_by_role("button", name="Column test/acc max").click()
    page.get_by_role("button", name="Pin at the left").click()
    assert query_of(page)["pinned"] == ["metrics.test/acc.max"]
    grip = head.locator(".grip").bounding_box()
    page.mouse.move(grip["x"] + 2, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] + 82, grip["y"] + 5, steps=4)
    page.mouse.up()
    assert re.fullmatch(r"metrics\.test/acc\.max=2\d\d", query_of(page)["widths"][0])
    head.hover()
    head.get_by_role("button", name="Column test/acc max").click()
    page.get_by_role("button", name="Hide").click()
    head.wait_for(state="detached")


def test_the_menu_of_the_last_column_is_inside_of_the_window(visit):
    # The last column ends at the edge of the window.
    page = visit(f"{RUNS}?columns=status&widths=name=500,status=640")
    head = page.get_by_role("columnheader", name="status")
    head.hover()
    head.get_by_role("button", name="Column status").click()
    item = page.get_by_role("dialog", name="Column status").get_by_role("button", name="Hide")
    page.mouse.move(5, 5)  # it stays while the pointer is elsewhere
    box = page.get_by_role("dialog", name="Column status").bounding_box()
    assert box["x"] > 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    # Nothing clips it, and nothing is above it.
    edge = item.bounding_box()
    script = "([x, y]) => document.elementFromPoint(x, y)?.textContent.trim()"
    assert page.evaluate(script, [edge["x"] + edge["width"] - 2, edge["y"] + edge["height"] / 2]) == "Hide"
    item.click()
    head.wait_for(state="detached")


def test_a_run_keeps_its_colour_on_every_page(visit, world):
    page = visit(RUNS)
    numbers = {name: world.number(name) for name in ("sweep-1", "sweep-6")}
    kept = {world.uids[name]: index for index, name in enumerate(numbers, 9)}  # colours that no run begins with
    page.evaluate("(kept) => localStorage.setItem('aboard.colours', JSON.stringify(kept))", kept)
    colours: set[str] = set()
    for path in (f"{RUNS}?first=8", f"/w/lab/compare?runs={numbers['sweep-6']}", "/w/lab/compare?first=8"):
        page.goto(f"{world.url}{path}")
        dot = page.get_by_role("button", name="Plot sweep-6").locator("[style]")
        colours.add(dot.evaluate("(dot) => getComputedStyle(dot).backgroundColor"))
    assert colours == {"rgb(107, 107, 107)"}


def test_a_column_that_is_widened_asks_for_nothing(visit):
    page = visit(f"{RUNS}?columns=status")
    rows(page)
    shows(page, "8 runs")
    questions = count_questions(page, "/run-marks?")
    grip = page.get_by_role("columnheader", name="status").locator(".grip").bounding_box()
    page.mouse.move(grip["x"] + 2, grip["y"] + 5)
    page.mouse.down()
    page.mouse.move(grip["x"] + 82, grip["y"] + 5, steps=8)
    page.mouse.up()
    page.wait_for_url("**widths=status*")
    assert questions() == 0
    page.get_by_role("columnheader", name="status").get_by_role("button", name="status", exact=True).click()
    page.wait_for_url("**sort=status*")
    assert questions() == 1


def test_a_small_curve_stands_beside_a_metric(visit):
    page = visit(f"{RUNS}?columns=metrics.train/loss.last")
    page.wait_for_selector("[role=cell] svg path[d^='M']", state="attached")


def test_runs_are_tagged_noted_renamed_deleted_and_restored(visit, world):
    world.uids["doomed"] = logged_run(world.store, name="doomed", workspace="lab", curves={"loss": [1.0]})
    page = visit(f'{RUNS}?where=name contains "doomed"')
    page.get_by_role("checkbox", name="Select doomed").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.keyboard.type("<i>odd</i>")
    page.get_by_label("Value (optional)").fill("yes")
    page.keyboard.press("Enter")
    page.locator("[role=cell] .tag", has_text="<i>odd</i>: yes").wait_for()
    page.get_by_role("button", name="Note", exact=True).click()
    page.keyboard.type("look at this\nagain")
    page.keyboard.press("Control+Enter")
    until(lambda: [note.text for note in world.client.runs.get(world.uids["doomed"]).notes] == ["look at this\nagain"])
    page.get_by_role("button", name="Rename").click()
    page.keyboard.type("doomed again")
    page.keyboard.press("Enter")
    page.locator("a.name", has_text="doomed again").wait_for()
    page.get_by_role("button", name="Experiment", exact=True).click()
    page.keyboard.type("last")
    page.keyboard.press("Enter")
    until(lambda: world.client.runs.get(world.uids["doomed"]).experiment == "last")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("No run matches this filter").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator("a.name", has_text="doomed again").wait_for()
    world.client.runs.delete([world.uids["doomed"]])
    page.get_by_role("button", name="Bin").click()
    page.get_by_role("checkbox", name="Select doomed again").check()
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("No run matches this filter").wait_for()
    assert world.client.runs.get(world.uids["doomed"]).deleted is None
    world.client.runs.delete([world.uids["doomed"]])


def test_the_eye_is_apart_from_the_selection_and_both_lead_to_the_comparison(visit, world):
    page = visit(f'{RUNS}?first=2&where=name like "sweep%25"&sort=name')
    expect(page.get_by_role("button", name="Plot sweep-1")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Plot sweep-1").click()
    page.get_by_role("button", name="Plot sweep-5").click()
    page.get_by_role("link", name="Compare 2 plotted").click()
    page.get_by_text("2 of 8 runs plotted").wait_for()
    expect(page.get_by_role("button", name="Plot sweep-5")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    rows(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_text("2 runs selected").wait_for()
    page.keyboard.press("c")
    page.get_by_text("2 of 2 runs plotted").wait_for()
    chosen = query_of(page)["runs"][0]
    assert chosen.startswith(str(world.number("sweep-0")))


def test_a_run_that_begins_appears_by_itself(visit, world):
    page = visit(f'{RUNS}?where=name == "newcomer"')
    page.get_by_text("No run matches this filter").wait_for()
    world.uids["newcomer"] = logged_run(world.store, name="newcomer", workspace="lab", curves={"loss": [1.0]})
    page.locator("a.name", has_text="newcomer").wait_for()


def test_a_saved_view_comes_back(visit):
    page = visit(f"{RUNS}?where=hparams.seed == 1")
    shows(page, "4 runs that match")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Name of this view").fill("seed one")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(page.url.partition("?")[0])
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="seed one").click()
    shows(page, "4 runs that match")


def test_what_is_seen_can_be_had_as_csv(visit):
    page = visit(f'{RUNS}?columns=hparams.lr&where=name like "sweep%25"&sort=name')
    rows(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert lines[0] == "number,name,hparams.lr"
    assert lines[1].endswith(",sweep-0,0.001")
    assert len(lines) == 9


def test_a_long_list_is_scrolled_to_its_end_with_few_rows_in_the_page(visit, world):
    for index in range(230):
        store_run(world.store, name=f"many-{index:04}", workspace="many", ago=timedelta(seconds=index))
    until(lambda: world.client.runs.count(workspaces="many") == 230, 60)
    page = visit("/w/many/runs?sort=name")
    shows(page, "230 runs")
    page.locator("[role=table]").evaluate("table => table.scrollTop = table.scrollHeight")
    page.locator("a.name", has_text="many-0229").wait_for()
    assert page.locator("[role=row]").count() < 80


def test_every_key_is_listed_and_the_theme_is_chosen(visit):
    page = visit(RUNS, color_scheme="light")
    rows(page)
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").get_by_text("Select the run").wait_for()
    page.keyboard.press("Escape")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(ground) != light
    page.reload()
    rows(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("path", [RUNS, "/w/lab/compare?first=3", "/w/lab/boards"])
def test_a_phone_shows_it_without_scrolling_sideways(visit, path):
    phone = {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "has_touch": True}
    page = visit(path, **phone, has_shared_workers=False)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
