# SPDX-License-Identifier: Apache-2.0
"""Charts under pointer and keys: moved along their axis, pointed at together, and highlighted from the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from support.chart_files import card, rows_of
from support.chart_zoom import zoom_of
from support.logged_runs import logged_run
from support.page_world import World, page_world
from support.processes import until

POINTS = 9000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        for value, name in enumerate(("low", "high")):
            made.uids[name] = logged_run(
                made.store,
                name=name,
                workspace="lab",
                curves={"long": [float(value)] * POINTS, "also": [value + 0.5] * POINTS},
            )
        until(lambda: made.client.runs.count() == 2)
        yield made


def drawn_steps(page: Any) -> set[int]:
    return {int(row["x"]) for row in rows_of(page, "long")}


def middle_of(page: Any, tag: str) -> tuple[float, float]:
    box = card(page, tag).locator(".u-over").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def by_arrow(page: Any) -> None:
    card(page, "long").get_by_role("img").press("ArrowRight")


def by_wheel(page: Any) -> None:
    page.mouse.move(*middle_of(page, "long"))
    page.keyboard.down("Control")
    page.mouse.wheel(0, 100)
    page.keyboard.up("Control")


@pytest.mark.parametrize("move", [by_arrow, by_wheel])
def test_who_moves_along_the_axis_gets_the_points_there(visit, move):
    page = visit("/w/lab/compare?tags=long&zoom=1000~1200")
    card(page, "long").locator("footer", has_text="points").wait_for()
    until(lambda: drawn_steps(page) >= set(range(1000, 1201)))
    assert max(drawn_steps(page)) < 1210
    with page.expect_response(lambda answer: "/api/v1/series" in answer.url and "from_step" in answer.url):
        move(page)
    # Every point of the part that is seen now, also beyond what was there before.
    until(lambda: max(drawn_steps(page)) > 1215)
    steps = drawn_steps(page)
    assert steps == set(range(min(steps), max(steps) + 1))


def cursor(page: Any, tag: str) -> float:
    """Where the line under the pointer stands in a chart, as a share of its width; below 0 where there is none."""
    line, over = (card(page, tag).locator(one).bounding_box() for one in (".u-cursor-x", ".u-over"))
    return (line["x"] - over["x"]) / over["width"] if line else -1


def test_the_pointer_in_one_chart_stands_at_the_same_step_of_others(visit):
    page = visit("/w/lab/compare")
    assert cursor(page, "also") < 0
    box = card(page, "long").locator(".u-over").bounding_box()
    for share in (0.25, 0.75):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        until(lambda share=share: abs(cursor(page, "also") - share) < 0.02)
    expect(page.locator(".tooltip")).to_have_count(1)
    page.mouse.move(5, 5)
    until(lambda: cursor(page, "also") < 0)


def painted(page: Any, tag: str) -> int:
    """How many pixels are painted above the curves of a chart."""
    script = """lenses => lenses.map(lens => lens.getContext("2d").getImageData(0, 0, lens.width, lens.height).data)
      .reduce((sum, data) => sum + data.filter((value, at) => at % 4 === 3 && value > 0).length, 0)"""
    return card(page, tag).locator(".u-over canvas").evaluate_all(script)


def test_a_run_of_the_list_is_highlighted_in_every_chart(visit):
    page = visit("/w/lab/compare")
    for tag in ("long", "also"):
        assert painted(page, tag) == 0
    row = page.locator("aside li", has_text="high")
    row.hover()
    page.locator("aside li.hovered", has_text="high").wait_for()
    for tag in ("long", "also"):
        until(lambda tag=tag: painted(page, tag) > 0)
    page.mouse.move(700, 5)
    page.locator("aside li.hovered").wait_for(state="detached")
    for tag in ("long", "also"):
        until(lambda tag=tag: painted(page, tag) == 0)


IS_LEFT_TO_THE_BROWSER = """(chart, [key, modifier]) => chart.dispatchEvent(
    new KeyboardEvent("keydown", { key, [modifier]: true, bubbles: true, cancelable: true }))"""


@pytest.mark.parametrize("key", [["0", "ctrlKey"], ["+", "ctrlKey"], ["-", "metaKey"], ["ArrowLeft", "altKey"]])
def test_a_chart_leaves_the_browser_its_own_keys(visit, key):
    page = visit("/w/lab/compare?tags=long&zoom=1000~1200")
    assert card(page, "long").get_by_role("img").evaluate(IS_LEFT_TO_THE_BROWSER, key)
    assert "zoom=1000~1200" in page.url


def test_a_finger_reaches_every_point_of_a_large_chart(visit):
    page = visit(
        "/w/lab/compare?tags=long&large=long",
        viewport={"width": 390, "height": 800},
        is_mobile=True,
        has_touch=True,
    )
    large = page.get_by_role("dialog")
    footer = large.locator("footer")
    footer.filter(has_text="reduced for the screen").wait_for()
    assert large.get_by_role("button", name="The whole axis").is_disabled()
    for _ in range(8):  # 9000 * 0.75 ** 8 < 1000
        large.get_by_role("button", name="Zoom in").tap()
    footer.filter(has_text=re.compile("points$")).wait_for()
    middle = zoom_of(page)
    large.get_by_role("button", name="Move right").tap()
    until(lambda: zoom_of(page)[0] > middle[0])
    large.get_by_role("button", name="The whole axis").tap()
    footer.filter(has_text="reduced for the screen").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
