# SPDX-License-Identifier: Apache-2.0
"""Markdown: one table per case, a row per metric, with ratios and targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from metrics import BEST_PEER, ITSELF, Metric, Results

ABOARD = "aboard"


def machine_lines(machine: dict[str, object]) -> str:
    shown: list[str] = []
    for key, value in machine.items():
        text = ", ".join(f"{name} {version}" for name, version in value.items()) if isinstance(value, dict) else value
        shown.append(f"- {key}: {text}")
    return "\n".join(shown)


def table(title: str, metrics: Sequence[Metric], results: Results, notes: Sequence[str] = ()) -> str:
    peers = _peers(results)
    best = ["best peer ÷ aboard (range)"] if peers else []
    head = ["", *results, *(f"{peer} ÷ aboard" for peer in peers), *best, "target", ""]
    rows = [head, ["---"] + ["---:"] * (len(head) - 3) + ["---", "---"]]
    rows += [_row(metric, results) for metric in metrics]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"### {title}\n\n{lines}\n\n{' '.join([_note(results), *notes])}\n"


def verdicts(title: str, metrics: Sequence[Metric], results: Results) -> list[str]:
    """Each target of the table, and whether it was reached."""
    return [
        f"{_verdict(metric, results)}: {title}, {metric.title}: {metric.target}; {_against(metric, results)}"
        for metric in metrics
        if metric.target
    ]


def _peers(results: Results) -> list[str]:
    return [name for name in results if name != ABOARD]


def _row(metric: Metric, results: Results) -> list[str]:
    values = [_shown(metric, results, name) for name in results]
    verdict = [str(metric.target or ""), _verdict(metric, results)]
    peers = _peers(results)
    if not peers:
        return [metric.title, *values, *verdict]
    if not metric.has_ratios:
        return [metric.title, *values, *("" for _ in peers), "", *verdict]
    ratios = [_ratio(_ratios(metric, results, peer)) for peer in peers]
    best_peer = _best_peer(metric, results)
    best = _ratios(metric, results, best_peer) if best_peer else []
    ranged = f"{_ratio(best)} ({number(min(best))}–{number(max(best))})" if best else ""
    return [metric.title, *values, *ratios, ranged, *verdict]


def _shown(metric: Metric, results: Results, name: str) -> str:
    values = _values(metric, results, name)
    return f"{number(median(values))} {metric.unit}" if values else "–"


def _ratio(ratios: list[float]) -> str:
    return f"{number(median(ratios))}×" if ratios else ""


def _verdict(metric: Metric, results: Results) -> str:
    target = metric.target
    if target is None:
        return ""
    measured = _measured(metric, results)
    if measured is None:
        return "not measured"
    reached = measured <= target.limit if target.against == ITSELF else measured >= target.limit
    return "reached" if reached else "**NOT reached**"


def _measured(metric: Metric, results: Results) -> float | None:
    assert metric.target
    if metric.target.against == ITSELF:
        ours = _values(metric, results, ABOARD)
        return median(ours) if ours else None
    peer = _best_peer(metric, results) if metric.target.against == BEST_PEER else metric.target.against
    ratios = _ratios(metric, results, peer) if peer else []
    return median(ratios) if ratios else None


def _against(metric: Metric, results: Results) -> str:
    assert metric.target
    measured = _measured(metric, results)
    if measured is None:
        return "–"
    return f"{number(measured)}{f' {metric.unit}' if metric.target.against == ITSELF else '×'}"


def _values(metric: Metric, results: Results, name: str) -> list[float]:
    return [result[metric.key] for result in results.get(name, []) if metric.key in result]


def _ratios(metric: Metric, results: Results, peer: str) -> list[float]:
    """Within each round, in which the programs ran one after another; against our median where a peer ran fewer."""
    theirs, ours = _values(metric, results, peer), _values(metric, results, ABOARD)
    if not theirs or not ours:
        return []
    pairs = list(zip(theirs, ours if len(ours) == len(theirs) else [median(ours)] * len(theirs), strict=True))
    if any(min(pair) <= 0 for pair in pairs):  # noise exceeds a difference and made it negative
        return [math.nan]
    return [their / our for their, our in pairs]


def _best_peer(metric: Metric, results: Results) -> str | None:
    medians = {peer: median(values) for peer in _peers(results) if (values := _values(metric, results, peer))}
    return min(medians, key=medians.__getitem__) if medians else None


def number(value: float) -> str:
    """Three digits that matter, and no exponent."""
    if math.isnan(value):
        return "?"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.3g}"


def _note(results: Results) -> str:
    ours = results[ABOARD]
    parts = [f"Medians of {len(ours)} round{'s' if len(ours) > 1 else ''}"]
    if "calls" in ours[0]:
        parts.append(f"{int(ours[0]['calls']):,} calls in each process, all found again by TensorBoard's reader")
    if "clock_us" in ours[0]:
        clock = median(result["clock_us"] for library in results for result in results[library])
        parts.append(f"the clock's own {clock * 1e3:.0f} ns are subtracted from single calls")
    return "; ".join(parts) + "."
