# SPDX-License-Identifier: Apache-2.0
"""Output of commands: lines, tables, CSV, JSON, YAML, values as text and a progress line.

Declarations of commands import this module, so `aboard.api.wire`, which loads the model, is imported when it is needed.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import math
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TextIO, cast

import typer


def say(line: str, stream: TextIO | None, *, end: str = "\n") -> bool:
    """Write a line; whether somebody could have read it. A closed terminal is no reason to stop serving."""
    if stream is None:
        return False
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(line.encode(encoding, "replace").decode(encoding) + end)
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)
        return False
    return True


def _silence(stream: TextIO) -> None:
    """Let what still waits in the buffer of a closed stream go nowhere: Python would complain of it at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


EMPTY = "N/A"
PRECISION = 4
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def format_value(value: object, *, precision: int = PRECISION) -> str:
    """Any value on one line."""
    match value:
        case None | "":
            return EMPTY
        case Enum():
            return str(value).upper()
        case bool():
            return "true" if value else "false"
        case float():
            return format_number(value, precision)
        case datetime():
            return format_time(value)
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return escape_control(", ".join(f"{key}={one}" if one != "" else str(key) for key, one in pairs)) or EMPTY
        case list() | tuple():
            return escape_control(", ".join(str(one) for one in cast("Sequence[object]", value))) or EMPTY
        case _:
            return escape_control(str(value))


def escape_control(text: str) -> str:
    """A text that changes nothing about the terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def format_number(value: float, precision: int = PRECISION) -> str:
    """A number with so many digits that count."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"{value:.{precision}g}"


def format_time(moment: datetime) -> str:
    """A moment as the clock on the wall shows it."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def format_duration(seconds: float) -> str:
    """`1d 02:03:04`, or `12.3 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours:02d}:{minutes:02d}:{rest:02d}"
    return f"{days}d {clock}" if days else clock


def format_bytes(count: float) -> str:
    """`12.3 MB`."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or count >= 100 else f"{count:.1f} {_UNITS[unit]}"


MAX_WIDTH = 40


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool] = (), max_width: int = 0
) -> None:
    """Columns beside each other; numbers to the right. Longer texts than `max_width` are cut; 0: none is.

    Control characters are escaped: names and tags come from other people.
    """
    head = [escape_control(title) for title in titles]
    cut = [[_cut(escape_control(text), max_width) for text in row] for row in rows]
    widths = [max(text_width(row[place]) for row in [head, *cut]) for place in range(len(head))]
    sides = [*right, *[False] * (len(head) - len(right))]
    text: list[str] = []
    for place, line in enumerate([head, ["-" * width for width in widths], *cut]):
        between = "-+-" if place == 1 else " | "
        cells = [_padded(text, width, right=side) for text, width, side in zip(line, widths, sides, strict=True)]
        text.append(between.join(cells).rstrip())
    typer.echo("\n".join(text))


def print_csv(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Comma-separated, with a line of titles; values in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows([_plain(value) for value in row] for row in rows)
    typer.echo(text.getvalue(), nl=False)


def print_json(document: object) -> None:
    from aboard.api.wire import to_wire

    typer.echo(json.dumps(to_wire(document), ensure_ascii=False, allow_nan=False))


def print_pairs(pairs: Mapping[str, str], *, indent: str = "") -> None:
    """Names and values below each other, with control characters escaped."""
    lines = [(escape_control(name), escape_control(value)) for name, value in pairs.items()]
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        typer.echo(f"{indent}{name.ljust(width)}  {value}".rstrip())


def _plain(value: object) -> object:
    from aboard.api.wire import to_wire

    wired = to_wire(value)
    if wired is None:
        return ""
    return wired if isinstance(wired, (str, int, float)) else json.dumps(wired, ensure_ascii=False)


def _cut(text: str, width: int) -> str:
    if not width or text_width(text) <= width:
        return text
    while text and text_width(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - text_width(text))
    return f"{space}{text}" if right else f"{text}{space}"


def text_width(text: str) -> int:
    """Columns that a terminal needs: wide letters take two."""
    return len(text) if text.isascii() else sum(map(_letter_width, text))


@functools.cache
def _letter_width(letter: str) -> int:
    return 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1


_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*", re.ASCII)
_WORDS_THAT_MEAN_SOMETHING_ELSE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def format_yaml(document: Mapping[str, object]) -> str:
    """A document of block style; any reader of YAML gives the same values back."""
    return "\n".join(_mapping(document, "")) + "\n" if document else "{}\n"


def format_yaml_documents(documents: Iterable[Mapping[str, object]]) -> str:
    """Several documents as one text."""
    return "---\n".join(map(format_yaml, documents))


def _mapping(values: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    match value:
        case Mapping() if value:
            yield head
            yield from _mapping(cast("Mapping[str, object]", value), f"{indent}  ")
        case list() | tuple() if value:
            yield head
            for one in cast("Sequence[object]", value):
                yield from _entry(f"{indent}  -", one, f"{indent}  ")
        case _:
            yield f"{head} {_scalar(value)}"


def _scalar(value: object) -> str:
    match value:
        case str():
            is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS_THAT_MEAN_SOMETHING_ELSE
            return value if is_plain else f'"{"".join(map(_escaped, value))}"'
        case float():
            text = repr(value)  # without a point, 1e+22 would be a text to many readers
            return text if "." in text else text.replace("e", ".0e")
        case _:
            return json.dumps(value)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"


_FIRST_AFTER = 1.0
_EVERY = 0.5
_WIDTH = 78


@contextlib.contextmanager
def progress_line(line: Callable[[], str]) -> Generator[None]:
    """Show `line()` again and again while the block runs, on a terminal only; then remove it."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(line, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(line: Callable[[], str], ended: threading.Event) -> None:
    shown = False
    wait = _FIRST_AFTER
    while not ended.wait(wait):
        sys.stderr.write(line()[:_WIDTH].ljust(_WIDTH) + "\r")
        sys.stderr.flush()
        shown, wait = True, _EVERY
    if shown:
        sys.stderr.write(" " * _WIDTH + "\r")
        sys.stderr.flush()
