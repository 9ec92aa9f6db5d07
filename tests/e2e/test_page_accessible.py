# SPDX-License-Identifier: Apache-2.0
"""Every place of the page, light and dark, through axe-core: names of controls, contrast, structure (WCAG 2.2 AA)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aboard.model.states import RunState
from aboard.model.times import now
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.run_folder import RunFolder
from support.accessibility import violations
from support.logged_runs import log_more, logged_run
from support.page_world import World, media_runs, page_world, sweep
from support.processes import until
from support.run_texts import put_texts

# Of each place its address, and what is there when it has been read.
PLACES = {
    "runs": ("/w/lab/runs", "a.name"),
    "no runs": ("/w/lab/runs?where=hparams.lr > 99", "text=No run matches this filter"),
    "charts": ("/w/lab/compare?first=3", "section[data-tag] canvas"),
    "differences": ("/w/lab/compare?first=3&tab=differences", "th[scope=row]"),
    "differences without hyperparameters": ("/w/media/compare?tab=differences&all=1", "th[scope=row]"),
    "media": ("/w/media/compare?tab=media", "svg[aria-label^=Histogram] path.current"),
    "parameters": ("/w/lab/compare?first=3&tab=parameters", "svg .line"),
    "a run": ("/w/lab/runs/{trained}", "text=train/loss"),
    "console": ("/w/lab/runs/{trained}?tab=console", "[role=log] .line"),
    "files": ("/w/lab/runs/{trained}?tab=files", "tbody a"),
    "code": ("/w/lab/runs/{trained}?tab=code", ".added"),
    "boards": ("/w/lab/boards", "tbody tr"),
}
TEXTS = {"log/1.log": "loading data\n", "log/1.diff": "diff --git a/train.py b/train.py\n-rate = 1\n+rate = 2\n"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, count=4, points=50)
        media_runs(made)
        uid = made.uids["trained"] = logged_run(
            made.store, name="trained", workspace="lab", metrics={"train/loss": [0.5]}, curves={"loss": [1.0, 0.5]}
        )
        details = {"machine": {"cpu_count": 8}, "python": {"version": "3.11.7", "packages": {"numpy": "1.0"}}}
        claim = AttemptClaim(number=2, token=f"{uid}-2", claimed=now(), host="second-host", details=details)
        RunFolder(made.store, uid).create_attempt(claim)
        put_texts(made.store, uid, TEXTS, status=RunState.COMPLETED)
        uid = made.uids["measured"] = logged_run(made.store, name="measured", workspace="machine", curves={})
        log_more(made.store, uid, curves={"cpu/percent": [10.0, 50.0]}, logdir="system")
        until(lambda: made.client.runs.count() == 8, 30)
        until(lambda: len(made.client.runs.get("trained").attempts) == 2, 30)
        made.client.boards.create([f"run{made.number('sweep-0')}"])
        made.client.saved_views.add("lab", "a view", "runs")
        yield made


@pytest.mark.parametrize("place", PLACES)
def test_every_place_is_fit_for_all(visit: Any, world: World, place: str):
    path, content = PLACES[place]
    page = visit(path.format(trained=world.number("trained")))
    page.locator(content).first.wait_for(state="attached")
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
