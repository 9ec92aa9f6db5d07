# SPDX-License-Identifier: Apache-2.0
"""Runs for commands that print in the terminal: of folders and buckets, read here, or of a server.

`aboard ls` and `aboard plot` take the same words as `aboard view`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from aboard.cli.output import progress_line
from aboard.cli.selections import check_any_is_known, classify_words, expand_files, explain_unknown, select_runs
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue, UnknownName
from aboard.foundation.text import nearest_hint
from aboard.model.query.evaluate import QueriedRun
from aboard.model.query.fields import NEWEST_FIRST, parse_sort
from aboard.model.query.parser import parse_query
from aboard.model.runs import RunRecord
from aboard.model.selections import NumberKind

_NUMBERS_AT_ONCE = 500


class CurvePoint(NamedTuple):
    """One point of a curve."""

    step: int
    wall_time: float
    value: float


class TerminalRuns(Protocol):
    """Runs by filter, in any order, and their curves."""

    def list(self, where: str | None, sort: str | None) -> Sequence[QueriedRun]:
        """All runs that match."""
        ...

    def records(self, runs: Sequence[QueriedRun]) -> Sequence[RunRecord]:
        """All that is known of some of them."""
        ...

    def curves(self, runs: Sequence[QueriedRun], metric: str, points: int) -> dict[str, list[CurvePoint]]:
        """The curve of a metric of each run that has it, by uid, downsampled to about so many points."""
        ...


def open_runs(words: Sequence[str]) -> TerminalRuns:
    """The runs that words mean; without any, those of the current folder."""
    given = classify_words(expand_files(words or ["."]))
    if given.runs and given.folders:
        raise InvalidValue(
            f"{given.runs[0]} is a run of a server and {given.folders[0]} is a folder.",
            hint="List folders and runs of a server with separate commands.",
        )
    if not given.runs:
        return _FolderRuns(given.folders)
    check_any_is_known(given)
    try:
        return _ServedRuns(given.runs)
    except UnknownName as error:
        raise explain_unknown(error, given) from None


class _FolderRuns:
    def __init__(self, folders: Sequence[str]) -> None:
        from aboard.cli.arguments import parse_roots
        from aboard.reader.collection import RunCollection
        from aboard.reader.index import IndexCache
        from aboard.services.folders.run_table import RunTable
        from aboard.services.folders.source import FolderSource

        roots = parse_roots(folders, None, None)
        # Each run would do this with its folder.
        whole = {name: root.absolute() if isinstance(root, Path) else root for name, root in roots.items()}
        collection = RunCollection(whole, cache=IndexCache.default(), notifications=False)
        with progress_line(lambda: f"{collection.progress.runs_read} of {collection.progress.runs_found} runs read"):
            collection.refresh()
        collection.keep()
        if not collection.runs:
            from aboard.cli.view.search import list_empty_roots

            raise UnknownName(
                " ".join(list_empty_roots(roots.values())),
                hint="Event files have `tfevents` in their names. Name the folder that your training logs to.",
            )
        title = next((root.absolute().name for root in roots.values() if isinstance(root, Path)), "runs")
        self._source = FolderSource(collection, home=load_settings().home, title=title)
        self._table = RunTable(self._source.runs)

    def list(self, where: str | None, sort: str | None) -> Sequence[QueriedRun]:
        query = parse_query(where) if where else None
        if query is not None and where is not None:
            self._table.check(query, where)
        order = parse_sort(sort) if sort else NEWEST_FIRST
        self._table.check_field(order.field, sort or "")
        return self._table.ordered(query, order)

    def records(self, runs: Sequence[QueriedRun]) -> Sequence[RunRecord]:
        wanted = {run.uid: index for index, run in enumerate(runs)}
        found = [run.record() for run in self._source.runs() if run.uid in wanted]
        return sorted(found, key=lambda run: wanted[run.uid])

    def curves(self, runs: Sequence[QueriedRun], metric: str, points: int) -> dict[str, list[CurvePoint]]:
        wanted = {run.uid for run in runs}
        found: dict[str, list[CurvePoint]] = {}
        for run in self._source.runs():
            tag = run.find_metric(metric) if run.uid in wanted else None
            if tag is not None:
                # As JSON: numpy, which the columns need, takes longer to load than all of this.
                rows = json.loads(tag.points().reduced(points).json(False))
                found[run.uid] = [CurvePoint(int(step), time, float(value)) for time, step, value in rows]
        return found


class _ServedRuns:
    def __init__(self, words: Sequence[str]) -> None:
        from aboard.client.client import Client

        self._client = Client()
        self._numbers = [run.number for run in select_runs(self._client, words)]

    def list(self, where: str | None, sort: str | None) -> Sequence[QueriedRun]:
        return [run for part in self._filters(where) for run in self._client.runs.iterate(where=part, sort=sort)]

    def records(self, runs: Sequence[QueriedRun]) -> Sequence[RunRecord]:
        return [run for run in runs if isinstance(run, RunRecord)]

    def _filters(self, where: str | None) -> Iterator[str]:
        for begin in range(0, len(self._numbers), _NUMBERS_AT_ONCE):
            numbers = ", ".join(map(str, self._numbers[begin : begin + _NUMBERS_AT_ONCE]))
            yield f"number in [{numbers}]" + (f" and ({where})" if where else "")

    def curves(self, runs: Sequence[QueriedRun], metric: str, points: int) -> dict[str, list[CurvePoint]]:
        names = {run.uid: f"{NumberKind.RUN}{run.number}" for run in runs if metric in run.metrics}
        found: dict[str, list[CurvePoint]] = {}
        for logdir, tag in _tags_of(metric):
            missing = [name for uid, name in names.items() if uid not in found]
            if not missing:
                break
            try:
                curves = self._client.series.get(missing, [tag], points=points)
            except UnknownName:
                continue  # the slash is at another place
            for curve in curves:
                if (curve.logdir, curve.tag) == (logdir, tag):
                    rows = zip(curve.steps.tolist(), curve.wall_times.tolist(), curve.values.tolist(), strict=True)
                    found[curve.uid] = [CurvePoint(*row) for row in rows]
        return found


def _tags_of(metric: str) -> Iterator[tuple[str, str]]:
    """The logdirs and tags that a metric may be: `test/result/acc` is also `result/acc` in the logdir `test`."""
    parts = metric.split("/")
    return (("/".join(parts[:count]), "/".join(parts[count:])) for count in range(len(parts)))


def resolve_metrics(runs: Sequence[QueriedRun], wanted: Sequence[str]) -> list[str]:
    """The metrics that names mean: a metric itself, or all that end with `/name`, as `loss` means `train/loss`."""
    known = {name: None for run in runs for name in run.metrics}
    found: dict[str, None] = {}
    for name in wanted:
        near = [name] if name in known else [one for one in known if one.endswith(f"/{name}")]
        if not near:
            raise UnknownName(f"No run has the metric {name!r}.", hint=nearest_hint(name, known, "metrics"))
        found |= dict.fromkeys(near)
    return list(found)
