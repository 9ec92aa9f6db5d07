# SPDX-License-Identifier: Apache-2.0
"""Last, smallest and largest value of every metric, from the event files themselves, whoever has written them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aboard._native import Logdir, LogTree, Points
from aboard.model.metric_summary import MetricPoint, MetricSummary

SYSTEM = "system"
"""The logdir with the use of the machine, which says nothing about the training."""
_SLICE = 0.2


@dataclass
class _Folder:
    name: str
    path: Path
    logdir: Logdir
    root: int
    version: int = -1
    metrics: dict[str, MetricSummary] = field(default_factory=dict[str, MetricSummary])


class EventMetrics:
    """The metrics in the folders of a run. Names are `<logdir>/<tag>`, and the tag alone at the top of the run."""

    def __init__(self, folders: Mapping[Path, Callable[[Path], bool]]) -> None:
        self._accept = list(folders.values())
        self._tree = LogTree([os.fsencode(path) for path in folders], notifications=False)
        self._folders: dict[int, _Folder] = {}

    def summaries(self) -> dict[str, MetricSummary]:
        """What the files hold now."""
        self._read_new()
        found: dict[str, MetricSummary] = {}
        for folder in sorted(self._folders.values(), key=lambda one: one.name):
            if folder.name != SYSTEM and not folder.name.startswith(f"{SYSTEM}/"):
                found |= _metrics_of(folder)
        return found

    def _read_new(self) -> None:
        self._tree.look()
        while True:
            gone, found, to_read = self._tree.take(_SLICE)
            for number in gone:
                self._folders.pop(number, None)
            for number, root, name, path in found:
                self._folders[number] = _Folder(
                    _logdir_name(os.fsdecode(name)), Path(os.fsdecode(path)), Logdir(path), root
                )
            for number, names, _ in to_read:
                if folder := self._folders.get(number):
                    accept = self._accept[folder.root]
                    own = [name for name in names if accept(folder.path / os.fsdecode(name))]
                    folder.logdir.refresh(own)
            if not self._tree.is_looking:
                return


def _logdir_name(below: str) -> str:
    name = "" if below == "." else below
    return "" if name == "tensorboard" else name.removeprefix("tensorboard/")


def _metrics_of(folder: _Folder) -> dict[str, MetricSummary]:
    version = folder.logdir.version
    if version != folder.version:
        above = f"{folder.name}/" if folder.name else ""
        folder.metrics = {}
        for number, (tag, _, kind, is_scalar, _) in enumerate(folder.logdir.tags(0)):
            if is_scalar and kind >= 0 and not tag.startswith("_hparams_/"):
                summary = _summary(folder.logdir.scalars(number, True), folder.logdir.status(number))
                if summary:
                    folder.metrics[f"{above}{tag}"] = summary
        folder.version = version
    return folder.metrics


def _summary(points: Points, status: tuple[int, int, int, float] | None) -> MetricSummary | None:
    count = len(points)
    if not count:
        return None
    import numpy as np  # here: it takes as long to load as all the rest of a short run

    last = _point(points, count - 1)
    finite = not bool(np.isnan(points.values).all())
    smallest = _point(points, int(np.nanargmin(points.values))) if finite else None
    largest = _point(points, int(np.nanargmax(points.values))) if finite else None
    return MetricSummary(last, smallest, largest, status[0] if status else count)


def _point(points: Points, place: int) -> MetricPoint:
    value = float(points.values[place])
    wall_time = float(points.wall_times[place])
    return MetricPoint(value, int(points.steps[place]), wall_time if math.isfinite(wall_time) else 0.0)
