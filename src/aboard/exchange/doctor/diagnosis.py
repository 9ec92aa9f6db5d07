# SPDX-License-Identifier: Apache-2.0
"""Inspects every event file below some folders and gives a verdict; changes nothing.

Memory has a limit, however many findings there are.
"""

from __future__ import annotations

import errno
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from aboard.exchange.doctor.findings import KINDS, Finding, Severity
from aboard.exchange.doctor.folders import findings_in_folder, findings_of_duplicates, walk
from aboard.exchange.doctor.inspection import ExaminedFile, InspectionProgress, Inspectors, examine
from aboard.foundation.text import count

MOST_FINDINGS = 1000  # kept of each code; all are counted
_ORDER = {severity: place for place, severity in enumerate(Severity)}
_DAMAGE = frozenset(code for code, kind in KINDS.items() if kind.severity is Severity.ERROR)


class Verdict(StrEnum):
    HEALTHY = "healthy"
    REMARKS = "healthy with remarks"
    DAMAGED = "damaged"
    NOTHING = "no event files"


@dataclass(slots=True)
class Diagnosis:
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
        return sum(number for code, number in self.counts.items() if KINDS[code].severity is severity)

    @property
    def verdict_line(self) -> str:
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


_Files = dict[Path, list[Path]]  # event files by folder


def diagnose(roots: Mapping[str, Path], progress: InspectionProgress | None = None) -> Diagnosis:
    """Examine all event files below `roots`, as `aboard view` would open them."""
    progress = progress or InspectionProgress()
    diagnosis = Diagnosis()
    found: _Files = {}
    for root in roots.values():
        _find(root, found, diagnosis, progress)
    diagnosis.folders = len(found)
    examined = _examine(found, diagnosis, progress)
    for folder, files in examined:
        for finding in findings_in_folder(folder, files):
            diagnosis.add(finding)
    progress.begin("comparing files that look alike", 0)
    for finding in findings_of_duplicates(examined):
        diagnosis.add(finding)
    return diagnosis


def _find(root: Path, found: _Files, diagnosis: Diagnosis, progress: InspectionProgress) -> None:
    """Event files below a root. Roots may overlap: no file is taken twice."""
    runs: set[str] = set()
    barren: dict[str, Path] = {}
    for folder in walk(root, diagnosis.add):
        if folder.event_files:
            runs.add(folder.name)
            paths = [folder.path / each for each in folder.event_files]
            found[folder.path] = list(dict.fromkeys(found.get(folder.path, []) + paths))
            progress.files_done += len(paths)
        else:
            barren[folder.name] = folder.path
    fertile = {above for run in runs for above in _upwards(run)}
    for name, path in barren.items():
        above = list(_upwards(name))[1:]
        # Of nested ones the uppermost is enough; what lies below a run (checkpoints, say) belongs to it.
        if name not in fertile and all(each in fertile and each not in runs for each in above):
            words = "has no event file, nor has any folder below it"
            diagnosis.add(Finding("folder-without-events", str(path), words))


def _upwards(name: str) -> Iterator[str]:
    """The folder and those above it, up to the root."""
    while name != ".":
        yield name
        name = name.rpartition("/")[0] or "."
    yield name


def _examine(
    found: _Files, diagnosis: Diagnosis, progress: InspectionProgress
) -> list[tuple[Path, list[ExaminedFile]]]:
    places = [(folder, path) for folder, paths in found.items() for path in paths]
    progress.begin("checked", len(places))
    examined: dict[Path, list[ExaminedFile]] = {folder: [] for folder in found}
    with Inspectors(progress) as inspectors:
        reports = inspectors.all(path for _, path in places)
        for (folder, path), report in zip(places, reports, strict=True):
            if report.error == errno.ENOENT and not path.is_symlink():
                continue  # it was there a moment ago
            file = examine(path, _status(path), report, time.time())
            examined[folder].append(file)
            diagnosis.add_file(file)
    return list(examined.items())


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
