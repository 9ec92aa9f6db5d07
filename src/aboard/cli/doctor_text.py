# SPDX-License-Identifier: Apache-2.0
"""What `aboard doctor` says to people: the worst first, file by file, the verdict last."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import typer

from aboard.exchange.doctor.diagnosis import Diagnosis, Verdict
from aboard.exchange.doctor.findings import KINDS, Finding, Severity
from aboard.exchange.doctor.repair import Repair
from aboard.foundation.text import count, plain, size

_MOST_OF_A_KIND = 20
_MOST_LEFT_OUT = 20
_COLORS = {
    Severity.ERROR: typer.colors.RED,
    Severity.WARNING: typer.colors.YELLOW,
    Severity.INFORMATION: typer.colors.BLUE,
}
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFORMATION: "info"}


class Printer:
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
