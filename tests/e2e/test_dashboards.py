# SPDX-License-Identifier: Apache-2.0
"""A real browser shows data on each of TensorBoard's thirteen dashboards, below a path prefix.

Pictures of what was seen go to `$ABOARD_SCREENSHOTS`.
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

from aboard.board.hosting import BoardApp, BoardDispatcher
from aboard.board.provider import BoardMetadata
from aboard.reader.collection import RunCollection
from support.dashboards import ELEMENTS, MILLISECONDS, inside_projector, wait_until_drawn

SCREENSHOTS = os.environ.get("ABOARD_SCREENSHOTS")
PREFIX = "/boards/demo-1"
PICTURE_IS_DRAWN = "picture => picture.naturalWidth > 1"
ROBOTO_IS_LOADED = "[...document.fonts].some(font => font.status == 'loaded' && font.family.includes('Roboto'))"
# Text that only data can have brought to the page.
TEXTS = {
    "timeseries": "accuracy",
    "scalars": "accuracy",
    "custom_scalars": "Matches (24)",
    "images": "decision",
    "audio": "tone",
    "graphs": "hidden",
    "distributions": "weights/hidden",
    "histograms": "weights/hidden",
    "text": "tanh units",
    "pr_curves": "precision_recall",
    "hparams": "0.98750",
    "mesh": "surface",
    "projector": "Points: 200",
}


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-c", "from aboard.cli import main; main()", "demo", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def address(logs: Path) -> Iterator[str]:
    collection = RunCollection({"": logs})
    collection.refresh()
    board = BoardApp("demo-1", collection, about=BoardMetadata(name="The demo"))
    with make_server("127.0.0.1", 0, BoardDispatcher({"demo-1": board}.get), Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PREFIX}/"
        finally:
            server.shutdown()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("dashboard", TEXTS)
def test_data_is_visible(browser: Any, address: str, dashboard: str):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    page.on("pageerror", lambda error: failed.append(f"script: {error}"))
    page.goto(f"{address}?forceSVG=true#{dashboard}")
    wait_until_drawn(page, dashboard)
    data = inside_projector(page) if dashboard == "projector" else page
    data.get_by_text(TEXTS[dashboard]).first.wait_for(state="attached", timeout=MILLISECONDS)
    if dashboard == "images":
        picture = page.query_selector(ELEMENTS[dashboard])
        page.wait_for_function(PICTURE_IS_DRAWN, arg=picture, timeout=MILLISECONDS)
    page.wait_for_function(ROBOTO_IS_LOADED, timeout=MILLISECONDS)  # else the page fell back to another font
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{dashboard}.png"))
    page.close()
    assert not [one for one in failed if "notifications_note.json" not in one and "favicon" not in one]
