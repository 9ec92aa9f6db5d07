# SPDX-License-Identifier: Apache-2.0
"""The page in headless Chromium beside stock TensorBoard's Time Series: the same event files and machine, one run.

Both servers have read everything before; every visit begins with an empty cache of the browser. Times are from the
navigation to the first frame in which a chart is there, by the clock of the page itself. A line of script that is there
before the page looks at every frame and tells: nothing else is put into the page while it is loaded.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from aboard import SummaryWriter
from aboard.catalog.catalog import Catalog
from aboard.store import Store, open_store
from catalog import fill
from support.browsing import WHOLE, chromium
from support.logged_runs import tb_folder
from support.stored_runs import store_run
from support.tensorboard_process import stock_tensorboard
from support.viewing import ABOARD, viewing

FIRST = "performance.getEntriesByName('aboard:chart:1').length"
STOCK = "document.querySelector(\"line-chart path[d^='M']\")"
_ROWS = "document.querySelector('[role=row] a.name')"
_DRAWN = "drawn after"
_REPORT = f"(function look() {{ %s ? console.debug('{_DRAWN}', performance.now()) : requestAnimationFrame(look) }})()"
_SETTLED = 500  # milliseconds
_FRAMES = """async (act) => {
  const gaps = []; let last = performance.now(); const end = last + 2000; let turn = 0;
  while (last < end) {
    ({scroll: scrollTable, hover: moveOver, zoom: zoomIn})[act](turn); turn += 1;
    await new Promise(requestAnimationFrame);
    const now = performance.now(); gaps.push(now - last); last = now;
  }
  gaps.sort((a, b) => a - b);
  return [1000 * gaps.length / gaps.reduce((a, b) => a + b), gaps[Math.floor(gaps.length * 0.95)]];
  function scrollTable(turn) {
    const table = document.querySelector('[role=table]');
    table.scrollTop = turn * 90 % table.scrollHeight;
  }
  function zoomIn(turn) {
    const deltaY = turn % 40 < 20 ? -1 : 1;
    document.querySelector('.chart').dispatchEvent(new WheelEvent('wheel', {bubbles: true, ctrlKey: true, deltaY}));
  }
  function moveOver(turn) {
    const over = document.querySelector('.plot'), box = over.getBoundingClientRect();
    const [clientX, clientY] = [box.left + (turn * 7) % box.width, box.top + box.height / 2 + 40 * Math.sin(turn)];
    over.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX, clientY}));
  }
}"""


def write_runs(store: Store, workspace: str, runs: int, tags: Sequence[str], points: int) -> None:
    noise = np.random.default_rng(1)
    for number in range(runs):
        uid = store_run(store, name=f"{workspace}-{number}", workspace=workspace)
        with SummaryWriter(str(tb_folder(store, uid))) as writer:
            for tag in tags:
                values = np.cumsum(noise.normal(size=points)) + number
                for step, value in enumerate(values.tolist()):
                    writer.add_scalar(tag, value, step)


@contextmanager
def aboard_server(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    command = [*ABOARD, "server", "--json", "--port", "0", *options]
    settled = {"ABOARD_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=settled)
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(20)


class Visits:
    """Visits of pages, each in a browser that knows nothing of the others."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @contextmanager
    def page(self, token: str = "") -> Iterator[Any]:
        context = self._browser.new_context(
            viewport={"width": 1400, "height": 900},
            extra_http_headers={"Authorization": f"Bearer {token}"} if token else {},
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.wait_for_timeout(_SETTLED)  # the tab itself is there before somebody goes anywhere
        yield page
        context.close()

    def until(self, address: str, drawn: str, token: str = "") -> float:
        """Milliseconds from the navigation until something is drawn."""
        with self.page(token) as page:
            return drawn_after(page, address, drawn)


def drawn_after(page: Any, address: str, drawn: str) -> float:
    """Milliseconds from the navigation of a new tab until something is drawn."""
    page.add_init_script(_REPORT % drawn)
    with page.expect_console_message(lambda said: said.text.startswith(_DRAWN)) as message:
        page.goto(address, wait_until="commit")
    return float(message.value.text.removeprefix(_DRAWN))


def report(title: str, values: Sequence[float], unit: str = "ms") -> float:
    middle = statistics.median(values)
    print(f"| {title} | {middle:.0f} {unit} | {min(values):.0f}–{max(values):.0f} |", flush=True)
    return middle


def smooth(title: str, rate: float, slowest: float) -> None:
    print(f"| {title} | {rate:.0f} | 95 % within {slowest:.0f} ms |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--only", choices=("tensorboard", "large", "table"), help="one part of it")
    parser.add_argument("--runs", type=int, default=100_000, help="of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, chromium(WHOLE) as browser:
        folder, visits = Path(place), Visits(browser)
        print("| | median | range |\n| --- | ---: | ---: |")
        parts = {
            "tensorboard": lambda: _beside_tensorboard(folder, visits, options.rounds, options.points),
            "large": lambda: _large(folder, visits, options.rounds),
            "table": lambda: _table(folder, visits, options.rounds, options.runs),
        }
        for name, measure in parts.items():
            if options.only in (None, name):
                measure()


def _beside_tensorboard(folder: Path, visits: Visits, rounds: int, points: int) -> None:
    store = open_store(str(folder / "three"), create=True)
    write_runs(store, "three", 3, [f"tag{number}" for number in range(10)], points)
    with (
        stock_tensorboard(Path(store.uri), folder / "tensorboard.log", load_fast=True) as stock,
        aboard_server(folder, "--store", store.uri) as server,
        viewing(store.uri, interpreter=True) as view,
    ):
        stock.wait_for(lambda one: len(json.loads(one.fetch("/data/runs").body)) == 3, "the runs of TensorBoard")
        theirs = f"http://127.0.0.1:{stock.port}/?forceSVG=true#timeseries"
        ours = f"{server['url']}/w/three/compare"
        view.wait_until_read()
        measured = _in_turns(
            rounds,
            lambda: visits.until(theirs, STOCK),
            lambda: visits.until(ours, FIRST, server["token"]),
            lambda: visits.until(f"{view.url}?forceSVG=true#timeseries", STOCK),
        )
    title = f"3 runs × 10 tags × {points:,} points, first chart drawn"
    slow, quick = report(f"{title}: stock TensorBoard", measured[0]), report(f"{title}: aboard", measured[1])
    print(f"| stock ÷ aboard (target 5) | {slow / quick:.1f} × | |")
    same = report(f"{title}: TensorBoard's page by aboard view", measured[2])
    print(f"| stock ÷ TensorBoard's page by aboard view (target 1) | {slow / same:.2f} × | |")


def _in_turns(rounds: int, *asked: Callable[[], float]) -> list[list[float]]:
    for one in asked:
        one()  # what is read or made with the first visit is there for all that are counted
    return [list(values) for values in zip(*([one() for one in asked] for _ in range(rounds)), strict=True)]


def _large(folder: Path, visits: Visits, rounds: int) -> None:
    store = open_store(str(folder / "large"), create=True)
    write_runs(store, "hundred", 100, ["loss"], 1000)
    write_runs(store, "tags", 2, [f"group{number % 40}/tag{number}" for number in range(1000)], 20)
    write_runs(store, "many", 2, [f"group{number % 40}/tag{number}" for number in range(20_000)], 2)
    with aboard_server(folder, "--store", store.uri) as server:
        url, token = server["url"], server["token"]
        (hundred,) = _in_turns(rounds, lambda: visits.until(f"{url}/w/hundred/compare?first=100", FIRST, token))
        report("100 runs in one chart, first drawn (target 500)", hundred)
        with visits.page(token) as page:
            page.goto(f"{url}/w/hundred/compare?first=100")
            page.wait_for_function(f"() => {FIRST}")  # a text alone would be evaluated, which the page forbids
            for act, doing in (("hover", "hovering"), ("zoom", "zooming")):
                rate, slowest = page.evaluate(_FRAMES, act)
                smooth(f"100 runs in one chart, frames a second while {doing} (target 30)", rate, slowest)
        (tags,) = _in_turns(rounds, lambda: visits.until(f"{url}/w/tags/compare", FIRST, token))
        report("2 runs with 1,000 tags, first chart drawn", tags)
        (many,) = _in_turns(rounds, lambda: visits.until(f"{url}/w/many/compare", FIRST, token))
        report("2 runs with 20,000 tags, first chart drawn", many)


def _table(folder: Path, visits: Visits, rounds: int, runs: int) -> None:
    place = folder / "catalog.sqlite"
    with Catalog.open(place) as catalog:
        fill(catalog, runs)
    with aboard_server(folder, "--catalog", str(place), "--store", str(folder / "empty")) as server:
        address = f"{server['url']}/w/*/runs"
        report(f"table of {runs:,} runs, first rows", [visits.until(address, _ROWS, server["token"]) for _ in range(3)])
        looks: list[tuple[float, float]] = []
        for _ in range(rounds):
            with visits.page(server["token"]) as page:
                page.goto(address)
                page.wait_for_selector("[role=row] a.name")
                looks.append(tuple(page.evaluate(_FRAMES, "scroll")))
        rate, slowest = (statistics.median(values) for values in zip(*looks, strict=True))
        smooth("the same, frames a second while scrolling (target 60)", rate, slowest)


if __name__ == "__main__":
    main()
