# SPDX-License-Identifier: Apache-2.0
"""Places of the page on a phone: nothing has to be scrolled sideways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aboard.model.run_states import RunState
from support.page_world import World, media_runs, page_world, sweep
from support.processes import until
from support.run_texts import put_texts

WIDTH = 390
LINE = "a very long line " * 40 + "\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with page_world(tmp_path_factory.mktemp("page")) as made:
        sweep(made, count=3, points=20)
        media_runs(made)
        put_texts(made.store, made.uids["sweep-0"], {"log/1.log": LINE}, status=RunState.COMPLETED)
        until(lambda: made.client.runs.count() == 5)
        yield made


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/w/lab/runs/{sweep-0}", "train/loss"),
        ("/w/lab/runs/{sweep-0}?tab=console", "a very long line"),
        ("/w/lab/compare?tab=differences", "optimizer"),
        ("/w/media/compare?tab=media", "weights"),
        ("/w/lab/compare?tab=parameters", "3 runs; drag along an axis"),
    ],
)
def test_a_phone_shows_it_without_scrolling_sideways(visit: Any, world: World, path: str, seen: str):
    page = visit(
        path.replace("{sweep-0}", str(world.number("sweep-0"))),
        viewport={"width": WIDTH, "height": 800},
        is_mobile=True,
        has_touch=True,
        has_shared_workers=False,
    )
    page.get_by_text(seen).first.wait_for()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
