# SPDX-License-Identifier: Apache-2.0
"""From the command to what a person sees: the first charts in Chromium, and the complete table of very many runs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from metrics import ITSELF, Metric, Results, Target
from page import FIRST, STOCK, Visits, drawn_after
from support.browsing import WHOLE, chromium
from viewers.programs import ABOARD, FAST, PROGRAMS, Server
from viewers.settings import Settings, Table
from viewers.worksets import ScalarSet, warm

_CHARTS = (
    Metric("charts_ms", "from the command to the first chart", "ms", Target(8, FAST)),
    Metric("ready_ms", "from the command until the page can be opened", "ms"),
    Metric("drawn_ms", "from opening the page to the first chart", "ms"),
    Metric("again_charts_ms", "second opening: from the command to the first chart", "ms", Target(8, FAST)),
)
_TABLE = (
    Metric("complete_ms", "from the command to the complete table", "ms", Target(8, FAST)),
    Metric("again_complete_ms", "second opening: to the complete table", "ms", Target(1000, ITSELF)),
    Metric("pss_mib", "memory then, PSS of all processes", "MiB", Target(1, FAST)),
    Metric("filter_ms", "a filter, first page", "ms", Target(100, ITSELF), has_ratios=False),
    Metric("sort_ms", "another order, first page", "ms", Target(100, ITSELF), has_ratios=False),
)
_STOCK_PAGE = "?forceSVG=true#timeseries"


def measure_charts(settings: Settings) -> list[Table]:
    with chromium(WHOLE) as browser:
        return [_charts(settings, work, Visits(browser)) for work in (settings.sets.a, settings.sets.b)]


def _charts(settings: Settings, work: ScalarSet, visits: Visits) -> Table:
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {ABOARD: [], FAST: []}
    with TemporaryDirectory(prefix="bench-home-") as home:
        _first_chart(ABOARD, folder, visits, home)  # keeps the index of the second opening
        for _, program in settings.turns(f"charts of {work.name}", list(results)):
            first = _first_chart(program, folder, visits)
            again = _first_chart(program, folder, visits, home) if program == ABOARD else first
            results[program].append({**first, "again_charts_ms": again["charts_ms"]})
    note = (
        f"{work}, an open tab of Chromium that loads the page as soon as there is something to see: of stock when "
        "everything was read (its page does not reload by itself), of aboard when the address answers."
    )
    return Table(f"charts-{work.name}", f"From the command to the first chart, {work.name}", _CHARTS, results, (note,))


def _first_chart(program: str, folder: Path, visits: Visits, home: str | None = None) -> dict[str, float]:
    with visits.page() as page, Server(PROGRAMS[program], folder, home=home) as server:
        if program == ABOARD:
            server.first_answer("healthz")
        else:
            server.wait_until_loaded()
        ready = (time.monotonic() - server.child.started) * 1e3
        address = f"http://127.0.0.1:{server.port}/{'' if program == ABOARD else _STOCK_PAGE}"
        drawn = drawn_after(page, address, FIRST if program == ABOARD else STOCK)
        if program == ABOARD:
            server.wait_until_loaded()  # for the index that the next opening finds
            server.child.interrupt()
    return {"charts_ms": ready + drawn, "ready_ms": ready, "drawn_ms": drawn}


def measure_table(settings: Settings) -> list[Table]:
    work = ScalarSet("wide", 500 if settings.quick else 5000, 20, 60)
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {ABOARD: [], FAST: []}
    with TemporaryDirectory(prefix="bench-home-") as home:
        _table_of(ABOARD, work, folder, home)
        for _, program in settings.turns("table", list(results)):
            first = _table_of(program, work, folder)
            again = _table_of(program, work, folder, home) if program == ABOARD else first
            results[program].append({**first, "again_complete_ms": again["complete_ms"]})
    note = f"{work}. Stock has no table: its time is until it has read everything and lists the runs."
    return [Table("table", "From the command to the complete table", _TABLE, results, (note,))]


def _table_of(program: str, work: ScalarSet, folder: Path, home: str | None = None) -> dict[str, float]:
    with Server(PROGRAMS[program], folder, home=home) as server:
        server.wait_until_loaded()
        if program != ABOARD:
            server.first_answer("data/runs")
            complete = (time.monotonic() - server.child.started) * 1e3
            return {"complete_ms": complete, "pss_mib": server.child.memory().pss}
        first, second = work.tag_names[:2]
        whole = _runs_where(f"metrics.{first}.count == {work.points}").replace("runs?", "run-count?")
        while _get(server, whole)["count"] < work.runs:
            time.sleep(0.01)
        _get(server, "runs?limit=100")
        complete = (time.monotonic() - server.child.started) * 1e3
        found = {"complete_ms": complete, "pss_mib": server.child.memory().pss}
        filters = [_runs_where(f"metrics.{second}.last < 0.{digit}") for digit in range(1, 8)]
        orders = [f"runs?limit=100&sort={quote(f'metrics.{tag}.min')}" for tag in work.tag_names[2:9]]
        found["filter_ms"] = median(_milliseconds(server, path) for path in filters)
        found["sort_ms"] = median(_milliseconds(server, path) for path in orders)
        server.child.interrupt()
    return found


def _runs_where(query: str) -> str:
    return f"runs?limit=100&where={quote(query)}"


def _get(server: Server, path: str) -> Any:
    return json.loads(server.browser.get(f"api/v1/{path}").body)


def _milliseconds(server: Server, path: str) -> float:
    began = time.perf_counter()
    _get(server, path)
    return (time.perf_counter() - began) * 1e3
