# SPDX-License-Identifier: Apache-2.0
"""Looks at every event file below some folders, and at how files and folders fit together; changes nothing."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from aboard.exchange.attempts import findings_in_folder
from aboard.exchange.diagnosis import Diagnosis
from aboard.exchange.duplicates import findings_of_duplicates
from aboard.exchange.examined_file import ExaminedFile, examine
from aboard.exchange.findings import Finding
from aboard.exchange.inspecting import Inspectors, Progress
from aboard.exchange.trees import walk

_Files = dict[Path, list[Path]]  # event files by folder


def diagnose(roots: Mapping[str, Path], progress: Progress | None = None) -> Diagnosis:
    """Examine all event files below `roots`, as `aboard view` would open them."""
    progress = progress or Progress()
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


def _find(root: Path, found: _Files, diagnosis: Diagnosis, progress: Progress) -> None:
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


def _examine(found: _Files, diagnosis: Diagnosis, progress: Progress) -> list[tuple[Path, list[ExaminedFile]]]:
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
