# SPDX-License-Identifier: Apache-2.0
"""`aboard plot`: curves drawn with characters, for terminals without a browser.

A cell of the plot is a braille character of 2 × 4 dots. In each cell the colour of the last curve drawn wins.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from aboard.cli.output import escape_control, format_duration, format_number
from aboard.cli.terminal_runs import CurvePoint, open_runs, resolve_metrics
from aboard.errors import InvalidValue, UnknownName

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column of a cell
_COLOURS = (34, 33, 32, 31, 35, 36, 94, 93, 92, 91)  # of ANSI terminals
_ASCII = "*+ox#@%&=~"
_LABELS = 11  # columns for the labels of the y-axis
_MOST_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """The options of `aboard plot`."""

    words: Sequence[str]
    metrics: Sequence[str] = ()
    where: str | None = None
    sort: str | None = None
    last: int = _MOST_RUNS
    x_axis: str = "step"
    log_y: bool = False
    smoothing: float = 0.0
    width: int = 0
    height: int = 15


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    xs: list[float]
    ys: list[float]


def plot(options: PlotOptions) -> None:
    """Draw one plot for each metric."""
    source = open_runs(options.words)
    every = source.list(options.where, options.sort)
    if not every and options.where:
        raise UnknownName(f"No run matches {options.where}.", hint="`aboard ls` without --where lists all runs.")
    known = list(dict.fromkeys(name for run in every for name in run.metrics))
    if not known:
        raise UnknownName("These runs have no metrics.", hint="`aboard ls` shows what they have.")
    if not options.metrics:
        more = f", and {len(known) - 20} more" if len(known) > 20 else ""
        raise InvalidValue("No metric is named.", hint=f"Use --metric with one of {', '.join(known[:20])}{more}.")
    width = options.width or shutil.get_terminal_size().columns
    for place, metric in enumerate(resolve_metrics(every, options.metrics)):
        runs = [run for run in every if metric in run.metrics]
        shown = runs[: options.last]
        points = max(16, 2 * (width - _LABELS - 2))
        curves = source.curves(shown, metric, points * 2)
        lines = [_line(run.name, curves[run.uid], options) for run in shown if curves.get(run.uid)]
        typer.echo(f"{chr(10) * bool(place)}{escape_control(metric)}")
        for text in draw(lines, width=width, height=options.height, log_y=options.log_y, x_axis=options.x_axis):
            typer.echo(text)
        if len(shown) < len(runs):
            typer.echo(f"{len(shown)} of {len(runs)} runs; --last {len(runs)} draws all.", err=True)


def _line(name: str, curve: Sequence[CurvePoint], options: PlotOptions) -> _Line:
    begin = curve[0].wall_time
    match options.x_axis:
        case "step":
            xs = [float(point.step) for point in curve]
        case "relative":
            xs = [point.wall_time - begin for point in curve]
        case _:
            raise InvalidValue(f"--x {options.x_axis} is not an axis.", hint="Use step or relative.")
    return _Line(name, xs, smooth([point.value for point in curve], options.smoothing))


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """TensorBoard's exponential moving average without its bias at the start; 0 leaves values as they are."""
    if not weight:
        return list(values)
    smoothed: list[float] = []
    average, count = 0.0, 0
    for value in values:
        if math.isfinite(value):
            average, count = average * weight + (1 - weight) * value, count + 1
            smoothed.append(average / (1 - weight**count))
        else:
            smoothed.append(value)
    return smoothed


def draw(lines: Sequence[_Line], *, width: int, height: int, log_y: bool = False, x_axis: str = "step") -> list[str]:
    """The plot as lines of text: axes, curves, legend."""
    shown = [
        [(x, y) for x, y in zip(one.xs, one.ys, strict=True) if math.isfinite(y) and (y > 0 or not log_y)]
        for one in lines
    ]
    if not any(shown):
        return ["  no finite values" + (" above zero" if log_y else "")]
    scale = math.log10 if log_y else float
    x_low, x_high = _range([x for points in shown for x, _ in points])
    y_low, y_high = _range([scale(y) for points in shown for _, y in points])
    columns, rows = max(10, width - _LABELS - 2), max(3, height)
    # Without colours, curves are told apart by their characters.
    canvas = _Canvas(columns, rows, braille=_is_unicode() and (_has_colours() or len(lines) == 1))
    for number, points in enumerate(shown):
        dots = [
            (
                (x - x_low) / (x_high - x_low) * (canvas.width - 1),
                (y_high - scale(y)) / (y_high - y_low) * (canvas.height - 1),
            )
            for x, y in points
        ]
        canvas.polyline(dots, number)
    low, high = (10**y_low, 10**y_high) if log_y else (y_low, y_high)
    middle = 10 ** ((y_low + y_high) / 2) if log_y else (y_low + y_high) / 2
    labels = {0: high, rows // 2: middle, rows - 1: low}
    edge = ("┤", "└", "─") if _is_unicode() else ("|", "+", "-")
    text = [
        f"{format_number(labels[row]) if row in labels else '':>{_LABELS}} {edge[0]}{canvas.row(row)}"
        for row in range(rows)
    ]
    text.append(f"{'':>{_LABELS}} {edge[1]}{edge[2] * columns}")
    first, last = _x_label(x_low, x_axis), _x_label(x_high, x_axis)
    text.append(f"{'':>{_LABELS}}  {first}{last:>{max(1, columns - len(first))}}")
    return [*text, *(f"  {canvas.mark(number)} {escape_control(one.name)}" for number, one in enumerate(lines))]


def _x_label(value: float, x_axis: str) -> str:
    return format_duration(value) if x_axis == "relative" else f"{value:,.0f}"


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


class _Canvas:
    def __init__(self, columns: int, rows: int, *, braille: bool) -> None:
        self._cells = [[0] * columns for _ in range(rows)]
        self._owner = [[-1] * columns for _ in range(rows)]
        self._across, self._down = (2, 4) if braille else (1, 1)
        self.width, self.height = columns * self._across, rows * self._down
        self._braille, self._colours = braille, _has_colours()

    def polyline(self, dots: Sequence[tuple[float, float]], curve: int) -> None:
        """Connect dots, whose coordinates are columns and rows of dots."""
        for (x, y), (next_x, next_y) in zip(dots, [*dots[1:], dots[-1]], strict=True):
            steps = max(1, math.ceil(max(abs(next_x - x), abs(next_y - y))))
            for step in range(steps + 1):
                self._dot(round(x + (next_x - x) * step / steps), round(y + (next_y - y) * step / steps), curve)

    def _dot(self, x: int, y: int, curve: int) -> None:
        row, column = y // self._down, x // self._across
        self._cells[row][column] |= _DOTS[y % self._down][x % self._across] if self._braille else 1
        self._owner[row][column] = curve

    def row(self, number: int) -> str:
        cells = zip(self._cells[number], self._owner[number], strict=True)
        return "".join(self._character(cell, curve) for cell, curve in cells).rstrip()

    def _character(self, cell: int, curve: int) -> str:
        if not cell:
            return " "
        return self._coloured(chr(0x2800 + cell) if self._braille else _ASCII[curve % len(_ASCII)], curve)

    def mark(self, curve: int) -> str:
        """What stands before a curve's name in the legend."""
        return self._coloured("━" if self._braille else _ASCII[curve % len(_ASCII)], curve)

    def _coloured(self, text: str, curve: int) -> str:
        return f"\x1b[{_COLOURS[curve % len(_COLOURS)]}m{text}\x1b[0m" if self._colours else text


def _is_unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")


def _has_colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
