# SPDX-License-Identifier: Apache-2.0
"""`aboard ls`: runs as a table in the terminal, with the parameters that differ and a sparkline for each metric."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from aboard.cli.output import EMPTY, format_number, print_csv, print_json, print_table
from aboard.cli.runs.listing import RunColumn, parse_columns
from aboard.cli.terminal_runs import CurvePoint, TerminalRuns, open_runs, resolve_metrics
from aboard.errors import InvalidValue
from aboard.model.query.evaluate import QueriedRun

_COLUMNS = "name,status,started,duration"
_MOST_HPARAMS = 5
_MOST_METRICS = 4
_SPARKLINE_WIDTH = 12
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_SPARKLINES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class LsOptions:
    """The options of `aboard ls`."""

    words: Sequence[str]
    where: str | None = None
    sort: str | None = None
    columns: str | None = None
    add_columns: str | None = None
    metrics: Sequence[str] = ()
    last: int = 0
    sparklines: bool = True
    precision: int = 4
    max_width: int = 40
    as_json: bool = False
    as_csv: bool = False


def list_in_terminal(options: LsOptions) -> None:
    """Read and print."""
    if options.as_json and options.as_csv:
        raise InvalidValue("--json and --csv are two formats of one list.", hint="Use one of them.")
    source = open_runs(options.words)
    every = source.list(options.where, options.sort)
    runs = every[: options.last] if options.last else every
    columns = parse_columns(options.columns or _COLUMNS, options.add_columns)
    metrics = resolve_metrics(every, options.metrics) if options.metrics else []
    if not options.columns:
        columns += [_hparam_column(name) for name in _varying_hparams(every)]
        metrics = metrics or _common_metrics(every)
    if options.as_json:
        print_json({"items": list(source.records(runs)), "next": None})
    elif options.as_csv:
        shown = [*columns, *(_metric_column(name) for name in metrics)]
        print_csv([one.title for one in shown], ([one.value(run) for one in shown] for run in runs))
    else:
        _print(source, runs, columns, metrics, options)
        hidden = f"; {len(every) - len(runs)} more without --last" if len(runs) < len(every) else ""
        typer.echo(f"{len(every)} run{'s' * (len(every) != 1)}{hidden}", err=True)


def _print(
    source: TerminalRuns,
    runs: Sequence[QueriedRun],
    columns: Sequence[RunColumn],
    metrics: Sequence[str],
    options: LsOptions,
) -> None:
    has_sparklines = options.sparklines and len(runs) * len(metrics) <= _MOST_SPARKLINES and _can_print(_BLOCKS)
    cells: list[list[str]] = [[column.text(run, options.precision) for column in columns] for run in runs]
    for metric in metrics:
        curves = source.curves(runs, metric, _SPARKLINE_WIDTH * 4) if has_sparklines else {}
        for row, run in zip(cells, runs, strict=True):
            row.append(_metric_text(run, metric, curves.get(run.uid, ()), options.precision))
    titles = [*(column.title for column in columns), *metrics]
    right = [*(column.is_number for column in columns), *(True for _ in metrics)]
    print_table(titles, cells, right=right, max_width=options.max_width)


def _metric_text(run: QueriedRun, metric: str, curve: Sequence[CurvePoint], precision: int) -> str:
    summary = run.metrics.get(metric)
    if summary is None:
        return EMPTY
    value = format_number(summary.last.value, precision)
    return f"{sparkline([point.value for point in curve])} {value}" if curve else value


def sparkline(values: Sequence[float], width: int = _SPARKLINE_WIDTH) -> str:
    """A line of blocks, each the mean of its part of the values; a space where there is no number."""
    parts: list[float] = []
    for index in range(min(width, len(values))):
        begin, end = (
            index * len(values) // min(width, len(values)),
            (index + 1) * len(values) // min(width, len(values)),
        )
        finite = [value for value in values[begin:end] if math.isfinite(value)]
        parts.append(sum(finite) / len(finite) if finite else math.nan)
    finite = [part for part in parts if math.isfinite(part)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(" " if math.isnan(part) else _BLOCKS[round((part - low) * scale)] for part in parts)


def _varying_hparams(runs: Sequence[QueriedRun]) -> list[str]:
    """The hyperparameters in which runs differ, in the order in which they were logged."""
    values: dict[str, set[object]] = {}
    for run in runs:
        for name, value in run.hparams.items():
            values.setdefault(name, set()).add(value)
    lacking = {name for name in values if any(name not in run.hparams for run in runs)}
    return [name for name, different in values.items() if len(different) > 1 or name in lacking][:_MOST_HPARAMS]


def _common_metrics(runs: Sequence[QueriedRun]) -> list[str]:
    """The metrics that most runs have; of equally common ones those that were logged first."""
    counts = Counter(name for run in runs for name in run.metrics if not name.startswith("system/"))
    return [name for name, _ in counts.most_common(_MOST_METRICS)]


def _hparam_column(name: str) -> RunColumn:
    from aboard.model.query.tree import HparamField

    return RunColumn(f"hparams.{name}", name, HparamField(name))


def _metric_column(name: str) -> RunColumn:
    from aboard.model.query.tree import MetricField

    return RunColumn(f"metrics.{name}", name, MetricField(name))


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
