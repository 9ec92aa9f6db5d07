# SPDX-License-Identifier: Apache-2.0
"""Servers that have read a work set: what they take in memory, and how soon they answer the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from statistics import median

from metrics import Metric, Results, Target
from viewers import browser
from viewers.browser import Browser, Request
from viewers.programs import ABOARD, FAST, PROGRAMS, SLOW, Server
from viewers.settings import Settings, Table, say
from viewers.worksets import ScalarSet, warm

_SAME_POINTS = ("--samples", "1000")
_REPEATED = 5  # a fast route, in each round


def _memory(target: Target | None = None) -> tuple[Metric, ...]:
    return (
        Metric("pss_mib", "memory after reading, PSS of all processes", "MiB", target),
        Metric("rss_mib", "memory after reading, RSS of all processes", "MiB", target),
        Metric("peak_mib", "memory, largest RSS up to then", "MiB"),
        Metric("used_mib", "memory after all answers below, PSS", "MiB"),
    )


_NOT_MORE = Target(1, FAST)
_LISTS = (
    Metric("page_ms", "opening the page: script and all that it lists", "ms"),
    Metric("runs_ms", "`data/runs`", "ms"),
    Metric("plugins_ms", "`data/plugins_listing`", "ms"),
    Metric("timeseries_tags_ms", "`timeseries/tags`", "ms"),
    Metric("scalars_tags_ms", "`scalars/tags`", "ms"),
    Metric("groups_ms", "`hparams/session_groups`", "ms"),
)
_ROUTES = {
    "runs_ms": browser.RUNS,
    "plugins_ms": browser.PLUGINS,
    "timeseries_tags_ms": browser.TIME_SERIES_TAGS,
    "scalars_tags_ms": browser.SCALARS_TAGS,
    "groups_ms": browser.SESSION_GROUPS,
}


def measure_a(settings: Settings) -> list[Table]:
    """Long series: one curve at a time, with as many points as aboard likes to send, and with as many as stock."""
    work = settings.sets.a
    metrics = (
        *_memory(_NOT_MORE),
        Metric("curve_ms", "`timeSeries` of one tag, as each sends it", "ms", Target(20, FAST)),
        Metric("same_ms", "`timeSeries` of one tag, aboard with `--samples 1000` too", "ms"),
        Metric("again_ms", "`timeSeries` of one tag, asked again with nothing new", "ms"),
        *_LISTS,
    )
    notes = [
        f"`timeSeries` answers {work.runs} runs; aboard sends up to 10,000 points of each, stock TensorBoard 1,000.",
    ]
    if SLOW in settings.programs and settings.legacy != "whole":
        notes.append(f"{SLOW}: of series cut to {settings.sets.short_a.points:,} points, as it keeps 1,000 of any.")
    tags = work.tag_names[:_REPEATED]

    def typical(page: Browser, asking: int) -> float:
        return median(page.timed(browser.curve(tag, asking)) for tag in tags) * 1e3

    with ExitStack() as stack:

        @cache  # started when it is first asked: by then the memory of the others has been measured
        def like_stock() -> Browser:
            server = stack.enter_context(Server(PROGRAMS[ABOARD], work.below(settings.folder), *_SAME_POINTS))
            server.wait_until_loaded()
            _check(work, server.browser, most=1000)
            return server.browser

        def ask(asking: int, program: str, server: Server) -> dict[str, float]:
            first = typical(server.browser, asking)
            again = typical(server.browser, asking)
            return {
                "curve_ms": first,
                "same_ms": typical(like_stock(), asking) if program == ABOARD else first,
                "again_ms": again,
            }

        results = _session(settings, work, settings.programs, ask)
    return [Table("answers_A", f"Memory and answers, {work}", metrics, results, tuple(notes))]


def measure_b(settings: Settings) -> list[Table]:
    """Many runs and tags: all curves of a dashboard that is scrolled through."""
    work = settings.sets.b
    title = f"`timeSeries` of all {work.tags} tags, over six connections"
    metrics = (
        *_memory(_NOT_MORE),
        Metric("curves_s", title, "s", Target(50, FAST)),
        Metric("curves_cpu_s", "the same, CPU of all processes of the server", "s"),
        Metric("again_s", "the same, asked again with nothing new", "s"),
        *_LISTS,
    )

    def ask(asking: int, _: str, server: Server) -> dict[str, float]:
        curves = [browser.curve(tag, asking) for tag in work.tag_names]
        before = server.child.cpu_seconds()
        seconds = server.browser.all_at_once(curves)
        used = server.child.cpu_seconds() - before
        return {"curves_s": seconds, "curves_cpu_s": used, "again_s": server.browser.all_at_once(curves)}

    results = _session(settings, work, settings.programs, ask)
    return [Table("answers_B", f"Memory and answers, {work}", metrics, results)]


def measure_c(settings: Settings) -> list[Table]:
    """Very many runs: what is listed at every page load."""
    work = settings.sets.c
    programs = settings.programs if settings.legacy == "whole" else [ABOARD, FAST]
    metrics = (*_memory(), Metric("curve_ms", "`timeSeries` of one tag", "ms"), *_LISTS)

    def ask(asking: int, _: str, server: Server) -> dict[str, float]:
        return {"curve_ms": server.browser.timed(browser.curve(work.tag_names[0], asking)) * 1e3}

    results = _session(settings, work, programs, ask)
    return [Table("answers_C", f"Memory and answers, {work}", metrics, results)]


def _session(
    settings: Settings, work: ScalarSet, programs: Sequence[str], ask: Callable[[int, str, Server], dict[str, float]]
) -> Results:
    """All programs at once with everything read; then they answer in turns, to questions that were not asked before."""
    results: Results = {program: [] for program in programs}
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        memory: dict[str, dict[str, float]] = {}
        for program in programs:
            say(f"{work.name}: {program} reads")
            shown = settings.sets.short_a if _is_shortened(settings, work, program) else work
            folder = shown.below(settings.folder)
            warm(folder)
            server = servers[program] = stack.enter_context(Server(PROGRAMS[program], folder))
            server.wait_until_loaded()
            server.child.settle()
            found = server.child.memory()
            memory[program] = {"pss_mib": found.pss, "rss_mib": found.rss, "peak_mib": found.peak}
            _check(shown, server.browser, most=1000 if program != ABOARD else 10_000)
        # Three are enough where the slowest takes minutes.
        for number, program in settings.turns(f"{work.name}: answers", programs, min(settings.rounds, 3)):
            server, asking = servers[program], number + 1
            results[program].append({**memory[program], **ask(asking, program, server), **_lists(server.browser)})
        for program, server in servers.items():
            used = server.child.memory().pss
            for result in results[program]:
                result["used_mib"] = used
    return results


def _is_shortened(settings: Settings, work: ScalarSet, program: str) -> bool:
    return program == SLOW and work == settings.sets.a and settings.legacy != "whole"


def _lists(page: Browser) -> dict[str, float]:
    routes = {key: median(page.timed(request) for _ in range(_REPEATED)) * 1e3 for key, request in _ROUTES.items()}
    return {"page_ms": page.open_page() * 1e3, **routes}


def _check(work: ScalarSet, page: Browser, *, most: int) -> None:
    """That the page would show every run and tag, up to its last point."""
    tag = work.tag_names[-1]
    (answer,) = json.loads(_body(page, browser.curve(tag)))
    found = {run: (len(points), points[-1]["step"]) for run, points in answer["runToSeries"].items()}
    if found.keys() != set(work.run_names) or any(last != work.points - 1 for _, last in found.values()):
        raise SystemExit(f"a server shows {len(found)} runs of {work}, or not their last points")
    if any(not min(work.points, most) * 0.5 <= count <= most for count, _ in found.values()):
        raise SystemExit(f"a server sends {set(found.values())} points of {work}")
    listed = json.loads(_body(page, browser.SCALARS_TAGS))
    if {run: len(tags) for run, tags in listed.items()} != dict.fromkeys(work.run_names, work.tags):
        raise SystemExit(f"a server lists {len(listed)} runs of {work}, or not all their tags")


def _body(page: Browser, request: Request) -> bytes:
    return page.send(request).body
