# SPDX-License-Identifier: Apache-2.0
"""What names of runs on a board may show of the catalog: the columns of a template, by run and logdir."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from aboard.catalog.selected_runs import SelectedRuns
from aboard.model.name_template import NameTemplate, Value
from aboard.model.names import run_name
from aboard.model.run import Run
from aboard.model.selected_run import SelectedRun
from aboard.model.times import time_text

_KNOWN_AT_ONCE = frozenset({"workspace", "run", "logdir", "path", "number", "uid", "status", "store", "root"})


def run_columns(
    selected: Sequence[SelectedRun], template: NameTemplate, catalog: SelectedRuns
) -> Mapping[str, Mapping[str, Value]]:
    """The columns of each run, by uid. The catalog is only asked for what the template wants and nobody knows yet."""
    shows_workspace = any(field.key == "workspace" and not field.group for field in template.fields)
    names = Counter(_called(run, shows_workspace=shows_workspace) for run in selected)
    columns: dict[str, dict[str, Value]] = {}
    for run in selected:
        # Two runs of one name would be told apart by a number that says nothing; that of the run says which it is.
        is_alone = names[_called(run, shows_workspace=shows_workspace)] == 1
        columns[run.uid] = {
            "workspace": run.workspace,
            "root": run.workspace,
            "run": run.name if is_alone else f"{run.name}-{run_name(run.number)}",
            "number": run.number,
            "uid": run.uid,
            "status": run.status.value,
            "store": run.store,
        }
    if any(field.group or field.key not in _KNOWN_AT_ONCE for field in template.fields):
        for run in _described(selected, template, catalog):
            if run.uid in columns:
                columns[run.uid] |= _more(run)
    return columns


def logdir_columns(run: Mapping[str, Value], logdir: str) -> Mapping[str, Value]:
    """The columns of one logdir of a run; the run itself is called as the run is."""
    name = str(run.get("run") or "")
    return {**run, "logdir": logdir.rpartition("/")[2] or name, "path": logdir or name}


def _called(run: SelectedRun, *, shows_workspace: bool) -> tuple[str, str]:
    return (run.workspace if shows_workspace else "", run.name)


def _described(selected: Sequence[SelectedRun], template: NameTemplate, catalog: SelectedRuns) -> Iterable[Run]:
    hparams = [field.key for field in template.fields if field.group == "hparams"]
    metrics = [field.key for field in template.fields if field.group == "metrics"]
    return catalog.described((run.number for run in selected), hparams, metrics)


def _more(run: Run) -> dict[str, Value]:
    found: dict[str, Value] = {
        "experiment": run.experiment,
        "user": run.user or None,
        "host": run.host or None,
        "created": _moment(run.created),
        "started": _moment(run.started),
        "ended": _moment(run.ended),
        "duration": run.duration,
        "exit_code": run.exit_code,
        "attempts": len(run.attempts) or None,
    }
    found |= {f"tags.{name}": value or name for name, value in run.tags.items()}
    found |= {f"hparams.{name}": _plain(value) for name, value in run.hparams.items()}
    for name, summary in run.metrics.items():
        points = {"last": summary.last, "min": summary.smallest, "max": summary.largest}
        found |= {f"metrics.{name}.{which}": point.value for which, point in points.items() if point is not None}
    return found


def _moment(at: datetime | None) -> str | None:
    return None if at is None else time_text(at)[:19]


def _plain(value: object) -> Value:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
