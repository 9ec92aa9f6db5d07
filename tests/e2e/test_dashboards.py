# SPDX-License-Identifier: Apache-2.0
"""A real browser shows data on each of TensorBoard's thirteen dashboards, below a path prefix.

Pictures of what was seen are left in the test's temporary folder, or in `$ABOARD_SCREENSHOTS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from aboard.board.hosting import Board, BoardDispatcher
from aboard.board.provider import About
from aboard.reader.run_collection import RunCollection
from support.browsing import chromium

PREFIX = "/boards/demo-1"
MILLISECONDS = 60_000
PICTURE_IS_DRAWN = "picture => picture.naturalWidth > 1"
# Per dashboard: what must be in the page, and text that only data can have brought there.
DASHBOARDS = {
    "timeseries": ("line-chart path[d^='M']", "accuracy"),
    "scalars": ("vz-line-chart2 svg text", "accuracy"),
    "custom_scalars": ("tf-custom-scalar-multi-line-chart-card svg text", "Matches (24)"),
    "images": ("tf-image-loader img", "decision"),
    "audio": ("tf-audio-loader audio[src]", "tone"),
    "graphs": ("tf-graph-scene g.node", "hidden"),
    "distributions": ("vz-distribution-chart path", "weights/hidden"),
    "histograms": ("vz-histogram-timeseries path", "weights/hidden"),
    "text": ("tf-text-loader", "tanh units"),
    "pr_curves": ("tf-pr-curve-card vz-line-chart2 svg text", "precision_recall"),
    "hparams": ("tf-hparams-main vaadin-grid", "0.98750"),
    "mesh": ("tf-mesh-loader canvas", "surface"),
    "projector": ("iframe", "Points: 200"),
}


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-c", "from aboard.cli import main; main()", "demo", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def address(logs) -> Iterator[str]:
    collection = RunCollection({"": logs})
    collection.refresh()
    board = Board("demo-1", collection, about=About(name="The demo"))
    with make_server("127.0.0.1", 0, BoardDispatcher({"demo-1": board}.get), Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PREFIX}/"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory) -> Path:
    folder = Path(os.environ.get("ABOARD_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.timeout(180)
@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_data_is_visible(browser, address, screenshots, dashboard):
    element, text = DASHBOARDS[dashboard]
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.on("pageerror", lambda error: failed.append(f"script: {error}"))
    try:
        page.goto(f"{address}?forceSVG=true#{dashboard}")
        if dashboard == "projector":
            _see_projector(page, text)
        else:
            page.wait_for_selector(element, state="attached", timeout=MILLISECONDS)
            page.get_by_text(text).first.wait_for(state="attached", timeout=MILLISECONDS)
        if dashboard == "images":
            page.wait_for_function(PICTURE_IS_DRAWN, arg=page.query_selector(element), timeout=MILLISECONDS)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1000)  # animations
    finally:
        page.screenshot(path=str(screenshots / f"{dashboard}.png"))
        fonts = page.evaluate("[...document.fonts].filter(f => f.status == 'loaded').map(f => f.family)")
        page.close()
    assert any("Roboto" in font for font in fonts), "the page fell back to another font"
    wrong = [failure for failure in failed if "notifications_note.json" not in failure and "favicon" not in failure]
    assert not wrong


def _see_projector(page: Any, text: str) -> None:
    page.wait_for_selector("iframe", state="attached", timeout=MILLISECONDS)
    outer = page.frame_locator("iframe")
    inner = outer.frame_locator("iframe")
    inner.locator("canvas").first.wait_for(state="attached", timeout=MILLISECONDS)
    inner.get_by_text(text).first.wait_for(state="attached", timeout=MILLISECONDS)
