# SPDX-License-Identifier: Apache-2.0
"""`aboard doctor`: diagnose folders of event files and write a clean copy of them.

The report for people lists the worst findings first and the verdict last; docs/doctor.md describes the JSON document.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import typer

from aboard.cli.arguments import parse_roots
from aboard.cli.output import progress_line, say
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.exchange.doctor.diagnosis import Diagnosis, Verdict, diagnose
from aboard.exchange.doctor.findings import KINDS, Finding, Severity
from aboard.exchange.doctor.inspection import ExaminedFile, InspectionProgress
from aboard.exchange.doctor.repair import Repair, check_destination, repair
from aboard.foundation.text import count, plain, size, unicode_path, utc_time
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
        progress = InspectionProgress()
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
        typer.echo(json.dumps(shown.document(make_document(named, diagnosis, copy))))
    elif copy is not None:
        say(shown.text("\n".join(printer.repair(copy))), sys.stdout)
    failed = diagnosis.verdict is Verdict.DAMAGED if copy is None else not copy.is_complete
    if failed:
        raise typer.Exit(_DAMAGED)


def _checked(paths: Sequence[str], out: Path | None, *, events_only: bool) -> Mapping[str, Root]:
    """The folders; 1 means damage, so a mistake on the command line ends with 2."""
    try:
        roots = parse_roots(paths, None, None)
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


def _printer() -> ReportPrinter:
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    return ReportPrinter(width=max(width, _NARROWEST), color=sys.stdout.isatty() and "NO_COLOR" not in os.environ)


def _interrupted(out: Path | None) -> typer.Exit:
    typer.echo("interrupted", err=True)
    if out is not None and out.is_dir():
        typer.echo(f"  files in {out} are whole, but not all are there; delete it before you start again", err=True)
    return typer.Exit(1)


_MOST_OF_A_KIND = 20
_MOST_LEFT_OUT = 20
_COLORS = {
    Severity.ERROR: typer.colors.RED,
    Severity.WARNING: typer.colors.YELLOW,
    Severity.INFORMATION: typer.colors.BLUE,
}
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFORMATION: "info"}


class ReportPrinter:
    """Lines for a width, with colour or without."""

    def __init__(self, *, width: int, color: bool) -> None:
        self._width, self._color = width, color

    def diagnosis(self, diagnosis: Diagnosis) -> Iterator[str]:
        """Findings, what to do, and the verdict."""
        listed = Counter[str]()
        findings = diagnosis.findings
        for severity in Severity:
            of_severity = [finding for finding in findings if finding.severity is severity]
            shown = [finding for finding in of_severity if _is_shown(finding, listed)]
            for path, group in groupby(shown, key=lambda finding: finding.path):
                yield f"{self._styled(_WORDS[severity], severity)} {plain(path)}"
                for finding in group:
                    yield self._line(finding)
            for code in sorted({finding.code for finding in of_severity}):
                more = diagnosis.counts[code] - min(listed[code], _MOST_OF_A_KIND)
                if more:
                    yield f"  and {more:,} more [{code}] (--json shows all that are kept)"
            if of_severity:
                yield ""
        yield from self._advice(diagnosis)
        yield from self._verdict(diagnosis)

    def repair(self, repair: Repair) -> Iterator[str]:
        """What is in the copy and what is not."""
        yield ""
        yield (
            f"Copied to {plain(str(repair.out))}: {count(repair.event_files, 'event file')} with "
            f"{count(repair.records, 'record')} ({size(repair.bytes)})"
        )
        same = repair.event_files - repair.shortened_files
        yield f"  {same:,} byte for byte the same, {repair.shortened_files:,} without damaged or unfinished parts"
        if repair.dropped_bytes:
            places = ", ".join(f"{number:,} {code}" for code, number in sorted(repair.dropped.items()))
            yield from self._wrapped(f"dropped {size(repair.dropped_bytes)}: {places}", indent=2)
        beside = [count(repair.other_files, "other file")] if repair.other_files else []
        beside += [count(repair.links, "link")] if repair.links else []
        if beside:
            yield f"  and {' and '.join(beside)}"
        if repair.other_files_not_wanted:
            yield f"  {count(repair.other_files_not_wanted, 'other file')} not copied (--events-only)"
        for left in repair.left_out[:_MOST_LEFT_OUT]:
            yield from self._wrapped(f"left out {plain(left.path)}: {left.reason}", indent=2)
        if repair.left_out_in_all > _MOST_LEFT_OUT:
            yield f"  and {repair.left_out_in_all - _MOST_LEFT_OUT:,} more left out (--json shows all that are kept)"
        yield from self._outcome(repair)

    def _line(self, finding: Finding) -> str:
        where = "" if finding.byte is None else f"byte {finding.byte:,}: "
        return "\n".join(self._wrapped(f"{where}{finding.message} [{finding.code}]", indent=2))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        first, later = " " * indent, " " * (indent + 2)
        # Paths and tags stay in one piece, so that they can be copied.
        return textwrap.wrap(
            text,
            self._width,
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _advice(self, diagnosis: Diagnosis) -> Iterator[str]:
        codes: dict[str, list[str]] = {}
        for code, kind in KINDS.items():
            if diagnosis.counts[code] and kind.severity is not Severity.INFORMATION:
                codes.setdefault(kind.advice, []).append(code)
        if not codes:
            return
        yield "What to do"
        for advice, of in codes.items():
            yield from self._wrapped(f"{', '.join(of)}: {advice}", indent=2)
        yield ""

    def _verdict(self, diagnosis: Diagnosis) -> Iterator[str]:
        files, folders = count(len(diagnosis.files), "event file"), count(diagnosis.folders, "folder")
        records = count(sum(file.records for file in diagnosis.files), "record")
        yield f"Looked at {files} in {folders}: {records}, {size(sum(file.size for file in diagnosis.files))}."
        numbers = [
            count(diagnosis.count_of(severity), word)
            for severity, word in zip(Severity, ("error", "warning", "note"), strict=True)
        ]
        yield f"Found {numbers[0]}, {numbers[1]}, {numbers[2]}."
        worst = {Verdict.DAMAGED: Severity.ERROR, Verdict.REMARKS: Severity.WARNING}.get(diagnosis.verdict)
        yield self._styled(diagnosis.verdict_line, worst, bold=True)

    def _outcome(self, repair: Repair) -> Iterator[str]:
        if repair.is_complete:
            yield self._styled(f"The copy was read again: {repair.check.verdict_line}", None, bold=True)
            return
        if not repair.is_confirmed:
            words = f"The copy was read again and is not as it was written: {repair.check.verdict_line}"
            yield self._styled(words, Severity.ERROR, bold=True)
        if repair.missed:
            words = count(repair.missed, "file or folder was", "files and folders were")
            yield self._styled(f"Not complete: {words} left out but should be there", Severity.ERROR, bold=True)

    def _styled(self, text: str, severity: Severity | None, *, bold: bool = False) -> str:
        if not self._color:
            return text
        return typer.style(text, fg=_COLORS[severity] if severity else typer.colors.GREEN, bold=bold)


def _is_shown(finding: Finding, listed: Counter[str]) -> bool:
    listed[finding.code] += 1
    return listed[finding.code] <= _MOST_OF_A_KIND


_LARGEST_EXACT = 1 << 53  # beyond, readers of JSON round integers


def make_document(roots: Mapping[str, Root], diagnosis: Diagnosis, repair: Repair | None) -> dict[str, Any]:
    """Everything that is known, in types that JSON has."""
    document = {
        "format": "aboard.doctor",
        "version": 1,
        "paths": [str(path) for path in roots.values()],
        **_judgement(diagnosis),
        "findings": {"items": [_finding(finding) for finding in diagnosis.findings], "next": None},
        "files": {"items": [_file(file) for file in diagnosis.files], "next": None},
        "repair": None if repair is None else _repair(repair),
    }
    return cast("dict[str, Any]", _plain(document))


def _judgement(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "verdict": diagnosis.verdict,
        "summary": diagnosis.verdict_line,
        "examined": {
            "files": len(diagnosis.files),
            "folders": diagnosis.folders,
            "records": sum(file.records for file in diagnosis.files),
            "bytes": sum(file.size for file in diagnosis.files),
            "damaged_files": diagnosis.damaged_files,
            "damaged_bytes": sum(file.damaged_bytes for file in diagnosis.files),
        },
        "counts": {severity: diagnosis.count_of(severity) for severity in Severity},
        "codes": dict(sorted(diagnosis.counts.items())),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "code": finding.code,
        "path": finding.path,
        "byte": finding.byte,
        "end": finding.end,
        "message": finding.message,
        "advice": finding.advice,
        "details": finding.details,
    }


def _file(file: ExaminedFile) -> dict[str, object]:
    return {
        "path": str(file.path),
        "bytes": file.size,
        "modified": utc_time(file.modified) if file.identity else None,
        "records": file.records,
        "tags": file.tags,
        "first_wall_time": utc_time(file.first_wall_time),
        "last_wall_time": utc_time(file.last_wall_time),
        "lowest_step": file.lowest_step,
        "highest_step": file.highest_step,
        "damaged_bytes": file.damaged_bytes,
        "codes": file.counts,
    }


def _repair(repair: Repair) -> dict[str, object]:
    return {
        "out": str(repair.out),
        "complete": repair.is_complete,
        "event_files": repair.event_files,
        "records": repair.records,
        "bytes": repair.bytes,
        "dropped": dict(sorted(repair.dropped.items())),
        "dropped_bytes": repair.dropped_bytes,
        "shortened_files": repair.shortened_files,
        "shortened": {
            "items": [
                {"path": file.path, "records": file.records, "dropped_bytes": file.dropped_bytes}
                for file in repair.shortened
            ],
            "next": None,
        },
        "other_files": repair.other_files,
        "other_files_not_copied": repair.other_files_not_wanted,
        "links": repair.links,
        "left_out_in_all": repair.left_out_in_all,
        "left_out": {
            "items": [{"path": left.path, "reason": left.reason, "missed": left.missed} for left in repair.left_out],
            "next": None,
        },
        "check": {"confirmed": repair.is_confirmed, **_judgement(repair.check)},
    }


def _plain(value: object) -> object:
    """The same in types that every reader of JSON takes for what they are."""
    if isinstance(value, str):
        return unicode_path(value) if not value.isascii() else str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_EXACT else str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {str(key): _plain(item) for key, item in items}
    return [_plain(item) for item in cast("list[object]", value)]
