# SPDX-License-Identifier: Apache-2.0
"""Markdown: one table per case, a row per metric, with ratios and targets."""

from __future__ import annotations

import math
from statistics import median

from cases import BEST_PEER, ITSELF, Case, Metric
from peers import ABOARD, LIBRARIES, PEERS

# Of each library, the results of its rounds.
Results = dict[str, list[dict[str, float]]]


def machine_lines(machine: dict[str, object]) -> str:
    shown: list[str] = []
    for key, value in machine.items():
        text = ", ".join(f"{name} {version}" for name, version in value.items()) if isinstance(value, dict) else value
        shown.append(f"- {key}: {text}")
    return "\n".join(shown)


def case_table(case: Case, results: Results) -> str:
    head = ["", *LIBRARIES, *(f"{peer} ÷ aboard" for peer in PEERS), "best peer ÷ aboard (range)", "target", ""]
    rows = [head, ["---"] + ["---:"] * (len(head) - 3) + ["---", "---"]]
    rows += [_row(metric, results) for metric in case.metrics]
    rounds = len(results[ABOARD])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"### {case.title}\n\n{table}\n\n{_note(rounds, results)}\n"


def verdicts(case: Case, results: Results) -> list[str]:
    """Each target of the case, and whether it was reached."""
    return [
        f"{_verdict(metric, results)}: {case.title}, {metric.title}: {metric.target}; {_against(metric, results)}"
        for metric in case.metrics
        if metric.target
    ]


def _row(metric: Metric, results: Results) -> list[str]:
    values = [f"{_number(_median(metric, results, library))} {metric.unit}" for library in LIBRARIES]
    if not metric.has_ratios:
        return [metric.title, *values, *("" for _ in PEERS), "", str(metric.target or ""), _verdict(metric, results)]
    ratios = [f"{_number(median(_ratios(metric, results, peer)))}×" for peer in PEERS]
    best = _ratios(metric, results, _best_peer(metric, results))
    ranged = f"{_number(median(best))}× ({_number(min(best))}–{_number(max(best))})"
    return [metric.title, *values, *ratios, ranged, str(metric.target or ""), _verdict(metric, results)]


def _verdict(metric: Metric, results: Results) -> str:
    target = metric.target
    if target is None:
        return ""
    measured = _measured(metric, results)
    reached = measured <= target.limit if target.against == ITSELF else measured >= target.limit
    return "reached" if reached else "**NOT reached**"


def _measured(metric: Metric, results: Results) -> float:
    assert metric.target
    if metric.target.against == ITSELF:
        return _median(metric, results, ABOARD)
    peer = _best_peer(metric, results) if metric.target.against == BEST_PEER else metric.target.against
    return median(_ratios(metric, results, peer))


def _against(metric: Metric, results: Results) -> str:
    assert metric.target
    unit = f" {metric.unit}" if metric.target.against == ITSELF else "×"
    return f"{_number(_measured(metric, results))}{unit}"


def _median(metric: Metric, results: Results, library: str) -> float:
    return median(result[metric.key] for result in results[library])


def _ratios(metric: Metric, results: Results, peer: str) -> list[float]:
    """Within each round, in which the libraries ran one after another."""
    pairs = zip(results[peer], results[ABOARD], strict=True)
    values = [(theirs[metric.key], ours[metric.key]) for theirs, ours in pairs]
    if any(min(pair) <= 0 for pair in values):  # noise exceeds a difference and made it negative
        return [math.nan]
    return [theirs / ours for theirs, ours in values]


def _best_peer(metric: Metric, results: Results) -> str:
    return min(PEERS, key=lambda peer: _median(metric, results, peer))


def _number(value: float) -> str:
    """Three digits that matter, and no exponent."""
    if math.isnan(value):
        return "?"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _note(rounds: int, results: Results) -> str:
    first = results[ABOARD][0]
    parts = [f"Medians of {rounds} round{'s' if rounds > 1 else ''}"]
    if "calls" in first:
        parts.append(f"{int(first['calls']):,} calls in each process, all found again by TensorBoard's reader")
    if "clock_us" in first:
        clock = median(result["clock_us"] for library in results for result in results[library])
        parts.append(f"the clock's own {clock * 1e3:.0f} ns are subtracted from single calls")
    return "; ".join(parts) + "."
