# SPDX-License-Identifier: Apache-2.0
"""Media at a step: which step is really shown, and answers that come too late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from aboard import SummaryWriter
from support.logged_runs import logged_run, tb_folder
from support.page_world import World, media_runs, page_world
from support.processes import until

# Whoever asked for the same before has it when this is done.
READ = """async (address) => {
    await (await fetch(address)).json();
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
}"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        media_runs(made)
        uid = made.uids["many"] = logged_run(made.store, name="many", workspace="media", curves={"loss": [1.0]})
        with SummaryWriter(str(tb_folder(made.store, uid))) as writer:
            for step in range(130):
                writer.add_histogram("steps", np.linspace(-1, 1 + step, 20), step)
        until(lambda: made.client.runs.count() == 3)
        yield made


def media(world: World, *names: str, more: str) -> str:
    return f"/w/media/compare?runs={','.join(str(world.number(name)) for name in names)}&tab=media&{more}"


def row(page: Any, tag: str) -> Any:
    return page.get_by_role("region", name=tag, exact=True)


def test_a_histogram_says_of_which_step_it_is(visit, world):
    page = visit(media(world, "many", more="step=1"))
    # Of so many steps 60 are sent, and the second is not among them.
    row(page, "steps").get_by_role("img", name="Histogram at step 0,").wait_for()
    row(page, "steps").get_by_text("step 0", exact=True).wait_for()
    expect(page.get_by_role("slider", name="Step")).to_have_attribute("aria-valuetext", "1")


def test_the_slider_stands_at_the_step_that_is_shown(visit, world):
    page = visit(media(world, "dim", more="media=picture&step=7"))
    row(page, "picture").get_by_text("step 5", exact=True).wait_for()
    expect(page.get_by_role("slider", name="Step")).to_have_attribute("aria-valuetext", "5")
    page.keyboard.press("ArrowRight")
    row(page, "picture").get_by_text("step 10", exact=True).wait_for()


def test_who_types_keeps_the_focus(visit, world):
    page = visit(media(world, "dim", more="media=picture"))
    row(page, "picture").get_by_role("figure").wait_for()
    page.get_by_label("Find tags").focus()
    page.keyboard.press("End")
    page.keyboard.type("|words")
    page.wait_for_url("**media=picture%7Cwords**")


class Held:
    """Requests for an address, which are answered when the test says so; later ones at once."""

    def __init__(self, page: Any, address: str) -> None:
        self._page, self._held, self._is_over = page, [], False
        page.route(address, self._hold)

    def _hold(self, route: Any) -> None:
        if self._is_over:
            route.continue_()
        else:
            self._held.append(route)

    def wait(self) -> str:
        """Until the page has asked; the address."""

        def asked() -> list[str]:
            self._page.evaluate("1")  # the browser is heard only while it is asked
            return [route.request.url for route in self._held if route.request.method == "GET"]

        until(lambda: bool(asked()))
        return asked()[0]

    def release(self) -> None:
        """Until all have been answered."""
        self._is_over = True
        for route in self._held:
            with self._page.expect_event("requestfinished", lambda one, route=route: one == route.request):
                route.continue_()


def test_an_answer_about_other_runs_that_comes_late_changes_nothing(visit, world):
    page = visit("/w/media/runs")
    held = Held(page, f"**/{world.uids['bright']}/media?*")
    page.goto(world.url + media(world, "dim", "bright", more="media=picture"))
    address = held.wait()
    page.get_by_role("button", name="Plot bright").click()
    figures = row(page, "picture").get_by_role("figure")
    figures.first.wait_for()
    held.release()
    page.evaluate(READ, address)
    expect(figures).to_have_count(1)
