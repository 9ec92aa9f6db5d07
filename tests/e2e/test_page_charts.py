# SPDX-License-Identifier: Apache-2.0
"""The comparison in a real browser: charts at full resolution, differences, media, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from aboard import SummaryWriter
from aboard.model.run_states import RunState
from support.chart_files import card
from support.chart_zoom import drag, zoom_of
from support.logged_runs import log_more, logged_run, tb_folder
from support.page_addresses import query_of
from support.page_world import World, media_runs, page_world, sweep
from support.processes import until
from support.stored_runs import put_manifest

POINTS = 20_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, count=4, points=POINTS)
        media_runs(made)
        until(lambda: made.client.runs.count() == 6)
        yield made


def footer(page: Any, tag: str, text: str | re.Pattern[str]) -> None:
    card(page, tag).locator("footer").filter(has_text=text).wait_for()


def compare(world: World, *names: str, more: str = "") -> str:
    return f"/w/lab/compare?runs={','.join(str(world.number(name)) for name in names)}{more}"


def test_all_scalars_are_charts_in_sections_and_zoom_asks_for_every_point(visit, world):
    page = visit(compare(world, "sweep-0"))
    footer(page, "loss", f"2 curves · {POINTS + 10:,} points, reduced for the screen")
    card(page, "optim/norm")
    with page.expect_request(lambda request: "from_step" in request.url):
        drag(page, "loss", 0.50, 0.52)
    first, last = zoom_of(page)
    assert POINTS * 0.45 < first < last < POINTS * 0.55
    # So few steps are drawn point by point: nothing is reduced any more.
    footer(page, "loss", re.compile(r"points$"))
    page.reload()
    footer(page, "loss", re.compile(r"points$"))
    card(page, "loss").locator(".u-over").dblclick()
    footer(page, "loss", "reduced for the screen")
    page.get_by_role("button", name="optim 1").click()
    page.locator("section[data-tag='optim/norm']").wait_for(state="detached")


def test_one_question_begins_a_comparison(visit, world):
    page = visit("/w/lab/runs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.goto(page.url.replace(urlsplit(page.url).path, "/w/lab/compare"))
    card(page, "loss")
    # By the script in the document; the page takes that answer, and does not ask run by run.
    assert asked.count("/api/v1/charts") == 1
    assert not [path for path in asked if re.fullmatch(r"/api/v1/runs/.*/tags", path)]


def test_the_pointer_tells_values_and_marks_the_run_everywhere(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1", more="&tags=optim"))
    box = card(page, "optim/norm").locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = page.locator(".tooltip")
    tip.wait_for()
    expect(tip).to_contain_text("step 1")
    expect(tip).to_contain_text("sweep-0 · train")
    page.locator("aside li.hovered").wait_for()
    page.locator("aside li", has_text="sweep-1").hover()
    tip.wait_for(state="detached")


def test_runs_with_the_same_hyperparameter_become_one_curve(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1", "sweep-2", "sweep-3", more="&tags=optim"))
    footer(page, "optim/norm", "4 curves")
    page.get_by_role("button", name="Group runs").click()
    page.get_by_label("Runs with the same").select_option("optimizer")
    footer(page, "optim/norm", "2 curves")
    page.get_by_label("with a band of").select_option("standard deviation")
    page.keyboard.press("Escape")
    box = card(page, "optim/norm").locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".tooltip", has_text="2 runs").wait_for()


def test_smoothing_axes_and_tags_stand_in_the_address_and_come_back(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1"))
    card(page, "loss")
    page.get_by_label("Find tags").fill("^lo(")
    page.get_by_text("taken as text").wait_for()
    page.get_by_label("Find tags").fill("^loss$")
    page.get_by_text("1 of 2").wait_for()
    page.get_by_role("button", name="Smoothing").click()
    page.get_by_role("radio", name="Gaussian").check()
    page.keyboard.press("Escape")
    page.get_by_label("X axis").select_option("relative")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Axes and bands").click()
    page.get_by_role("checkbox", name="Ignore outliers").check()
    state = query_of(page)
    assert (state["smoothing"], state["x"], state["outliers"], state["tags"]) == (
        ["gaussian"],
        ["relative"],
        ["1"],
        ["^loss$"],
    )
    page.reload()
    card(page, "loss")
    expect(page.get_by_label("X axis")).to_have_value("relative")
    expect(page.locator("section[data-tag]")).to_have_count(1)
    for axis in ("wall", "metric"):
        page.get_by_label("X axis").select_option(axis)
    page.get_by_label("Metric of the x axis").select_option("optim/norm")
    card(page, "loss")


def test_a_metric_is_derived_from_others_and_pinned(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1"))
    card(page, "loss")
    page.get_by_role("button", name="Derived").click()
    page.keyboard.type("test/loss - nonsense")
    page.get_by_text("there is no metric 'nonsense'").wait_for()
    page.get_by_label("Derived metric").fill("test/loss - train/loss")
    page.keyboard.press("Enter")
    footer(page, "test/loss - train/loss", "2 curves")
    card(page, "loss").hover()
    card(page, "loss").get_by_role("button", name="Pin").click()
    page.reload()
    footer(page, "test/loss - train/loss", "2 curves")
    until(lambda: page.locator("section[data-tag='loss']").count() == 2)


def test_a_chart_is_saved_as_picture_and_as_numbers(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1", more="&tags=optim"))
    begins = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV of what is drawn": b"curve,x,", "CSV of every point": b""}
    for button, begin in begins.items():
        card(page, "optim/norm").hover()
        card(page, "optim/norm").get_by_role("button", name="Files of this chart").click()
        with page.expect_download() as download:
            page.get_by_text(button, exact=True).click()
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(begin)
        if "CSV" in button:
            assert b"sweep-0" in content
            assert b"sweep-1" in content
            page.keyboard.press("Escape")


def test_points_of_a_living_run_arrive_without_reloading(visit, world):
    uid = world.uids["alive"] = logged_run(
        world.store, name="alive", workspace="lab", status=RunState.RUNNING, curves={"live": [1.0] * 5}
    )
    page = visit(compare(world, "alive"))
    footer(page, "live", "5 points")
    log_more(world.store, uid, curves={"live": [2.0] * 7}, first=5)
    put_manifest(world.store, uid, sealed=False, serial=3, size=200)
    footer(page, "live", "12 points")


def test_how_far_reading_has_come_is_told(visit, world):
    page = visit("/w/lab/runs")
    has_read_all = False

    def answer(route: Any) -> None:
        """As a server that reads its second run for a while."""
        given = route.fetch()
        route.fulfill(response=given, json={**given.json(), "read": 2 if has_read_all else 1})

    page.route("**/api/v1/charts?*", lambda route: route.abort())  # it would have waited for both
    page.route("**/api/v1/tags?*", answer)
    page.goto(world.url + compare(world, "sweep-0", "sweep-1"))
    status = page.get_by_role("status")
    status.filter(has_text="1 of 2 runs read").wait_for()
    card(page, "loss")
    has_read_all = True
    status.filter(has_text=re.compile(r"newest point\s+.* ago")).wait_for()


def test_logarithmic_axes_and_outliers(visit, world):
    world.uids["wild"] = logged_run(
        world.store, name="wild", workspace="lab", curves={"wild": [1.0, 10.0, 100.0] * 40 + [1e9]}
    )
    until(lambda: world.client.runs.list(where='name == "wild"').items)
    page = visit(compare(world, "wild"))
    footer(page, "wild", "121 points")
    assert max(_values_of_the_axis(page, "wild")) >= 5e8
    page.get_by_role("button", name="Axes and bands").click()
    page.get_by_role("checkbox", name="Logarithmic values").check()
    page.keyboard.press("Escape")
    assert {1, 100, 1e6, 1e8} <= _values_of_the_axis(page, "wild")
    page.get_by_role("button", name="Axes and bands").click()
    page.get_by_role("checkbox", name="Logarithmic values").uncheck()
    page.get_by_role("checkbox", name="Ignore outliers").check()
    page.keyboard.press("Escape")
    assert max(_values_of_the_axis(page, "wild")) <= 1000


def _values_of_the_axis(page: Any, tag: str) -> set[float]:
    """What stands at the left of a chart, from its SVG."""
    card(page, tag).hover()
    card(page, tag).get_by_role("button", name="Files of this chart").click()
    with page.expect_download() as download:
        page.get_by_text("SVG", exact=True).click()
    texts = re.findall(r'text-anchor="end"[^>]*>([^<]*)<', Path(download.value.path()).read_text())
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}
    return {float(text.rstrip("kMGB").replace(",", "")) * scale.get(text[-1], 1) for text in texts}


def test_twenty_thousand_tags_are_found_and_not_all_drawn(visit, world):
    uid = world.uids["broad"] = logged_run(world.store, name="broad", workspace="lab", curves={"loss": [1.0, 2.0]})
    with SummaryWriter(str(tb_folder(world.store, uid))) as writer:
        for number in range(20_000):
            writer.add_scalar(f"group{number % 200}/tag{number}", number, 0)
    page = visit(compare(world, "broad"))
    footer(page, "group0/tag0", "1 curve · 1 point")
    assert page.locator("section[data-tag]").count() < 200
    page.get_by_label("Find tags").fill("tag19999$")
    footer(page, "group199/tag19999", "1 curve")
    expect(page.locator("section[data-tag]")).to_have_count(1)


def test_differences_are_told_with_a_reference(visit, world):
    page = visit(compare(world, "sweep-0", "sweep-1", more="&tab=differences"))
    row = page.locator("tr", has=page.get_by_role("rowheader", name="lr", exact=True))
    row.wait_for()
    expect(row).to_contain_text("+0.009 (+900 %)")
    assert page.get_by_role("rowheader", name="seed").count() == 0
    page.get_by_role("button", name="make reference").click()
    page.locator("tr", has_text="(−90.0 %)").first.wait_for()
    page.get_by_role("checkbox", name="Only what differs").uncheck()
    page.get_by_role("rowheader", name="seed").wait_for()


def test_media_of_two_runs_stand_at_one_step(visit, world):
    numbers = f"{world.number('dim')},{world.number('bright')}"
    page = visit(f"/w/media/compare?runs={numbers}&tab=media&media=picture|words")
    page.wait_for_function("() => [...document.images].filter(one => one.naturalWidth === 16).length >= 2")
    page.get_by_text("<b>step 10</b>").first.wait_for()
    page.get_by_label("Step", exact=True).press("Home")
    page.get_by_text("<b>step 0</b>").first.wait_for()
    page.get_by_role("img", name="picture of dim at step 0").wait_for()
    page.get_by_role("button", name="Difference").click()
    page.get_by_text(re.compile("% of the pixels differ")).wait_for()
    page.get_by_role("button", name="Wipe").click()
    page.get_by_label("Wipe between the pictures").wait_for()
    page.get_by_label("Find tags").fill("weights|tone")
    page.locator("svg[aria-label^='Histogram'] path.current").first.wait_for(state="attached")
    until(lambda: page.locator("audio").count() == 2)


def test_histograms_of_runs_stand_on_one_axis(visit, world):
    numbers = f"{world.number('dim')},{world.number('bright')}"
    page = visit(f"/w/media/compare?runs={numbers}&tab=media&media=weights")
    page.get_by_role("checkbox", name="Histograms on one axis").check()
    together = page.get_by_role("img", name="weights: histograms of 2 runs")
    together.wait_for()
    at_end = [path.get_attribute("d") for path in together.locator("path").all()]
    assert len(at_end) == 2
    assert at_end[0] != at_end[1]
    page.get_by_label("Step", exact=True).press("Home")
    page.get_by_text("step 0").first.wait_for()
    until(lambda: [path.get_attribute("d") for path in together.locator("path").all()] != at_end)
    page.reload()
    together.wait_for()


def test_texts_are_markdown_without_becoming_markup(visit, world):
    page = visit(f"/w/media/compare?runs={world.number('dim')}&tab=media&media=report")
    page.get_by_role("heading", name="Result of step").wait_for()
    page.get_by_role("cell", name="0.5 < 1").locator("strong").wait_for()
    link = page.get_by_role("link", name="a link")
    assert (link.get_attribute("href"), link.get_attribute("target")) == ("https://example.org/x", "_blank")
    assert page.get_by_role("link", name="a trap").count() == 0
    page.get_by_text('<img src=x onerror="window.hacked=1">').wait_for()
    assert page.locator("section img").count() == 0
    assert page.evaluate("window.hacked") is None
    page.get_by_role("checkbox", name="Plain text").check()
    page.get_by_text("# Result of *step*").wait_for()
    page.reload()
    page.get_by_text("# Result of *step*").wait_for()


def test_several_pictures_of_a_step_are_all_shown(visit, world):
    numbers = f"{world.number('dim')},{world.number('bright')}"
    page = visit(f"/w/media/compare?runs={numbers}&tab=media&media=batch")
    page.wait_for_function("() => [...document.images].filter(one => one.naturalWidth === 8).length === 6")
    labels = page.locator("figcaption").all_inner_texts()
    assert ["dim · 1 of 3" in labels[0], "bright · 1 of 3" in labels[1], "dim · 2 of 3" in labels[2]] == [True] * 3
    page.get_by_role("button", name="Difference").click()
    page.get_by_text("The pictures are the same").wait_for()
    page.get_by_label("Second picture").select_option(label="bright · 3 of 3 · step 10")
    page.get_by_text("100 % of the pixels differ").wait_for()


def test_parameters_against_a_metric_choose_what_is_plotted(visit, world):
    page = visit('/w/lab/compare?tab=parameters&where=name like "sweep%25"')
    page.get_by_text("4 runs; drag along an axis").wait_for()
    until(lambda: page.locator("svg .line").count() == 4)
    axis = page.locator("rect.handle").first.bounding_box()
    page.mouse.move(axis["x"] + 12, axis["y"] + 2)
    page.mouse.down()
    page.mouse.move(axis["x"] + 12, axis["y"] + 60, steps=4)
    page.mouse.up()
    page.get_by_text("1 run of 4 chosen").wait_for()
    page.get_by_role("button", name="Plot these").click()
    page.get_by_text("1 of 4 runs plotted").wait_for()
    until(lambda: page.locator("circle.plotted").count() == 1)


def test_a_large_chart_tells_which_line_is_of_which_logdir(visit, world):
    page = visit(f"/w/lab/compare?runs={world.number('sweep-0')}&tags=loss&large=loss")
    lines = page.get_by_role("dialog").get_by_role("listitem")
    drawn = {kind: lines.filter(has_text=kind).locator("path") for kind in ("train", "test")}
    for path in drawn.values():
        path.first.wait_for(state="attached")  # a line has no height, which counts as hidden
    dashes = {kind: path.first.get_attribute("stroke-dasharray") for kind, path in drawn.items()}
    assert dashes["train"] != dashes["test"]
    assert drawn["train"].first.get_attribute("stroke") == drawn["test"].first.get_attribute("stroke")
