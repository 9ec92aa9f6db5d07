# SPDX-License-Identifier: Apache-2.0
"""What a board shows: its selection, resolved again at any time, and the columns its run names are made of."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aboard.catalog.catalog import Catalog
from aboard.catalog.runs.selections import SelectedRuns
from aboard.errors import UnknownName
from aboard.model.boards import BoardRecord
from aboard.model.names import folded, run_name
from aboard.model.people import Access
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import Among, ColumnField, FieldComparison, conditions
from aboard.model.runs import RunRecord
from aboard.model.selections import (
    LogLocation,
    NumberKind,
    NumberRange,
    SelectedRun,
    Selection,
    SelectionEntry,
    hint_for_nothing,
    is_wild,
    parse_word,
)
from aboard.model.templates import NameTemplate, TemplateValue
from aboard.model.times import time_text
from aboard.services.runs.references import References, ResolvedSelection, Selections


def selections_of(catalog: Catalog, access: Access) -> Selections:
    """Selections as this person means them."""
    seen = catalog.seen_by(access.seen)
    return Selections(seen, References(seen))


def check_found(settled: Selection, resolved: ResolvedSelection) -> None:
    """Refuse what selects nothing, as long as no experiment or store is meant, whose runs will come."""
    awaited = {str(one) for one in settled.entries if isinstance(one, LogLocation) or _is_experiment(one)}
    missed = [word for word in resolved.empty if word not in awaited]
    if not missed:
        return
    if settled.where:
        hint = "`aboard runs list` shows what there is"
        raise UnknownName(f"there is no run for which {settled.where} holds", hint=hint)
    raise UnknownName(f"there is no run like {missed[0]!r}", hint=hint_for_nothing(missed[0]))


def _is_experiment(entry: SelectionEntry) -> bool:
    return isinstance(entry, NumberRange) and entry.kind is NumberKind.EXPERIMENT and entry.is_one


def kept_selection(board: BoardRecord) -> Selection:
    """The selection that a board keeps, which was settled: its words mean the same to everybody."""
    return Selection(where=board.where).with_entries([parse_word(source) for source in board.sources])


def named_numbers(board: BoardRecord, kind: NumberKind) -> tuple[int, ...]:
    """The runs or experiments that a board names one by one."""
    entries = kept_selection(board).entries
    return tuple(one.first for one in entries if isinstance(one, NumberRange) and one.kind is kind and one.is_one)


def workspaces_of(board: BoardRecord) -> frozenset[str]:
    """Folded names of the workspaces that a board names or has shown: who may not see all of them may not see it."""
    return _named_workspaces(board.sources, board.where, board.scope).union(board.shown)


@functools.lru_cache(4096)  # used by every request to a board
def _named_workspaces(sources: tuple[str, ...], where: str, scope: tuple[str, ...] | None) -> frozenset[str]:
    """Only those that its maker could see: others are perhaps not there, and their names reveal nothing."""
    entries = [parse_word(source) for source in sources]
    named = {
        entry.workspace for entry in entries if not isinstance(entry, LogLocation) and not is_wild(entry.workspace)
    }
    for condition in conditions(parse_query(where)) if where else ():
        if isinstance(condition.field, ColumnField) and condition.field.name == "workspace":
            values = condition.values if isinstance(condition, Among) else ()
            values = (condition.value,) if isinstance(condition, FieldComparison) else values
            named |= {value for value in values if isinstance(value, str)}
    found = frozenset(folded(name) for name in named if name)
    return found if scope is None else found.intersection(scope)


class BoardSelection:
    """The selection of one board. Of workspaces that its maker could not look into, it never finds anything."""

    def __init__(self, board: BoardRecord, catalog: Catalog) -> None:
        self._selection = kept_selection(board)
        seen = catalog.seen_by(None if board.scope is None else frozenset(board.scope))
        self._selections = Selections(seen, References(seen))
        self.is_live = self._selection.is_live
        self.folders: Sequence[str] = ()
        if self._selection.entries:
            self.folders = self._selections.resolve(self._selection).folders

    def resolve(self) -> list[SelectedRun]:
        """The runs that are meant now."""
        return list(self._selections.resolve(self._selection).runs)


_KNOWN_AT_ONCE = frozenset({"workspace", "run", "logdir", "path", "number", "uid", "status", "store", "root"})


def run_columns(
    selected: Sequence[SelectedRun], template: NameTemplate, catalog: SelectedRuns
) -> Mapping[str, Mapping[str, TemplateValue]]:
    """The columns of each run, by uid. The catalog is only asked for what the template wants and nobody knows yet."""
    shows_workspace = any(field.key == "workspace" and not field.group for field in template.fields)
    names = Counter(_called(run, shows_workspace=shows_workspace) for run in selected)
    columns: dict[str, dict[str, TemplateValue]] = {}
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


def logdir_columns(run: Mapping[str, TemplateValue], logdir: str) -> Mapping[str, TemplateValue]:
    """The columns of one logdir of a run; the run itself is called as the run is."""
    name = str(run.get("run") or "")
    return {**run, "logdir": logdir.rpartition("/")[2] or name, "path": logdir or name}


def _called(run: SelectedRun, *, shows_workspace: bool) -> tuple[str, str]:
    return (run.workspace if shows_workspace else "", run.name)


def _described(selected: Sequence[SelectedRun], template: NameTemplate, catalog: SelectedRuns) -> Iterable[RunRecord]:
    hparams = [field.key for field in template.fields if field.group == "hparams"]
    metrics = [field.key for field in template.fields if field.group == "metrics"]
    return catalog.described((run.number for run in selected), hparams, metrics)


def _more(run: RunRecord) -> dict[str, TemplateValue]:
    found: dict[str, TemplateValue] = {
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


def _plain(value: object) -> TemplateValue:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRefreshIntervals:
    """Seconds between two queries for the runs of an open board. After a slow query the pause is longer."""

    live: float = 1.0
    """For a board whose selection may grow, or one of whose runs has not ended."""
    fixed: float = 3.0
    """For all others: their runs can only be renamed or deleted, which is rare."""
