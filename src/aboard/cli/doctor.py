# SPDX-License-Identifier: Apache-2.0
"""`aboard doctor`: what is wrong with folders of event files, and a clean copy of them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from aboard.cli.doctor_document import document_of
from aboard.cli.doctor_text import Printer
from aboard.cli.progress_line import progress_line
from aboard.cli.roots import roots_of
from aboard.cli.saying import say
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.doctor.diagnosis import Verdict, diagnose
from aboard.exchange.doctor.inspection import Progress
from aboard.exchange.doctor.repair import Repair, check_destination, repair
from aboard.foundation.text import plain
from aboard.reader.mirror.store_mirror import ShownPaths, whole_copies
from aboard.reader.roots import Root

_DAMAGED, _USAGE = 1, 2
_NARROWEST, _WIDEST = 40, 100


def examine_folders(paths: Sequence[str], *, repair_to: str | None, events_only: bool, as_json: bool) -> None:
    """Print what was found; exit with 1 for damage, or for a copy that is not complete."""
    out = None if repair_to is None else Path(repair_to).expanduser()
    named = _checked(paths, out, events_only=events_only)
    with contextlib.ExitStack() as copies:
        with progress_line(lambda: "fetching event files"):
            roots, shown = copies.enter_context(whole_copies(named))
        _examine(named, roots, shown, out, events_only=events_only, as_json=as_json)


def _examine(
    named: Mapping[str, Root],
    roots: Mapping[str, Path],
    shown: ShownPaths,
    out: Path | None,
    *,
    events_only: bool,
    as_json: bool,
) -> None:
    printer = _printer()
    copy: Repair | None = None
    try:
        progress = Progress()
        with progress_line(progress.words):
            diagnosis = diagnose(roots, progress)
        if not as_json:
            say(shown.text("\n".join(printer.diagnosis(diagnosis))), sys.stdout)
        if out is not None:
            with progress_line(progress.words):
                copy = repair(roots, out, events_only=events_only, progress=progress)
    except KeyboardInterrupt as interrupt:
        raise _interrupted(out) from interrupt
    if as_json:
        typer.echo(json.dumps(shown.document(document_of(named, diagnosis, copy))))
    elif copy is not None:
        say(shown.text("\n".join(printer.repair(copy))), sys.stdout)
    failed = diagnosis.verdict is Verdict.DAMAGED if copy is None else not copy.is_complete
    if failed:
        raise typer.Exit(_DAMAGED)


def _checked(paths: Sequence[str], out: Path | None, *, events_only: bool) -> Mapping[str, Root]:
    """The folders; 1 means damage, so a mistake on the command line ends with 2."""
    try:
        roots = roots_of(paths, None, None)
        if out is not None:
            check_destination(out, {name: root for name, root in roots.items() if isinstance(root, Path)})
        elif events_only:
            raise InvalidValue("--events-only says what to copy", hint="add --repair OUT")
    except InvalidValue as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_USAGE) from error
    except StorageUnavailable:
        raise
    except OSError as error:
        typer.echo(f"error: cannot look at {plain(str(error.filename))!r}: {error.strerror}", err=True)
        raise typer.Exit(_USAGE) from error
    return roots


def _printer() -> Printer:
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    return Printer(width=max(width, _NARROWEST), color=sys.stdout.isatty() and "NO_COLOR" not in os.environ)


def _interrupted(out: Path | None) -> typer.Exit:
    typer.echo("interrupted", err=True)
    if out is not None and out.is_dir():
        typer.echo(f"  files in {out} are whole, but not all are there; delete it before you start again", err=True)
    return typer.Exit(1)
