# SPDX-License-Identifier: Apache-2.0
"""The page of `aboard view` over a folder of event files, as somebody uses it who has nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from aboard import SummaryWriter
from aboard.server.page_files import FOLDER
from support.browsing import MILLISECONDS
from support.processes import needs
from support.viewing import viewing

RATES = (0.1, 0.01, 0.001)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    needs("" if (FOLDER / "index.html").exists() else "the page was not built: run make page")
    for number, rate in enumerate(RATES):
        with SummaryWriter(str(tmp_path / "logs" / f"lr-{rate}")) as writer:
            writer.add_hparams({"lr": rate}, {}, in_place=True)
            for step in range(100):
                writer.add_scalar("train/loss", 1 + rate - step / 100, step, walltime=1e9 + 1000 * number + step)
    return tmp_path / "logs"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page, failures = context.new_page(), list[str]()
    page.set_default_timeout(MILLISECONDS)
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    context.close()
    assert not failures


def test_from_a_folder_to_the_best_run_its_differences_and_a_tag_that_stays(page: Any, logs: Path):
    before = sorted(logs.rglob("*"))
    with viewing(logs) as view:
        page.goto(view.page_url)
        page.locator("section[data-tag='train/loss'] canvas").first.wait_for()
        page.get_by_text("3 of 3 runs plotted").wait_for()

        page.get_by_role("link", name="Runs", exact=True).click()
        page.get_by_role("button", name="train/loss min").first.click()
        expect(page.locator("a.name").first).to_have_text("lr-0.001")
        page.get_by_label("Select lr-0.001").click()
        page.get_by_label("Select lr-0.1").click()
        page.get_by_role("group", name="Selected runs").get_by_role("link", name="Compare").click()
        page.get_by_text("2 of 2 runs plotted").wait_for()
        page.get_by_role("tab", name="Differences").click()
        page.get_by_role("cell", name="0.001", exact=True).wait_for()

        page.get_by_role("link", name="lr-0.001").first.click()
        page.get_by_role("button", name="Tag").click()
        page.keyboard.type("best")
        page.keyboard.press("Enter")
        page.locator(".tag", has_text="best").wait_for()
        page.get_by_role("button", name="Color").click()
        page.get_by_role("menuitem", name="wine").click()
        page.get_by_text("Saved").first.wait_for()

        page.get_by_role("link", name="TensorBoard").click()
        page.frame_locator("iframe[title=TensorBoard]").get_by_text("train/loss").first.wait_for()
    with viewing(logs) as view:
        page.goto(f"{view.page_url}w/logs/runs")
        row = page.get_by_role("row").filter(has_text="lr-0.001")
        row.locator(".tag", has_text="best").wait_for()
        expect(row.locator(".dot")).to_have_css("background-color", "rgb(136, 34, 85)")
    assert sorted(logs.rglob("*")) == before
