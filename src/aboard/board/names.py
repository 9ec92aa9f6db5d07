# SPDX-License-Identifier: Apache-2.0
"""Names of the runs of a board, rendered from a template with columns, hyperparameters and metrics.

A value joins a name as soon as it is known, and never leaves it again. A metric goes on moving while its run is live;
its name follows when no point came for a minute, and otherwise every ten minutes. Earlier names still resolve: a page
that was loaded under them still gets its images and curves.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aboard.board.sources import RunSource
from aboard.model.templates import DistinctNames, NameRequest, NameTemplate, TemplateField, TemplateValue, short_form
from aboard.reader.hparams import HParam, HParamsOfRuns, own_hparams
from aboard.reader.roots import Root
from aboard.reader.run import RunReader, find_tag

_LOOK_AGAIN_SECONDS = 0.5
_SETTLED_SECONDS = 10.0  # between two looks at runs of which nothing new was read
_RESTING_SECONDS = 60.0
_MOVING_SECONDS = 600.0
_EARLIER_NAMES = 8  # of one run

Columns = Callable[[str], Mapping[str, TemplateValue]]
"""The columns of a run by the name that its source gives it."""
StoredColumns = Callable[[str], Mapping[str, TemplateValue] | None]


def folder_columns(roots: Mapping[str, Root], stored: StoredColumns = lambda _: None) -> Columns:
    """The columns of runs below folders; a root without a name is called as its folder is.

    `stored` knows more of the runs that are in stores, and None of others.
    """
    called = {name: name or _end_of(root) for name, root in roots.items()}
    by_length = sorted(called, key=len, reverse=True)

    def columns(run: str) -> Mapping[str, TemplateValue]:
        root = next((name for name in by_length if not name or run == name or run.startswith(f"{name}/")), "")
        below = run if not root else run.removeprefix(root).removeprefix("/") or "."
        logdir = called[root] if below == "." else below.rpartition("/")[2]
        plain = {"run": run, "logdir": logdir, "root": called[root], "workspace": called[root]}
        return {**plain, **(stored(run) or {})}

    return columns


def _end_of(root: Root) -> str:
    return (root.absolute().name if isinstance(root, Path) else root.name) or str(root)


class NamedRuns:
    """The runs of another source, renamed. Safe to use from any thread."""

    def __init__(
        self,
        source: RunSource,
        template: NameTemplate,
        columns: Columns,
        identity: tuple[str, ...] = ("run",),
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Rename the runs of `source`; `identity` are the columns that together no two runs share."""
        self._monotonic, self._wall_clock = monotonic, wall_clock
        self._source, self._template, self._columns = source, template, columns
        self._apart = template.lacks(identity)
        self._wanted = {
            group: [one for one in template.fields if one.group == group] for group in ("hparams", "metrics")
        }
        self._lock = threading.Lock()
        self._distinct = DistinctNames()
        self._naming: dict[str, _RunName] = {}
        self._named = _RunsByName({}, {})
        self._seen: tuple[Mapping[str, RunReader], int] = ({}, -1)
        self._looked_at = float("-inf")

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs by their names now; looking up an earlier name finds the run too."""
        with self._lock:
            source, waited = self._source.runs, self._monotonic() - self._looked_at
            if source is not self._seen[0] or waited >= _LOOK_AGAIN_SECONDS:
                seen = source, sum(run.logdir.version for run in source.values())
                is_new = source is not self._seen[0] or seen[1] != self._seen[1]
                if is_new or waited >= _SETTLED_SECONDS:
                    self._rename(source)
                    self._seen, self._looked_at = seen, self._monotonic()
            return self._named

    def _rename(self, source: Mapping[str, RunReader]) -> None:
        self._naming = {
            name: self._naming.get(name) or _RunName({}, self._monotonic, self._wall_clock) for name in source
        }
        for name, naming in self._naming.items():
            naming.columns = self._columns(name)  # a run may be called otherwise by now
        hparams = self._hparams(source)
        wishes: dict[str, NameRequest] = {}
        for name, run in source.items():
            naming = self._naming[name]
            naming.learn_hparams(self._wanted["hparams"], hparams, name)
            naming.learn_metrics(self._wanted["metrics"], run)
            wishes[name] = NameRequest(self._template.render(naming.value), self._apart_of(naming))
        given = self._distinct.give(wishes)
        for name, naming in self._naming.items():
            naming.call(given[name])
        earlier = {old: source[name] for name, naming in self._naming.items() for old in naming.earlier}
        self._named = _RunsByName({given[name]: run for name, run in source.items()}, earlier)

    def _hparams(self, source: Mapping[str, RunReader]) -> HParamsOfRuns[TemplateValue] | None:
        if not self._wanted["hparams"]:
            return None
        return HParamsOfRuns({name: self._naming[name].own_hparams(run) for name, run in source.items()})

    def _apart_of(self, naming: _RunName) -> str:
        return "_".join(short_form(naming.columns.get(column)) for column in self._apart)


@dataclass(slots=True)
class _RunName:
    """What is known for the name of one run, and what it was called."""

    columns: Mapping[str, TemplateValue]
    monotonic: Callable[[], float]
    wall_clock: Callable[[], float]
    known: dict[TemplateField, TemplateValue] = field(default_factory=dict[TemplateField, TemplateValue])
    taken_at: dict[TemplateField, float] = field(default_factory=dict[TemplateField, float])
    name: str | None = None
    earlier: dict[str, None] = field(default_factory=dict[str, None])
    _hparams: tuple[int, Mapping[str, TemplateValue]] = (-1, {})
    _metrics_of: int = -1  # the version of the run whose metrics are all known

    def value(self, wanted: TemplateField) -> TemplateValue:
        if not wanted.group:
            return self.columns.get(wanted.key)
        known = self.known.get(wanted)
        statistic = f".{wanted.statistic}" if wanted.statistic else ""
        return self.columns.get(f"{wanted.group}.{wanted.key}{statistic}") if known is None else known

    def own_hparams(self, run: RunReader) -> Mapping[str, TemplateValue]:
        version = run.logdir.version
        if self._hparams[0] != version:
            self._hparams = version, hparams_of(run)
        return self._hparams[1]

    def learn_hparams(
        self, wanted: Sequence[TemplateField], hparams: HParamsOfRuns[TemplateValue] | None, name: str
    ) -> None:
        if hparams is not None and (found := hparams.of(name)):
            self.known.update({one: found[one.key] for one in wanted if found.get(one.key) is not None})

    def learn_metrics(self, wanted: Sequence[TemplateField], run: RunReader) -> None:
        version = run.logdir.version
        if version == self._metrics_of:
            return
        waiting = False
        for one in wanted:
            if not self._may_follow(one, run):
                waiting = True
            elif (value := metric_of(run, one)) is not None:
                self.known[one] = value
                self.taken_at[one] = self.monotonic()
        self._metrics_of = -1 if waiting else version

    def call(self, name: str) -> None:
        if self.name is not None and name != self.name:
            self.earlier[self.name] = None
            self.earlier.pop(name, None)
            while len(self.earlier) > _EARLIER_NAMES:
                del self.earlier[next(iter(self.earlier))]
        self.name = name

    def _may_follow(self, wanted: TemplateField, run: RunReader) -> bool:
        if wanted not in self.known or self.monotonic() - self.taken_at[wanted] > _MOVING_SECONDS:
            return True
        tag = find_tag(run, "scalars", wanted.key)
        return tag is not None and self.wall_clock() - tag.status.last_wall_time > _RESTING_SECONDS


class _RunsByName(Mapping[str, RunReader]):
    """Runs by name. It lists the names of now; those of before are only understood."""

    def __init__(self, now: dict[str, RunReader], earlier: dict[str, RunReader]) -> None:
        self._now, self._earlier = now, earlier

    def __getitem__(self, name: str) -> RunReader:
        run = self._now.get(name)
        return self._earlier[name] if run is None else run

    def __iter__(self) -> Iterator[str]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)


def hparams_of(run: RunReader) -> Mapping[str, TemplateValue]:
    """The hyperparameters that were logged into the run's own folder; lists and the like as JSON."""
    return {name: _short(value) for name, value in own_hparams(run).items()}


def metric_of(run: RunReader, wanted: TemplateField) -> TemplateValue:
    """One value of a scalar; None when there is none. NaN is no extreme unless there is nothing else."""
    tag = find_tag(run, "scalars", wanted.key)
    if tag is None:
        return None
    values = tag.points().values
    if not len(values):
        return None
    if wanted.statistic in ("first", "last"):
        return float(values[0 if wanted.statistic == "first" else -1])
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return float("nan")
    return float(numbers.min() if wanted.statistic == "min" else numbers.max())


def _short(value: HParam) -> TemplateValue:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else value
