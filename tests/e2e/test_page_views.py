# SPDX-License-Identifier: Apache-2.0
"""One journey through each view of the page against a real server. What views do in detail is tested in web/src."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from aboard.model.states import RunState
from support.chart_files import card
from support.chart_zoom import drag, zoom_of
from support.logged_runs import log_more, logged_run
from support.page_world import World, hostile_runs, media_runs, page_world, sweep, trained_run
from support.processes import until
from support.stored_runs import put_manifest

POINTS = 5000
RUNS = "/w/lab/runs"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("page")
    with page_world(folder) as made:
        sweep(made, count=4, points=POINTS)
        media_runs(made)
        hostile_runs(made)
        trained_run(made, folder / "code")
        until(lambda: made.client.runs.count() == 11, 30)
        until(lambda: made.client.runs.get("trained").ended is not None, 30)
        yield made


def compare(world: World, *names: str, workspace: str = "lab", more: str = "") -> str:
    return f"/w/{workspace}/compare?runs={','.join(str(world.number(name)) for name in names)}{more}"


def shows(page: Any, count: str) -> None:
    page.get_by_role("status").filter(has_text=re.compile(f"^{count}")).wait_for()


def footer(page: Any, tag: str, text: str | re.Pattern[str]) -> None:
    card(page, tag).locator("footer").filter(has_text=text).wait_for()


def test_runs_are_filtered_and_the_view_is_saved(visit: Any):
    page = visit(f"{RUNS}?columns=hparams.lr,metrics.train/loss.last&where=hparams.lr %3C and 1")
    page.locator("#query-error mark").wait_for()
    page.get_by_role("button", name="Clear the filter").click()
    shows(page, "5 runs")
    page.wait_for_selector("[role=cell] svg path[d^='M']", state="attached")
    page.keyboard.press("/")
    page.keyboard.type("lr")
    page.get_by_role("option", name="hparams.lr").click()
    page.keyboard.type("< 0.05 and hparams.optimizer == ")
    page.get_by_role("option", name='"sgd"').click()
    page.keyboard.press("Enter")
    shows(page, "1 run that match")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_label("Name of this view").fill("slow")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="slow").wait_for()
    page.goto(page.url.partition("?")[0])
    shows(page, "5 runs")
    page.get_by_role("button", name="Saved views").click()
    page.get_by_role("link", name="slow").click()
    shows(page, "1 run that match")


def test_runs_are_changed_deleted_and_restored(visit: Any, world: World):
    uid = logged_run(world.store, name="doomed", workspace="doomed", curves={"loss": [1.0]})
    page = visit("/w/doomed/runs")
    page.get_by_role("checkbox", name="Select doomed").check()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.keyboard.type("<i>odd</i>")
    page.keyboard.press("Enter")
    page.locator("[role=cell] .tag", has_text="<i>odd</i>").wait_for()
    page.get_by_role("button", name="Note", exact=True).click()
    page.keyboard.type("look at this")
    page.keyboard.press("Control+Enter")
    until(lambda: [note.text for note in world.client.runs.get(uid).notes] == ["look at this"])
    page.get_by_role("button", name="Rename").click()
    page.keyboard.type("renamed")
    page.keyboard.press("Enter")
    page.locator("a.name", has_text="renamed").wait_for()
    page.get_by_role("button", name="Move to trash").click()
    page.locator("a.name", has_text="renamed").wait_for(state="detached")
    assert world.client.runs.get(uid).deleted
    page.get_by_role("button", name="Undo").click()
    page.locator("a.name", has_text="renamed").wait_for()
    assert world.client.runs.get(uid).deleted is None


def test_a_run_appears_grows_and_ends_while_the_page_is_open(visit: Any, world: World):
    logged_run(world.store, name="elder", workspace="live", curves={})
    until(lambda: world.client.runs.count(workspaces="live") == 1)
    page = visit('/w/live/runs?where=name == "newcomer"')
    page.get_by_text("No run matches this filter").wait_for()
    uid = world.uids["newcomer"] = logged_run(
        world.store, name="newcomer", workspace="live", status=RunState.RUNNING, curves={"live": [1.0] * 5}
    )
    page.locator("a.name", has_text="newcomer").wait_for()
    page.goto(world.url + compare(world, "newcomer", workspace="live"))
    footer(page, "live", "5 points")
    log_more(world.store, uid, curves={"live": [2.0] * 7}, first=5)
    put_manifest(world.store, uid, sealed=False, serial=3, size=200)
    footer(page, "live", "12 points")
    page.goto(f"{world.url}/w/live/runs/{world.number('newcomer')}")
    page.locator("header").get_by_text("running").wait_for()
    put_manifest(world.store, uid, status=RunState.COMPLETED, sealed=True, serial=4)
    page.locator("header").get_by_text("completed").wait_for()


def test_charts_begin_with_one_request_and_a_zoom_brings_every_point(visit: Any, world: World):
    page = visit(RUNS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.goto(f"{world.url}{compare(world, 'sweep-0')}")
    footer(page, "loss", f"2 curves · {POINTS + 10:,} points, downsampled")
    # The script in the document sends it; the page takes that answer.
    assert asked.count("/api/v1/charts") == 1
    assert not [path for path in asked if re.fullmatch(r"/api/v1/runs/.*/tags", path)]
    drag(page, "loss", 0.50, 0.52)
    footer(page, "loss", re.compile(r"\d points$"))
    first, last = zoom_of(page)
    assert POINTS * 0.45 < first < last < POINTS * 0.55
    card(page, "loss").hover()
    card(page, "loss").get_by_role("button", name="Download chart").click()
    with page.expect_download() as download:
        page.get_by_text("CSV of every point", exact=True).click()
    assert len(Path(download.value.path()).read_text("utf-8").splitlines()) > POINTS


def test_differences_have_a_reference(visit: Any, world: World):
    page = visit(compare(world, "sweep-0", "sweep-1", more="&tab=differences"))
    row = page.locator("tr", has=page.get_by_role("rowheader", name="lr", exact=True))
    expect(row).to_contain_text("+0.009 (+900 %)")
    assert page.get_by_role("rowheader", name="seed").count() == 0
    page.get_by_role("checkbox", name="Only what differs").uncheck()
    page.get_by_role("rowheader", name="seed").wait_for()


def test_media_of_two_runs_stand_at_one_step(visit: Any, world: World):
    page = visit(compare(world, "dim", "bright", workspace="media", more="&tab=media&media=picture|words"))
    page.wait_for_function("() => [...document.images].filter(one => one.naturalWidth === 16).length >= 2")
    page.get_by_text("<b>step 10</b>").first.wait_for()
    page.get_by_label("Step", exact=True).press("Home")
    page.get_by_text("<b>step 0</b>").first.wait_for()
    page.get_by_role("img", name="picture of dim at step 0").wait_for()
    page.get_by_role("button", name="Difference").click()
    page.get_by_text(re.compile("% of the pixels differ")).wait_for()
    page.get_by_label("Filter metrics").fill("weights|tone|batch")
    page.locator("svg[aria-label^='Histogram'] path.current").first.wait_for(state="attached")
    expect(page.locator("audio")).to_have_count(2)
    # Several pictures of one step.
    page.get_by_text("The pictures are the same").wait_for()
    page.get_by_label("Second picture").select_option(label="bright · 3 of 3 · step 10")
    page.get_by_text("100 % of the pixels differ").wait_for()


def test_parameters_choose_what_is_plotted(visit: Any):
    page = visit('/w/lab/compare?tab=parameters&where=name like "sweep%25"')
    page.get_by_text("4 runs; drag along an axis").wait_for()
    expect(page.locator("svg .line")).to_have_count(4)
    axis = page.locator("rect.handle").first.bounding_box()
    page.mouse.move(axis["x"] + 12, axis["y"] + 2)
    page.mouse.down()
    page.mouse.move(axis["x"] + 12, axis["y"] + 60, steps=4)
    page.mouse.up()
    page.get_by_text("1 run of 4 chosen").wait_for()
    page.get_by_role("button", name="Plot these").click()
    page.get_by_text("1 of 4 runs plotted").wait_for()
    expect(page.locator("circle.plotted")).to_have_count(1)


def test_a_run_shows_its_events_console_files_and_code(visit: Any, world: World):
    page = visit(f"{RUNS}/{world.number('trained')}")
    page.get_by_role("heading", name="trained").wait_for()
    page.get_by_role("rowheader", name="train/loss").wait_for()
    event = page.locator("tr", has=page.get_by_role("rowheader", name="rate <b>halved</b> (lr 0.25)"))
    expect(event.get_by_role("cell").first).to_have_text("1", use_inner_text=True)
    page.keyboard.press("2")
    card(page, "loss")
    page.keyboard.press("3")
    page.get_by_text("loading <b>data</b>").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("errors")
    page.locator("mark", has_text="ERRORS").wait_for()
    page.get_by_role("tab", name="Files").click()
    page.get_by_role("link", name=re.compile("log.1")).first.wait_for()
    page.get_by_role("tab", name="Code").click()
    page.locator(".added", has_text="a change that nobody committed").wait_for()
    page.get_by_role("heading", name="Packages").wait_for()
    page.get_by_text(re.compile(r"python\S* train.py")).first.wait_for()


def test_a_board_of_runs_is_opened_stopped_started_and_deleted(visit: Any, world: World):
    page = visit(RUNS)
    for name in ("sweep-0", "sweep-1"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Open as board").click()
    opened.value.wait_for_url("**/boards/**")
    opened.value.get_by_text("TensorBoard").first.wait_for(timeout=60_000)
    opened.value.close()
    page.get_by_role("link", name="Boards").click()
    row = page.locator("tbody tr").first
    row.get_by_text("2 runs").or_(row.get_by_text(f"run{world.number('sweep-0')}")).first.wait_for()
    row.get_by_role("button", name="Log").click()
    page.get_by_role("dialog").locator("li").first.wait_for()
    page.get_by_role("button", name="Close").first.click()
    row.get_by_role("button", name="Stop").click()
    row.get_by_role("button", name="Start").click()
    row.get_by_role("button", name="Stop").wait_for()
    row.get_by_role("rowheader").get_by_role("link").click()
    page.frame_locator("iframe").get_by_text("TensorBoard").first.wait_for(timeout=60_000)
    page.go_back()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("There are no boards in lab yet").wait_for()


def test_names_are_text_wherever_they_are_shown(visit: Any, world: World):
    page = visit("/w/odd/runs")
    page.locator("a.name", has_text="<img src=x").wait_for()
    page.locator("a.name", has_text="🚀").click()
    page.get_by_role("heading", name=re.compile("onerror")).wait_for()
    page.goto(world.url + compare(world, "markup", "long", workspace="odd"))
    page.locator("aside li", has_text="<img src=x").wait_for()
    page.locator("section.card h3", has_text="xxxxxxxx").wait_for()
    page.locator("section[data-tag='nan'] footer", has_text="5 points").wait_for()
    page.goto(world.url + compare(world, "markup", "long", workspace="odd", more="&tab=differences"))
    page.get_by_role("rowheader", name=re.compile("onerror")).first.wait_for()
    assert page.evaluate("window.hacked") is None


def test_a_phone_gets_a_page_of_its_width(visit: Any):
    page = visit(RUNS, viewport={"width": 390, "height": 800}, is_mobile=True, has_touch=True, has_shared_workers=False)
    page.locator("a.name").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_script_of_others(visit: Any, world: World):
    asked: list[str] = []
    page = visit(RUNS)
    page.on("request", lambda request: asked.append(request.url))
    answer: Any = page.goto(f"{world.url}/w/lab/compare?first=1")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    page.locator("canvas").first.wait_for()
    assert asked
    assert all(one.startswith((world.url, "blob:", "data:")) for one in asked)
    assets = [one for one in asked if "/_page/" in one]
    packed = page.request.get(assets[0], headers={"Accept-Encoding": "br"})
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["content-encoding"] == "br"
