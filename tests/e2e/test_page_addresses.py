# SPDX-License-Identifier: Apache-2.0
"""What the address keeps of a comparison, also while it changes quickly; which colours stay, what is asked again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from support.page_questions import count_questions
from support.page_world import World, media_runs, page_world, sweep
from support.processes import until

DRAG = """input => {
    for (let at = 1; at <= 300; at++) {
        input.value = at / 1000;
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""
AWAY = ("/api/v1/charts", "/api/v1/series", "/healthz")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, count=8, points=20)
        media_runs(made)
        until(lambda: made.client.runs.count() == 10)
        yield made


def colours(page: Any) -> dict[str, str]:
    """Of the runs at the left that are plotted."""
    script = "items => items.map(one => [one.innerText.trim(), one.querySelector('.eye i')?.style.background])"
    return {name: colour for name, colour in page.locator("aside li").evaluate_all(script) if colour}


def test_a_run_that_is_hidden_takes_no_colour_of_others_with_it(visit):
    page = visit('/w/lab/compare?where=name like "sweep%25"&sort=name')
    page.get_by_text("8 of 8 runs plotted").wait_for()
    before = colours(page)
    assert len(before) == 8
    page.get_by_role("button", name="Plot sweep-0").click()
    page.get_by_text("7 of 8 runs plotted").wait_for()
    after = colours(page)
    assert len(after) == 7
    assert after.items() <= before.items()


def test_a_large_chart_its_scale_and_the_run_that_is_looked_for_come_back(visit):
    page = visit("/w/lab/compare?first=2&tags=optim")
    card = page.locator("section[data-tag='optim/norm']").first
    card.locator("canvas").first.wait_for()
    page.get_by_label("Find a run").fill("sweep-3")
    card.hover()
    card.get_by_role("button", name="Logarithmic").click()
    card.get_by_role("button", name="Large").click()
    page.get_by_role("dialog").locator("canvas").first.wait_for()
    page.reload()
    large = page.get_by_role("dialog").locator("section[data-tag='optim/norm']")
    large.locator("canvas").first.wait_for()
    expect(large.get_by_role("button", name="Logarithmic")).to_have_attribute("aria-pressed", "true")
    page.locator("aside li", has_text="sweep-3").wait_for()
    expect(page.locator("aside li")).to_have_count(1)


def test_the_pair_of_pictures_and_the_wipe_come_back(visit, world):
    numbers = f"{world.number('dim')},{world.number('bright')}"
    page = visit(f"/w/media/compare?runs={numbers}&tab=media&media=picture&look=wipe")
    page.get_by_label("First picture").select_option(label="bright · step 10")
    page.get_by_label("Wipe between the pictures").press("Home")
    page.wait_for_url("**wipe=0**")
    page.reload()
    page.get_by_label("Wipe between the pictures").wait_for()
    expect(page.get_by_label("Wipe between the pictures")).to_have_value("0")
    expect(page.get_by_label("First picture").locator("option:checked")).to_have_text(
        "bright · step 10", use_inner_text=True
    )


def test_media_that_cannot_be_had_say_why(visit, world):
    page = visit("/w/media/runs")
    broken = {"error": {"code": "storage", "message": "the disk is gone"}}
    page.route(f"**/{world.uids['dim']}/media?*", lambda route: route.fulfill(status=400, json=broken))
    page.goto(f"{world.url}/w/media/compare?runs={world.number('dim')}&tab=media&media=picture")
    page.locator("section[aria-label=picture] .bad", has_text="dim: ").wait_for()
    assert page.get_by_text("None of these runs has it").count() == 0


def test_charts_that_failed_are_asked_again_when_the_server_is_back(visit, world):
    page = visit("/w/lab/runs")
    is_away = True
    page.route(
        lambda url: "/api/v1/" in url or "/healthz" in url,
        lambda route: route.abort() if is_away and any(one in route.request.url for one in AWAY) else route.continue_(),
    )
    page.goto(f"{world.url}/w/lab/compare?runs={world.number('sweep-0')}&tags=optim")
    page.locator("section[data-tag='optim/norm'] .bad").wait_for()
    is_away = False
    page.locator("section[data-tag='optim/norm'] canvas").first.wait_for()


def test_a_browser_that_refuses_to_write_the_address_leaves_the_page_alive(visit, world):
    page = visit("/w/lab/runs", permissions=["clipboard-read", "clipboard-write"])
    page.add_init_script("history.replaceState = () => { throw new DOMException('too often', 'SecurityError') }")
    page.goto(f"{world.url}/w/lab/compare?first=2&smoothing=gaussian")
    page.get_by_role("button", name="Smoothing").click()
    page.get_by_label("Amount").evaluate(DRAG)
    page.get_by_role("button", name="Smoothing").filter(has_text="Smoothing: 0.3").wait_for()
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("button", name="Copy the address of this view").click()
    page.get_by_text("The address of this view is copied").wait_for()
    assert "amount=0.3" in page.evaluate("navigator.clipboard.readText()").split("&")
    page.get_by_role("link", name="Boards").click()
    page.wait_for_url("**/w/lab/boards")


def test_the_address_follows_what_is_dragged_seldom_and_to_its_end(visit):
    page = visit("/w/lab/compare?first=2&smoothing=gaussian")
    page.get_by_role("button", name="Smoothing").click()
    page.evaluate("""() => {
        const write = history.replaceState.bind(history);
        window.written = 0;
        history.replaceState = (...all) => { window.written += 1; write(...all) };
    }""")
    page.get_by_label("Amount").evaluate(DRAG)
    page.wait_for_url("**amount=0.3&**")
    assert page.evaluate("window.written") < 100


def test_who_goes_on_while_dragging_finds_the_last_change_when_coming_back(visit):
    page = visit("/w/lab/compare?first=2&smoothing=gaussian")
    page.get_by_role("button", name="Smoothing").click()
    amount = page.get_by_label("Amount")
    amount.evaluate(f"input => {{ ({DRAG})(input); document.querySelector('nav a').click() }}")
    page.wait_for_url("**/w/lab/runs")
    page.go_back()
    page.wait_for_url("**amount=0.3&**")
    page.get_by_role("button", name="Smoothing").filter(has_text="Smoothing: 0.3").wait_for()


def test_an_arrow_moves_the_slider_that_has_the_focus_and_not_the_step(visit):
    page = visit("/w/media/compare?tab=media&media=picture&look=wipe")
    page.get_by_label("Wipe between the pictures").press("ArrowLeft")
    page.wait_for_url("**wipe=49**")
    assert "step=" not in page.url
    page.get_by_role("button", name="Wipe", exact=True).press("ArrowLeft")
    page.wait_for_url("**step=5**")


def test_another_step_asks_for_no_histogram_that_is_here(visit):
    page = visit("/w/media/compare?tab=media&media=weights&together=1")
    page.locator("figure li", has_text="step 10").nth(1).wait_for()
    questions = count_questions(page, "/histograms?")
    page.get_by_label("Step", exact=True).press("ArrowLeft")
    page.locator("figure li", has_text="step 5").nth(1).wait_for()
    assert questions() == 0


def go_to(page: Any, address: str) -> None:
    """As the way back and forth does."""
    page.evaluate("address => { history.pushState(null, '', address); dispatchEvent(new Event('popstate')) }", address)


def test_parameters_are_asked_for_once_and_a_late_answer_is_not_waited_for(visit):
    page = visit("/w/lab/compare?tab=parameters&where=hparams.seed == 0")
    page.get_by_text("4 runs; drag along an axis").wait_for()
    questions = count_questions(page, "limit=1000")
    axes = page.get_by_role("group", name="Axes")
    axes.get_by_role("button", name="lr").click()
    page.locator("[aria-label=Axes] [aria-pressed=false]", has_text="lr").wait_for()
    assert questions() == 0
    page.route("**/api/v1/runs?*seed*limit=1000*", lambda route: None)  # never answered
    with page.expect_request(lambda request: "seed" in request.url and "limit=1000" in request.url):
        go_to(page, "/w/lab/compare?tab=parameters&where=hparams.seed == 1")
    with page.expect_event("requestfailed", lambda request: "seed" in request.url and "limit=1000" in request.url):
        go_to(page, "/w/lab/compare?tab=parameters&where=hparams.lr == 0.1")
    page.get_by_text("2 runs; drag along an axis").wait_for()


def test_of_very_many_runs_as_many_are_compared_as_the_server_tells_of_at_once(visit, world):
    page = visit("/w/lab/boards")  # which asks for no runs

    def answer(route: Any) -> None:
        """As if there were a run of every number."""
        query = parse_qs(urlsplit(route.request.url).query)
        numbers = [int(number) for number in re.findall(r"\d+", query.get("where", [""])[0])]
        made = [{**run, "number": number, "uid": f"{run['uid'][:-5]}{number:05}"} for number in numbers]
        route.fulfill(json={"items": made, "next": None})

    run = page.request.get(f"{world.url}/api/v1/runs?limit=1").json()["items"][0]
    page.route("**/api/v1/runs?*", answer)
    with page.expect_request("**/api/v1/tags?*") as asked:
        page.goto(f"{world.url}/w/lab/compare?runs=1-600")
    assert parse_qs(urlsplit(asked.value.url).query)["run"] == [str(number) for number in range(1, 501)]
    page.get_by_text("The first 500 of 600 are compared").wait_for()
