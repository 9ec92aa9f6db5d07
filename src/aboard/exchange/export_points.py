# SPDX-License-Identifier: Apache-2.0
"""Writes every point of runs in a format, one series after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from aboard.exchange.name_patterns import NamePatterns
from aboard.exchange.point_format import PointFormat
from aboard.reader.opened.long_table import Rows
from aboard.reader.opened.opened_run import OpenedRun

_OTHER_KINDS = ("images", "audio", "histograms", "text", "graphs", "tensors")


@dataclass(slots=True)
class Exported:
    """How far an export has come, and what it met."""

    runs: int = 0
    series: int = 0
    points: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])
    """Tags that are no curves, by kind."""
    unreadable_files: int = 0
    damaged_files: int = 0
    bad_records: int = 0


def select_runs(runs: list[OpenedRun], run_patterns: NamePatterns, tag_patterns: NamePatterns) -> list[OpenedRun]:
    """The runs whose names fit. Patterns that fit nothing are refused before anything is written."""
    run_patterns.refuse_idle([run.name for run in runs], "run")
    selected = [run for run in runs if run_patterns.fits(run.name)]
    tags = dict.fromkeys(tag for run in selected for tag in run.scalars)
    tag_patterns.refuse_idle(tags.keys(), "scalar tag")
    return selected


def export_points(
    runs: list[OpenedRun], tags: NamePatterns, target: PointFormat, progress: Exported, *, superseded: bool
) -> None:
    """Write the points of all tags that fit; `progress` may be looked at meanwhile."""
    target.begin()
    for run in runs:
        _note_what_is_missing(run, tags, progress)
        target.begin_run(run)
        names: set[str] = set()
        for rows in _chosen_rows(run, tags, superseded=superseded):
            target.add(rows)
            names.add(rows.tag)
            progress.points += len(rows)
        progress.series += len(names)
        progress.runs += 1
    target.end()


def _chosen_rows(run: OpenedRun, tags: NamePatterns, *, superseded: bool) -> Iterator[Rows]:
    return (rows for rows in run.rows(superseded=superseded) if len(rows) and tags.fits(rows.tag))


def _note_what_is_missing(run: OpenedRun, tags: NamePatterns, progress: Exported) -> None:
    for kind in _OTHER_KINDS:
        if count := sum(map(tags.fits, getattr(run, kind))):
            progress.left_out[kind] += count
    files = run.files
    progress.unreadable_files += sum(bool(file.error) for file in files)
    progress.damaged_files += sum(bool(file.bad_records or file.skipped_bytes) for file in files)
    progress.bad_records += sum(file.bad_records for file in files)
