# SPDX-License-Identifier: Apache-2.0
"""Addresses that name things twice, come back after a reload, or lead to names and steps that are very long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.figure
import pytest
from playwright.sync_api import expect

from aboard import SummaryWriter
from support.chart_files import card
from support.logged_runs import logged_run, tb_folder
from support.page_world import World, page_world, sweep
from support.processes import until

LONG = 10_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, count=4, points=20)
        uid = made.uids["long"] = logged_run(made.store, name="long", workspace="long", curves={})
        with SummaryWriter(str(tb_folder(made.store, uid))) as writer:
            for number in range(40):
                writer.add_scalar(f"group/{number:02}{'x' * LONG}", number, 0)
        uid = made.uids["far"] = logged_run(made.store, name="far", workspace="far", curves={})
        with SummaryWriter(str(tb_folder(made.store, uid))) as writer:
            for step in (123456788, 123456789, 123456790):
                writer.add_scalar("loss", step, step)
            figure = matplotlib.figure.Figure(figsize=(2, 1), dpi=100)
            figure.subplots().plot([1, 2])
            writer.add_figure("drawing", figure, 7)
        until(lambda: made.client.runs.count() == 6)
        yield made


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("where=hparams.lr > 0.05 and hparams.lr > 0.05", 2),
        ("columns=status,status,hparams.lr,hparams.lr", 4),
        ("pinned=status,status&columns=status", 4),
        ("columns=", 4),
    ],
)
def test_a_table_whose_address_names_something_twice_is_shown(visit: Any, query: str, count: int):
    page = visit(f"/w/lab/runs?{query}")
    page.locator("a.name").first.wait_for()
    expect(page.locator("a.name")).to_have_count(count)
    heads = page.get_by_role("columnheader").all_inner_texts()
    assert len([one for one in heads if one.strip() == "status"]) <= 1
    # It is alive: what is sorted by is marked.
    page.get_by_role("columnheader", name="name").get_by_role("button").first.click()
    page.locator("[role=columnheader][aria-sort=ascending]").wait_for()


@pytest.mark.parametrize(
    ("query", "charts"),
    [
        ("pinned=loss,loss", 3),
        ("derived=loss,loss&pinned=loss", 4),
        ("runs=1,1,2", 2),
        ("toggled=optim,optim", 1),
    ],
)
def test_charts_whose_address_names_something_twice_are_shown(visit: Any, query: str, charts: int):
    page = visit(f"/w/lab/compare?{query}")
    card(page, "loss")
    until(lambda: page.locator("section[data-tag]").count() == charts)


@pytest.mark.parametrize(
    "query",
    ["axes=", "axes=hparams.lr,hparams.lr", "chosen=0~1~hparams.lr,x"],
)
def test_parameters_whose_address_is_odd_are_shown(visit: Any, query: str):
    page = visit(f"/w/lab/compare?tab=parameters&{query}")
    page.locator("svg .line").first.wait_for()
    expect(page.locator("svg .line")).to_have_count(4)


def test_what_an_address_names_and_is_no_run_is_told(visit: Any, world: World):
    page = visit(f"/w/lab/compare?runs={world.number('sweep-0')},{'n' * LONG},9-2,1-5000")
    pane = page.get_by_role("complementary", name="Runs of the comparison")
    pane.get_by_text("These name no run: nnn").wait_for()
    pane.get_by_text("9-2. Numbers are meant, as in 3,7-12.").wait_for()
    pane.get_by_text("The address names more than 2000 runs; the first 2000 are looked for.").wait_for()
    pane.get_by_text("Not here: run").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_the_axis_of_the_scatter_and_what_was_chosen_come_back(visit: Any):
    page = visit("/w/lab/compare?tab=parameters")
    axis = page.locator("rect.handle").first.bounding_box()
    page.mouse.move(axis["x"] + 12, axis["y"] + 2)
    page.mouse.down()
    page.mouse.move(axis["x"] + 12, axis["y"] + 60, steps=4)
    page.mouse.up()
    page.get_by_text("of 4 chosen").wait_for()
    said = page.get_by_role("status").filter(has_text="chosen").inner_text()
    page.get_by_label("Scatter of").select_option("optimizer")
    page.reload()
    page.get_by_role("status").filter(has_text="chosen").wait_for()
    expect(page.get_by_role("status").filter(has_text="chosen")).to_have_text(said, use_inner_text=True)
    expect(page.locator("rect.brush")).to_have_count(1)
    expect(page.get_by_label("Scatter of").locator("option:checked")).to_have_text("optimizer", use_inner_text=True)


def test_forty_tags_of_ten_thousand_letters_are_drawn(visit: Any, world: World):
    page = visit(f"/w/long/compare?runs={world.number('long')}")
    for number in (0, 1, 39):
        if number == 39:
            page.locator("p.more").scroll_into_view_if_needed()
        chart = page.locator(f"section[data-tag^='group/{number:02}']")
        chart.scroll_into_view_if_needed()
        chart.locator("footer", has_text="1 curve · 1 point").wait_for()
        chart.locator("canvas").first.wait_for()


def test_a_step_of_nine_digits_is_told_whole(visit: Any, world: World):
    page = visit(f"/w/far/compare?runs={world.number('far')}")
    box = card(page, "loss").locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".tooltip").wait_for()
    said = page.locator(".tooltip .place").inner_text()
    assert "".join(letter for letter in said if letter.isdigit()) == "123456789"


def test_a_figure_is_among_the_media(visit: Any, world: World):
    page = visit(f"/w/far/compare?runs={world.number('far')}&tab=media&media=drawing")
    picture = page.get_by_role("img", name="drawing of far at step 7")
    picture.wait_for()
    until(lambda: picture.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [200, 100])
