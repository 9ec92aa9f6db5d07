# SPDX-License-Identifier: Apache-2.0
"""Runs in folders of event files that were written without aboard: which folders make one run, since when, with what.

The outermost folder with event files is a run, and all below belongs to it: what `add_scalars` and `add_hparams` leave.
A folder that is called after a stage (`train`, `validation`, …) is part of the run above it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from aboard.errors import InvalidValue
from aboard.model.hparams import HparamValue, flat_hparams
from aboard.reader.opened.runs import OpenedRun, OpenedRuns

STAGES = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "eval", "evaluation", "dev"})


@dataclass(frozen=True, kw_only=True)
class LogFolderRun:
    """A run as its event files describe it."""

    folder: Path
    name: str
    created: datetime
    ended: datetime
    hparams: Mapping[str, HparamValue] = field(default_factory=dict[str, HparamValue])
    logdirs: int = 1
    identity: bytes
    """The same for the same files in another place, or with more of them: 80 bits."""


def runs_below(opened: OpenedRuns, folder: Path, *, depth: int | None = None) -> list[LogFolderRun]:
    """The runs in what was opened of a folder, oldest first.

    Args:
        opened: everything below the folder.
        folder: where it is.
        depth: how many levels below the folder runs are; 0 is the folder itself. Without it their event files tell.
    """
    root = folder.absolute()
    parts: dict[Path, list[OpenedRun]] = {}
    logdirs = {run.folder: run for run in opened.runs}
    for place, run in sorted(logdirs.items()):
        top = _run_folder(place, root, set(logdirs)) if depth is None else _at_depth(place, root, depth)
        parts.setdefault(top, []).append(run)
    found = [_log_folder_run(top, root, runs) for top, runs in parts.items()]
    return sorted(found, key=lambda one: one.created)


def _run_folder(place: Path, root: Path, logdirs: set[Path]) -> Path:
    """The outermost folder above a logdir that is one, or holds a stage."""
    inside = place.relative_to(root).parts
    for folder in (root.joinpath(*inside[:count]) for count in range(len(inside) + 1)):
        holds_stage = any(one.parent == folder and one.name.lower() in STAGES for one in logdirs)
        if holds_stage or (folder in logdirs and not (folder != root and folder.name.lower() in STAGES)):
            return folder
    return place


def _at_depth(place: Path, root: Path, depth: int) -> Path:
    inside = place.relative_to(root).parts
    if len(inside) < depth:
        raise InvalidValue(
            f"{place} has event files, and is only {len(inside)} levels below {root}, not {depth}.",
            hint="Use a smaller --depth, or leave it away.",
        )
    return root.joinpath(*inside[:depth])


def _log_folder_run(top: Path, root: Path, runs: list[OpenedRun]) -> LogFolderRun:
    files = [(file.first_wall_time, run.folder, file) for run in runs for file in run.files if file.records]
    if not files:
        raise InvalidValue(
            f"No event file in {top} can be read.", hint="`aboard doctor` tells what is wrong with them."
        )
    first_time, first_folder, first = min(files, key=lambda one: (one[0], str(one[1]), one[2].name))
    hparams: dict[str, HparamValue] = {}
    for run in runs:
        hparams |= flat_hparams(cast("dict[str, object]", run.hparams))
    points = [float(series.wall_times.min()) for run in runs for series in run.scalars.values() if len(series)]
    name = "-".join(top.relative_to(root).parts) or top.name or "logs"
    mark = f"{first_folder.relative_to(top)}\n{first.name}\n{first_time!r}\n{first.first_wall_time!r}"
    return LogFolderRun(
        folder=top,
        name=name,
        created=datetime.fromtimestamp(min([first_time, *points]), UTC),
        ended=datetime.fromtimestamp(max(file.last_wall_time for _, _, file in files), UTC),
        hparams=hparams,
        logdirs=len(runs),
        identity=hashlib.blake2b(mark.encode("utf-8", "surrogateescape"), digest_size=10).digest(),
    )
