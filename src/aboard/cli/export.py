# SPDX-License-Identifier: Apache-2.0
"""`aboard export`: every point of runs as a table."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TextIO

import typer

from aboard.cli.output import progress_line
from aboard.cli.parsing import ExportFormat
from aboard.errors import AboardError, InvalidValue, StorageUnavailable
from aboard.exchange.export import ExportResult, NamePatterns, check_output, export_points, select_runs, whole_file
from aboard.exchange.formats import FORMATS, PointFormat, format_for
from aboard.reader.opened.runs import OpenedRuns
from aboard.reader.roots import Root

_STDOUT = "-"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    roots: dict[str, Root]
    output: str
    format: ExportFormat | None
    tags: Sequence[str]
    runs: Sequence[str]
    superseded: bool
    force: bool


def export(options: ExportOptions) -> None:
    """Read, write, and say on stderr what was written and what was not."""
    form = check_format(options)
    tags, names = NamePatterns(options.tags), NamePatterns(options.runs)
    opened = OpenedRuns(options.roots)
    with progress_line(lambda: f"{opened.progress.runs_read} of {opened.progress.runs_found} runs read"):
        opened.refresh()
    if not opened.runs:
        folders = ", ".join(str(path) for path in options.roots.values())
        raise InvalidValue(f"there are no event files below {folders}; nothing was written")
    runs = select_runs(list(opened.runs), names, tags)
    done = ExportResult()
    with open_output(options) as file, progress_line(lambda: f"{done.points:,} points of {done.runs} runs written"):
        export_points(runs, tags, form(file, superseded=options.superseded), done, superseded=options.superseded)
    report_exported(done, options)


def check_format(options: ExportOptions) -> type[PointFormat]:
    """The format that is meant; refuses an output that cannot be written in it."""
    form = FORMATS[options.format.value] if options.format else format_for(options.output)
    if options.output == _STDOUT and sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidValue("standard output is closed", hint="give --output FILE")
    if options.output == _STDOUT and not form.is_text and sys.stdout.isatty():
        raise InvalidValue("this format is binary, which no terminal can show", hint="give --output FILE")
    if options.output != _STDOUT:
        check_output(options.output, force=options.force)
    return form


@contextlib.contextmanager
def open_output(options: ExportOptions) -> Generator[BinaryIO]:
    """The file to write, which appears when it is whole, or standard output."""
    try:
        if options.output == _STDOUT:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with whole_file(options.output, force=options.force) as file:
                yield file
    except BrokenPipeError:
        # Whoever reads has seen enough.
        _send_nowhere(sys.stdout)
        raise typer.Exit from None
    except OSError as error:
        _send_nowhere(sys.stdout)
        if isinstance(error, AboardError):
            raise
        raise StorageUnavailable(f"standard output cannot be written: {error.strerror or error}") from error


def _send_nowhere(stream: TextIO) -> None:
    """What Python still wants to flush at its end must not fail a second time."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def report_exported(done: ExportResult, options: ExportOptions) -> None:
    """Say on stderr what was written and what was not."""
    where = "" if options.output == _STDOUT else f" to {options.output}"
    typer.echo(
        f"Wrote {_count(done.points, 'point')} of {_count(done.series, 'series', 'series')} in "
        f"{_count(done.runs, 'run')}{where}",
        err=True,
    )
    if done.left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in done.left_out.items())
        typer.echo(f"Left out {_count(done.left_out.total(), 'tag')} that are no curves: {kinds}", err=True)
    if done.unreadable_files:
        typer.echo(f"{_count(done.unreadable_files, 'file')} could not be read", err=True)
    if done.damaged_files:
        damaged, records = _count(done.damaged_files, "file"), _count(done.bad_records, "record")
        typer.echo(f"Damage in {damaged}: {records} left out; aboard doctor tells more", err=True)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
