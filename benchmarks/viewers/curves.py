# SPDX-License-Identifier: Apache-2.0
"""One series of ten million points, reduced for a screen and zoomed into."""

from __future__ import annotations

from statistics import median

from metrics import ITSELF, Metric, Results, Target
from viewers import browser
from viewers.programs import ABOARD, FAST, PROGRAMS, Server
from viewers.settings import Settings, Table, run_worker, say
from viewers.worksets import warm

_PIXELS = 1000
_REPEATED = 10

METRICS = (
    Metric("reduced_ms", "whole curve for 1,000 pixels (up to 5,000 points)", "ms", Target(10, ITSELF)),
    Metric("first_ms", "the same, the first time in a process", "ms", Target(10, ITSELF)),
    Metric("reduced_few_ms", "whole curve, 1,000 points", "ms"),
    Metric("json_ms", "whole curve for 1,000 pixels, as JSON", "ms"),
    Metric("hundredth_ms", "a window of 1 % for 1,000 pixels", "ms", Target(5, ITSELF)),
    Metric("tenth_ms", "a window of 10 % for 1,000 pixels", "ms", Target(5, ITSELF)),
    Metric("points_ms", "the columns alone", "ms"),
    Metric("route_ms", "`timeSeries` over HTTP, as each sends it", "ms"),
)


def measure(settings: Settings) -> list[Table]:
    work = settings.sets.d
    folder = work.below(settings.folder)
    warm(folder)
    results: Results = {ABOARD: [], FAST: []}
    for _ in settings.turns("curves", [ABOARD], min(settings.rounds, 3)):
        result = run_worker("curves", root=str(folder), pixels=_PIXELS, repetitions=_REPEATED)
        if result["points"] != work.total:
            raise SystemExit(f"aboard holds {result['points']:,.0f} points of {work}")
        results[ABOARD].append(result)
    for program in results:
        say(f"curves: {program} reads")
        with Server(PROGRAMS[program], folder) as server:
            server.wait_until_loaded()
            server.child.settle()  # aboard keeps an index of it, 240 MB
            requests = [browser.curve(work.tag_names[0], asking) for asking in range(_REPEATED)]
            milliseconds = median(map(server.browser.timed, requests)) * 1e3
        for result in results[program] or [{}]:
            result["route_ms"] = milliseconds
            if result not in results[program]:
                results[program].append(result)
    say("")
    note = "In the process, the reader alone. Over HTTP aboard sends 10,000 points, stock TensorBoard 1,000."
    return [Table("curves", f"One long curve, {work}", METRICS, results, (note,))]
