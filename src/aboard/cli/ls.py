# SPDX-License-Identifier: Apache-2.0
"""`aboard ls`: runs as a table in the terminal, with the parameters that differ and a sparkline for each metric."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from aboard.cli.output import EMPTY, escape_control, format_number, print_csv, print_json, print_table, text_width
from aboard.cli.runs.listing import RunColumn, parse_columns
from aboard.cli.terminal_runs import TerminalRuns, open_runs, resolve_metrics
from aboard.errors import InvalidValue
from aboard.model.query.evaluate import QueriedRun

_DISPENSABLE = ("started", "status", "duration")  # in a narrow terminal, in this order
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
        matching = f" match {options.where}" if options.where and not every else ""
        hidden = f"; {len(every) - len(runs)} more without --last" if len(runs) < len(every) else ""
        typer.echo(f"{len(every) or 'No'} run{'s' * (len(every) != 1)}{matching}{hidden}", err=True)


def _print(
    source: TerminalRuns,
    runs: Sequence[QueriedRun],
    columns: Sequence[RunColumn],
    metrics: Sequence[str],
    options: LsOptions,
) -> None:
    if not runs:
        return
    has_sparklines = options.sparklines and len(runs) * len(metrics) <= _MOST_SPARKLINES and _can_print(_BLOCKS)
    shown = [
        _Printed(one.title, [one.text(run, options.precision) for run in runs], one.is_number, one.name)
        for one in columns
    ]
    for metric in metrics:
        curves = source.curves(runs, metric, _SPARKLINE_WIDTH * 4) if has_sparklines else {}
        values = [_metric_text(run, metric, options.precision) for run in runs]
        lines = [sparkline([point.value for point in curves.get(run.uid, ())]) for run in runs]
        shown.append(_Printed(metric, values, True, metric, lines if curves else ()))
    if sys.stdout.isatty() and not options.columns:
        shown = _fitting(shown, shutil.get_terminal_size().columns, options.max_width)
    rows = list(zip(*(one.cells for one in shown), strict=True))
    print_table([one.title for one in shown], rows, right=[one.right for one in shown], max_width=options.max_width)


@dataclass(frozen=True, slots=True)
class _Printed:
    """A column of the table."""

    title: str
    texts: Sequence[str]
    right: bool
    name: str
    sparklines: Sequence[str] = ()

    @property
    def cells(self) -> Sequence[str]:
        if not self.sparklines:
            return self.texts
        return [f"{line} {text}" if line else text for line, text in zip(self.sparklines, self.texts, strict=True)]

    def width(self, most: int) -> int:
        widest = max(text_width(text) for text in (self.title, *self.cells))
        return min(widest, most) if most else widest


def _fitting(columns: list[_Printed], width: int, most: int) -> list[_Printed]:
    """The columns that fit beside each other: without sparklines, times and the last metrics where they do not."""
    if _total_width(columns, most) <= width:
        return columns
    kept = [replace(one, sparklines=()) for one in columns]
    order = [name for name in _DISPENSABLE if any(one.name == name for one in kept)]
    order += [one.name for one in reversed(kept[1:]) if one.name not in order]
    hidden: list[str] = []
    while _total_width(kept, most) > width and len(kept) > 1:
        name = order[len(hidden)]
        hidden.append(name)
        kept = [one for one in kept if one.name != name]
    if hidden:
        text = ", ".join(escape_control(name) for name in hidden)
        typer.echo(f"Hidden at {width} columns: {text}. Choose with --columns.", err=True)
    return kept


def _total_width(columns: Sequence[_Printed], most: int) -> int:
    return sum(one.width(most) for one in columns) + 3 * (len(columns) - 1)


def _metric_text(run: QueriedRun, metric: str, precision: int) -> str:
    summary = run.metrics.get(metric)
    return EMPTY if summary is None else format_number(summary.last.value, precision)


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
