# SPDX-License-Identifier: Apache-2.0
"""Every place of the page, light and dark, through axe-core: names of controls, contrast, structure (WCAG 2.2 AA)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.accessibility import violations
from support.logged_runs import log_more, logged_run
from support.page_world import World, media_runs, page_world, sweep, trained_run
from support.processes import until

PLACES = {
    "runs": "/w/lab/runs",
    "no runs": "/w/lab/runs?where=hparams.lr > 99",
    "charts": "/w/lab/compare?first=3",
    "differences": "/w/lab/compare?first=3&tab=differences",
    "differences without hyperparameters": "/w/media/compare?tab=differences&all=1",
    "media": "/w/media/compare?tab=media",
    "parameters": "/w/lab/compare?first=3&tab=parameters",
    "a run": "/w/lab/runs/{trained}",
    "console": "/w/lab/runs/{trained}?tab=console",
    "files": "/w/lab/runs/{trained}?tab=files",
    "code": "/w/lab/runs/{trained}?tab=code",
    "boards": "/w/lab/boards",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("page")
    with page_world(folder) as made:
        sweep(made, count=4, points=50)
        media_runs(made)
        trained_run(made, folder / "code")
        uid = made.uids["measured"] = logged_run(made.store, name="measured", workspace="machine", curves={})
        log_more(made.store, uid, curves={"cpu/percent": [10.0, 50.0]}, logdir="system")
        until(lambda: made.client.runs.count() == 8, 30)
        until(lambda: made.client.runs.get("trained").ended is not None, 30)
        made.client.boards.create([f"run{made.number('sweep-0')}"])
        made.client.saved_views.add("lab", "a view", "runs")
        yield made


@pytest.mark.parametrize("place", PLACES)
def test_every_place_is_fit_for_all(visit: Any, world: World, place: str):
    page = visit(PLACES[place].format(trained=world.number("trained")), has_shared_workers=False)
    page.wait_for_load_state("networkidle")
    assert violations(page, place) == []


def test_a_dialog_a_panel_and_the_machine_are_fit_for_all(visit: Any, world: World):
    page = visit(f"/w/lab/runs/{world.number('sweep-0')}")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("dialog").get_by_label("New name").wait_for()
    found = violations(page, "rename")
    page.goto(f"{world.url}/w/lab/runs")
    page.locator("a.name").first.wait_for()
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Find a column").wait_for()
    found += violations(page, "columns")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("f")
    page.get_by_role("menu").wait_for()
    found += violations(page, "values of a run")
    page.goto(f"{world.url}/w/machine/runs/{world.number('measured')}?tab=system")
    page.locator("section[data-tag='cpu/percent'] canvas").first.wait_for()
    assert found + violations(page, "system") == []


def test_the_frame_around_a_board_is_fit_for_all(visit: Any, world: World):
    (board,) = world.client.boards.iterate()
    page = visit(f"/w/lab/boards/{board.id}")
    page.frame_locator("iframe").get_by_text("TensorBoard").first.wait_for(timeout=60_000)
    # TensorBoard's own page is not ours.
    assert violations(page, "a board", exclude=["iframe"]) == []
