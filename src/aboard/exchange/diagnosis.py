# SPDX-License-Identifier: Apache-2.0
"""All that the doctor found below some folders, and the verdict; memory has a limit however much is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from aboard.exchange.examined_file import ExaminedFile
from aboard.exchange.findings import KINDS, Finding, Severity
from aboard.exchange.wording import count

MOST_FINDINGS = 1000  # kept of each code; all are counted
_ORDER = {severity: place for place, severity in enumerate(Severity)}
_DAMAGE = frozenset(code for code, kind in KINDS.items() if kind.severity is Severity.ERROR)


class Verdict(StrEnum):
    """The answer in one word or two."""

    HEALTHY = "healthy"
    REMARKS = "healthy with remarks"
    DAMAGED = "damaged"
    NOTHING = "no event files"


@dataclass(slots=True)
class Diagnosis:
    """What was looked at and what was found."""

    files: list[ExaminedFile] = field(default_factory=list[ExaminedFile])
    folders: int = 0  # with event files
    counts: Counter[str] = field(default_factory=Counter[str])
    _kept: dict[str, list[Finding]] = field(default_factory=dict[str, list[Finding]])

    def add(self, finding: Finding) -> None:
        """Count a finding and keep it if there are not too many already."""
        self.counts[finding.code] += 1
        self._keep(finding)

    def add_file(self, file: ExaminedFile) -> None:
        """Take in a file with what was found in it."""
        self.files.append(file)
        self.counts.update(file.counts)
        for finding in file.findings:
            self._keep(finding)
        file.findings.clear()  # kept here, or only counted

    def _keep(self, finding: Finding) -> None:
        kept = self._kept.setdefault(finding.code, [])
        if len(kept) < MOST_FINDINGS:
            kept.append(finding)

    @property
    def findings(self) -> list[Finding]:
        """Those that were kept, the worst first, then by path and place."""
        kept = [finding for findings in self._kept.values() for finding in findings]
        return sorted(kept, key=lambda found: (_ORDER[found.severity], found.path, found.byte or 0, found.code))

    @property
    def damaged_files(self) -> int:
        """Files that are damaged or cannot be read."""
        return sum(file.is_damaged for file in self.files)

    @property
    def verdict(self) -> Verdict:
        """Damage decides; else warnings are remarks, and information is none."""
        if any(code in _DAMAGE for code in self.counts):
            return Verdict.DAMAGED
        if not self.files:
            return Verdict.NOTHING
        warned = any(KINDS[code].severity is Severity.WARNING for code in self.counts)
        return Verdict.REMARKS if warned else Verdict.HEALTHY

    def count_of(self, severity: Severity) -> int:
        """How many findings of a severity there are."""
        return sum(number for code, number in self.counts.items() if KINDS[code].severity is severity)

    @property
    def verdict_line(self) -> str:
        """The verdict in a sentence."""
        files = count(len(self.files), "file")
        if self.verdict is Verdict.DAMAGED:
            line = f"damaged: {self.damaged_files:,} of {files}"
            if unreadable := self.counts["unreadable-folder"]:
                line += f"; {count(unreadable, 'folder')} cannot be read"
            return line
        if self.verdict is Verdict.NOTHING:
            return "no event files found"
        if self.verdict is Verdict.REMARKS:
            return f"healthy with remarks: {files}, {count(self.count_of(Severity.WARNING), 'remark')}"
        return f"healthy: {files}"
