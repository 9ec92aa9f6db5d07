# SPDX-License-Identifier: Apache-2.0
"""Every place of the page, light and dark, through axe-core: names of controls, contrast, structure (WCAG 2.2 AA)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.page_world import World, media_runs, page_world, sweep, trained_run
from support.processes import needs, until

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PLACES = {
    "runs": "/w/lab/runs",
    "no runs": "/w/lab/runs?where=hparams.lr > 99",
    "charts": "/w/lab/compare?first=3",
    "differences": "/w/lab/compare?first=3&tab=differences",
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
    needs("" if AXE.exists() else "axe-core is not installed: run scripts/run-in-web test")
    folder = tmp_path_factory.mktemp("page")
    with page_world(folder) as made:
        sweep(made, count=4, points=50)
        media_runs(made)
        trained_run(made, folder / "code")
        until(lambda: made.client.runs.count() == 7, 30)
        until(lambda: made.client.runs.get("trained").ended is not None, 30)
        made.client.boards.create([f"run{made.number('sweep-0')}"])
        made.client.saved_views.add("lab", "a view", "runs")
        yield made


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_place_is_fit_for_all(visit: Any, world: World, theme: str):
    page = visit("/w/lab/runs", color_scheme=theme)
    found = [line for place, path in PLACES.items() for line in _looked_at(page, world, place, path)]
    assert found == []


def _looked_at(page: Any, world: World, place: str, path: str) -> list[str]:
    page.goto(world.url + path.format(trained=world.number("trained")))
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text("utf-8"))
    result = page.evaluate("rules => axe.run({ runOnly: rules })", RULES)
    return [
        f"{place}: {wrong['id']}: {wrong['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for wrong in result["violations"]
        for node in wrong["nodes"][:3]
    ]
