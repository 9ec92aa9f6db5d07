# SPDX-License-Identifier: Apache-2.0
"""A run, boards, and what goes wrong: names that want to be markup, servers that go away, logins that end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from playwright.sync_api import expect

from aboard.model.board import BoardKind
from aboard.store.run.file_row import FileRow
from aboard.store.run.outputs import Outputs
from aboard.store.run.run_folder import RunFolder
from support.chart_files import card, rows_of
from support.logged_runs import log_more, logged_run
from support.page_world import World, hostile_runs, page_world, restarted_run, sweep, trained_run
from support.processes import until


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("page")
    with page_world(folder) as made:
        sweep(made, count=2, points=100)
        hostile_runs(made)
        restarted_run(made)
        trained_run(made, folder / "code")
        until(lambda: made.client.runs.count() == 8, 30)
        until(lambda: made.client.runs.get("trained").ended is not None, 30)
        yield made


def run_page(world: World, name: str, tab: str = "overview") -> str:
    return f"/w/lab/runs/{world.number(name)}?tab={tab}"


def test_a_run_tells_what_it_is(visit, world):
    page = visit(run_page(world, "trained"))
    page.get_by_role("heading", name="trained").wait_for()
    page.get_by_role("rowheader", name="train/loss").wait_for()
    page.get_by_text("0.5", exact=True).first.wait_for()
    page.keyboard.press("2")
    page.locator("section[data-tag='loss'] canvas").wait_for()


def test_superseded_points_are_drawn_when_asked_for(visit, world):
    uid = world.uids["again"] = logged_run(world.store, name="again", workspace="again", curves={"loss": [1.0] * 30})
    log_more(world.store, uid, curves={"loss": [2.0] * 5}, first=10)
    until(lambda: world.client.runs.count(workspaces="again") == 1, 30)
    page = visit(f"/w/again/runs/{world.number('again')}?tab=charts")
    chart = card(page, "loss")
    chart.get_by_text("20 superseded points").wait_for()
    assert {row["curve"] for row in rows_of(page, "loss")} == {"again"}
    chart.get_by_role("button", name="Show", exact=True).click()
    until(lambda: {row["curve"] for row in rows_of(page, "loss")} == {"again", "again · superseded"})
    old = [row for row in rows_of(page, "loss") if row["curve"] == "again · superseded"]
    assert [(int(row["x"]), float(row["loss"])) for row in old] == [(step, 1.0) for step in range(10, 30)]
    page.wait_for_url("**superseded=1*")
    chart.get_by_role("button", name="Hide", exact=True).click()
    until(lambda: len(rows_of(page, "loss")) == 15)


def test_events_and_attempts_stand_on_the_axis(visit, world):
    page = visit(run_page(world, "trained"))
    event = page.locator("tr", has=page.get_by_role("rowheader", name="rate <b>halved</b> (lr 0.25)"))
    event.wait_for()
    expect(event.get_by_role("cell").first).to_have_text("1", use_inner_text=True)
    page.keyboard.press("2")
    _hover(page, "loss", 1 / 2)
    page.locator(".tooltip .moment", has_text="trained: rate <b>halved</b> (lr 0.25)").wait_for()
    page.goto(f"{world.url}/w/lab/compare?runs={world.number('restarted')}")
    _hover(page, "slow", 3 / 8)
    page.locator(".tooltip .moment", has_text="restarted: attempt 2").wait_for()


def _hover(page: Any, tag: str, share: float) -> None:
    """Point at a place of the x axis, given as its share of the steps."""
    over = page.locator(f"section[data-tag='{tag}'] .u-over")
    over.wait_for()
    page.locator(f"section[data-tag='{tag}'] footer", has_text="points").wait_for()
    box = over.bounding_box()
    # Events come behind the points.
    until(lambda: _points_at(page, box, share), 30)


def _points_at(page: Any, box: Any, share: float) -> bool:
    for nudge in (2, 0):
        page.mouse.move(box["x"] + box["width"] * share + nudge, box["y"] + box["height"] / 2)
    return page.locator(".tooltip .moment").count() > 0


def test_what_a_run_printed_is_searched(visit, world):
    page = visit(run_page(world, "trained", "console"))
    page.get_by_text("loading <b>data</b>").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("errors")
    page.locator("mark", has_text="ERRORS").wait_for()
    page.get_by_role("checkbox", name="Only these lines").check()
    page.get_by_text("epoch 1 is done").wait_for(state="detached")
    page.reload()
    page.locator("mark", has_text="ERRORS").wait_for()


def test_files_and_code_of_a_run(visit, world):
    page = visit(run_page(world, "trained", "files"))
    page.get_by_role("link", name=re.compile("log.1")).first.wait_for()
    files = page.locator("tbody tr")
    count = files.count()
    page.get_by_label("Find a file").fill("LOG/1")
    until(lambda: 0 < files.count() < count)
    found = files.all_inner_texts()
    page.reload()
    files.first.wait_for()
    expect(page.get_by_label("Find a file")).to_have_value("LOG/1")
    assert files.all_inner_texts() == found
    page.goto(page.url.replace("tab=files", "tab=code"))
    page.locator(".added", has_text="a change that nobody committed").wait_for()
    page.get_by_role("heading", name="Packages").wait_for()
    page.get_by_text(re.compile(r"python\S* train.py")).first.wait_for()


def test_the_use_of_the_machine_has_charts_of_its_own(visit, world):
    uid = world.uids["measured"] = logged_run(
        world.store, name="measured", workspace="lab", curves={"loss": [1.0, 2.0]}
    )
    log_more(world.store, uid, curves={"cpu/percent": [10.0, 50.0, 90.0]}, logdir="system")
    page = visit(run_page(world, "measured", "charts"))
    page.locator("section[data-tag=loss] footer", has_text="1 curve · 2 points").wait_for()
    expect(page.locator("section[data-tag]")).to_have_count(1)
    page.get_by_role("tab", name="System").click()
    page.locator("section[data-tag='cpu/percent'] footer", has_text="1 curve · 3 points").wait_for()
    page.locator("section[data-tag='cpu/percent'] canvas").first.wait_for()
    expect(page.locator("section[data-tag]")).to_have_count(1)
    page.goto(world.url + run_page(world, "sweep-0", "system"))
    page.get_by_text("The use of the machine was not measured").wait_for()


def test_runs_are_opened_as_a_board_which_is_stopped_started_and_deleted(visit, world):
    page = visit('/w/lab/runs?where=name like "sweep%25"')
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


def test_a_process_is_chosen_for_a_board(visit, world, monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))  # where its unit is kept
    page = visit('/w/lab/runs?where=name like "sweep%25"')
    page.get_by_role("checkbox", name="Select sweep-0").check()
    page.get_by_role("combobox", name="Where the board runs").select_option("process: local")
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Open as board").click()
    opened.value.wait_for_url("**/w/lab/boards/**")
    opened.value.get_by_text("Process on local").or_(opened.value.locator("iframe")).first.wait_for()
    opened.value.close()
    (board,) = [one for one in world.client.boards.iterate() if one.kind is BoardKind.PROCESS]
    assert board.settings["executor"] == "local"
    # Begun, before it ends: it would be looked for elsewhere when this test no longer says where units are.
    until(lambda: list((tmp_path / "units").glob("0*")), 60)
    world.client.boards.delete(board.id)
    until(lambda: not list((tmp_path / "units").glob("0*")), 60)


def test_profiler_traces_are_opened_in_a_process(visit, world, monkeypatch, tmp_path):
    monkeypatch.setenv("ABOARD_HOME", str(tmp_path))
    folder = RunFolder(world.store, world.client.runs.get("sweep-1").uid)
    path = "output/tensorboard/plugins/profile/2026_11_16/host.xplane.pb"
    world.store.put(folder.key(path), b"a trace")
    folder.write_outputs(Outputs(serial=1, files=(FileRow(path=path, source=path, bytes=7, crc32=crc32(b"a trace")),)))
    page = visit(run_page(world, "sweep-1", "files"))
    offer = page.get_by_role("group", name="Open the profiler traces")
    offer.get_by_role("combobox", name="Where the board runs").wait_for()
    expect(offer.get_by_role("option").first).to_have_text("process: local", use_inner_text=True)
    with page.context.expect_page() as opened:
        offer.get_by_role("button").click()
    opened.value.wait_for_url("**/w/lab/boards/**")
    opened.value.close()
    (board,) = [one for one in world.client.boards.iterate() if one.kind is BoardKind.PROCESS]
    assert board.settings["executor"] == "local"
    until(lambda: "aboard[profile]" in str(world.client.boards.logs(board.id)), 60)
    world.client.boards.delete(board.id)
    until(lambda: not list((tmp_path / "units").glob("0*")), 60)


def test_names_are_text_wherever_they_are_shown(visit, world):
    page = visit("/w/odd/runs")
    page.locator("a.name", has_text="<img src=x").wait_for()
    page.locator("a.name", has_text="🚀").click()
    page.get_by_role("heading", name=re.compile("onerror")).wait_for()
    numbers = f"{world.number('markup')},{world.number('long')}"
    page.goto(f"{world.url}/w/odd/compare?runs={numbers}")
    page.locator("aside li", has_text="<img src=x").wait_for()
    page.locator("section.card h3", has_text="xxxxxxxx").wait_for()
    page.goto(f"{world.url}/w/odd/compare?runs={numbers}&tab=differences")
    page.get_by_role("rowheader", name=re.compile("onerror")).first.wait_for()
    assert page.evaluate("window.hacked") is None


def test_a_curve_of_nan_and_a_run_without_scalars_say_so(visit, world):
    page = visit(f"/w/odd/compare?runs={world.number('markup')}")
    page.locator("section[data-tag='nan'] footer", has_text="5 points").wait_for()
    page.goto(f"{world.url}/w/odd/compare?runs={world.number('nothing')}")
    page.get_by_text("These runs have no scalars").wait_for()
    page.goto(f"{world.url}/w/odd/runs/{world.number('nothing')}")
    page.get_by_text("This run has logged no scalars").wait_for()


def test_a_step_beyond_what_browsers_count_is_told_digit_by_digit(visit, world):
    page = visit(f"/w/odd/compare?runs={world.number('far')}&tags=far")
    over = page.locator("section[data-tag='far'] .u-over")
    over.wait_for()
    box = over.bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] / 2)
    page.locator(".tooltip").wait_for()
    assert re.search(
        rf"step {2**53 + 1}\b|step {2**53 + 3}\b|step {2**53 + 5}\b", page.locator(".tooltip").inner_text()
    )


def test_a_zoom_of_other_charts_leaves_steps_beyond_what_browsers_count_whole(visit, world):
    page = visit(f"/w/odd/compare?runs={world.number('far')}&tags=far&zoom=0~100")
    page.locator(
        "section[data-tag='far'] footer", has_text=f"1 curve · 3 points · steps counted from {2**53 + 1}"
    ).wait_for()


def test_a_server_that_goes_away_and_comes_back_is_told(visit, world):
    page = visit("/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.context.set_offline(True)
    page.get_by_role("columnheader", name="status").get_by_role("button").first.click()
    page.get_by_text("The server does not answer").first.wait_for()
    page.locator("a.name").first.wait_for()
    page.context.set_offline(False)
    page.get_by_text("The server does not answer").wait_for(state="detached")
    page.locator("a.name").first.wait_for()


def test_a_login_that_ended_leads_to_the_login_and_back(visit, world):
    page = visit("/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.context.clear_cookies()
    page.get_by_role("link", name="Boards").click()
    link = page.get_by_role("link", name="Log in")
    link.wait_for()
    expect(link).to_have_attribute("href", "/login?next=%2Fw%2Flab%2Fboards")


def test_addresses_that_lead_nowhere_say_so(visit):
    page = visit("/w/lab/nonsense")
    page.get_by_text("There is nothing at this address").wait_for()
    page.get_by_role("link", name="All runs").click()
    page.locator("a.name").first.wait_for()
    page.goto(page.url.partition("/w/")[0] + "/w/lab/runs/999999")
    page.get_by_role("alert").filter(has_text="999999").wait_for()


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_script_of_others(visit, world):
    asked: list[str] = []
    page = visit("/w/lab/runs")
    page.on("request", lambda request: asked.append(request.url))
    answer: Any = page.goto(f"{world.url}/w/lab/compare?first=1")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    page.locator("canvas").first.wait_for()
    assert asked
    assert all(one.startswith((world.url, "blob:", "data:")) for one in asked)
    assets = [one for one in asked if "/_page/" in one]
    told = page.request.get(assets[0], headers={"Accept-Encoding": "br"})
    assert "immutable" in told.headers["cache-control"]
    assert told.headers["content-encoding"] == "br"
