# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import typer

from aboard.api.wire import to_wire
from aboard.cli.shown_values import plain

MAX_WIDTH = 40


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool] = (), max_width: int = 0
) -> None:
    """Columns beside each other; numbers to the right. Longer texts than `max_width` are cut; 0: none is.

    Control characters are escaped: names and tags come from other people.
    """
    head = [plain(title) for title in titles]
    cut = [[_cut(plain(text), max_width) for text in row] for row in rows]
    widths = [max(_width(row[place]) for row in [head, *cut]) for place in range(len(head))]
    sides = [*right, *[False] * (len(head) - len(right))]
    lines = [head, ["-" * width for width in widths], *cut]
    for place, line in enumerate(lines):
        between = "-+-" if place == 1 else " | "
        cells = [_padded(text, width, right=side) for text, width, side in zip(line, widths, sides, strict=True)]
        typer.echo(between.join(cells).rstrip())


def print_csv(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Comma-separated, with a line of titles; values in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([_plain(value) for value in row] for row in rows)
    typer.echo(text.getvalue(), nl=False)


def print_json(document: object) -> None:
    """One document."""
    typer.echo(json.dumps(to_wire(document), ensure_ascii=False, allow_nan=False))


def print_pairs(pairs: Mapping[str, str], *, indent: str = "") -> None:
    """Names and values below each other, with control characters escaped."""
    lines = [(plain(name), plain(value)) for name, value in pairs.items()]
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        typer.echo(f"{indent}{name.ljust(width)}  {value}".rstrip())


def _plain(value: object) -> object:
    wired = to_wire(value)
    if wired is None:
        return ""
    return wired if isinstance(wired, (str, int, float)) else json.dumps(wired, ensure_ascii=False)


def _cut(text: str, width: int) -> str:
    if not width or _width(text) <= width:
        return text
    while text and _width(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(text))
    return f"{space}{text}" if right else f"{text}{space}"


def _width(text: str) -> int:
    """Columns that a terminal needs: wide letters take two."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
