# SPDX-License-Identifier: Apache-2.0
"""A live run among many finished ones: how old a point is when a request first sees it, and what looking costs."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from metrics import ITSELF, Metric, Results, Target
from viewers import browser
from viewers.browser import NotYet
from viewers.children import Child
from viewers.programs import ABOARD, FAST, PROGRAMS, Server
from viewers.settings import Settings, Table, say
from viewers.worksets import link_runs

_PER_SECOND = 100
_ASK_EVERY = 0.02
_TAG = "live/loss"

METRICS = (
    Metric("median_ms", "from written to seen over HTTP, median", "ms"),
    Metric("p99_ms", "from written to seen over HTTP, p99", "ms", Target(1000, ITSELF)),
    Metric("max_ms", "from written to seen over HTTP, longest", "ms"),
    Metric("following_cpu", "CPU while following, requests included", "% of a core"),
    Metric("idle_cpu", "CPU while nothing is written or asked", "% of a core"),
)


def measure(settings: Settings) -> list[Table]:
    work, seconds = settings.sets.c, 8.0 if settings.quick else 15.0
    source = work.below(settings.folder)
    results: Results = {ABOARD: [], FAST: []}
    with TemporaryDirectory(prefix="bench-live-", dir=settings.folder) as name:
        folder = Path(name)
        link_runs(source, folder, work.run_names)
        for program in results:
            say(f"following: {program}")
            results[program].append(_followed(program, folder, seconds))
    say("")
    note = f"One run at {_PER_SECOND} points a second among the {work.runs:,} runs of C, for {seconds:g} s; "
    note += f"asked every {_ASK_EVERY * 1e3:g} ms. {FAST} looks every 5 s unless told."
    return [Table("following", "Following", METRICS, results, (note,))]


def _followed(program: str, folder: Path, seconds: float) -> dict[str, float]:
    with Server(PROGRAMS[program], folder) as server:
        server.wait_until_loaded()
        server.child.settle()
        idle = _cpu_share(server, seconds)
        live = folder / "live"
        try:
            live.mkdir()
            command = [sys.executable, "-m", "viewers.live_writer", live, _TAG, str(_PER_SECOND)]
            with Child(command) as writer:
                _wait_for_run(server)
                before, start = server.child.cpu_seconds(), time.monotonic()
                ages = _ages(server, writer, seconds)
                share = (server.child.cpu_seconds() - before) / (time.monotonic() - start) * 100
        finally:
            shutil.rmtree(live, ignore_errors=True)
    ages.sort()
    return {
        "median_ms": ages[len(ages) // 2] * 1e3,
        "p99_ms": ages[int(len(ages) * 0.99)] * 1e3,
        "max_ms": ages[-1] * 1e3,
        "following_cpu": share,
        "idle_cpu": idle,
    }


def _cpu_share(server: Server, seconds: float) -> float:
    before = server.child.cpu_seconds()
    time.sleep(seconds)
    return (server.child.cpu_seconds() - before) / seconds * 100


def _wait_for_run(server: Server) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            server.browser.send(browser.series("live", _TAG))
        except NotYet:
            time.sleep(_ASK_EVERY)
        else:
            return
    raise SystemExit("the live run was not seen within 60 s")


def _ages(server: Server, writer: Child, seconds: float) -> list[float]:
    """Of each point, how long ago it was written when it was first in an answer."""
    ages: list[float] = []
    newest = json.loads(server.browser.send(browser.series("live", _TAG)).body)[-1][1]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        writer.must_live()
        time.sleep(_ASK_EVERY)
        points = json.loads(server.browser.send(browser.series("live", _TAG)).body)
        now = time.time()
        ages += [now - wall_time for wall_time, step, _ in points if step > newest]
        newest = points[-1][1]
    if not ages:
        raise SystemExit(f"no new point was seen within {seconds:g} s")
    return ages
