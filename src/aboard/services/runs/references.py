# SPDX-License-Identifier: Apache-2.0
"""Runs and experiments by what a user writes: one by reference, or many by selection.

A reference is `run343`, `343`, a uid, `exp7`, a name or `workspace/name`. `run343` and `exp7` are always numbers;
`name:run343` is the run with that name.

A selection is settled once, for the user who wrote it: unknown and ambiguous names are errors. The settled
selection names runs and experiments by number, so it survives renames and means the same to everybody. It is
resolved as often as somebody looks: runs that joined an experiment, a pattern or a filter are then included, and
entries that select nothing are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.foundation.text import closest_names
from aboard.model.groups import ExperimentRecord
from aboard.model.names import experiment_name, folded, is_uid, run_name
from aboard.model.query.fields import NEWEST_FIRST
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import Query
from aboard.model.runs import RunRecord
from aboard.model.selections import (
    MOST_RUNS,
    ExactName,
    LogLocation,
    NamePattern,
    NumberKind,
    NumberRange,
    SelectedRun,
    Selection,
    SelectionEntry,
    is_wild,
    parse_word,
)
from aboard.store.uri import parse_uri

if TYPE_CHECKING:
    from aboard.catalog.catalog import VisibleCatalog

_MOST = 1000
_HOW = "write run343, a uid, a name or workspace/name"


class References:
    """Finds what a reference means in a catalog."""

    def __init__(self, catalog: VisibleCatalog) -> None:
        self._catalog = catalog

    def run(self, text: str) -> RunRecord:
        """The one run that is meant, with everything, also when it is in the bin."""
        if not text.strip():
            raise InvalidValue("the name of a run is empty", hint=_HOW)
        entry = self._one(text, NumberKind.RUN)
        # Who wants something back from the bin names it as before.
        found = self.run_of(entry, in_bin=False) or self.run_of(entry, in_bin=True)
        if found is None:
            raise self.unknown_run(entry)
        return self._catalog.runs.get(found.number)

    def runs(self, texts: Iterable[str]) -> list[RunRecord]:
        """Each run that is meant, once; an error if one is not there, before anything is done to the others."""
        found = {run.uid: run for run in map(self.run, texts)}
        if not found:
            raise InvalidValue("no run is named", hint=_HOW)
        return list(found.values())

    def selected(self, texts: Sequence[str]) -> list[SelectedRun]:
        """As `runs`, with as much of each as tells where it is; numbers, which programs send, are looked up at once."""
        entries = [self._one(text, NumberKind.RUN) for text in texts if text.strip()]
        if not entries:
            raise InvalidValue("no run is named", hint=_HOW)
        numbers = [entry.first for entry in entries if isinstance(entry, NumberRange)]
        numbered = self._catalog.selected.numbered(numbers, in_bin=False) if numbers else {}
        found: dict[str, SelectedRun] = {}
        for entry in entries:
            run = numbered.get(entry.first) if isinstance(entry, NumberRange) else None
            if run is not None:
                self.check_workspace(run, entry)
            run = run or self.run_of(entry, in_bin=False) or self.run_of(entry, in_bin=True)
            if run is None:
                raise self.unknown_run(entry)
            found[run.uid] = run
        return list(found.values())

    def run_of(self, entry: NumberRange | ExactName, *, in_bin: bool) -> SelectedRun | None:
        """The one run that has this number, or this name or uid; an error if several have the name."""
        if isinstance(entry, ExactName):
            found = self._catalog.selected.named([entry.name], entry.workspace, in_bin=in_bin)
            # Capitals tell runs apart that differ in nothing else.
            found = [run for run in found if run.name == entry.name] or found
            if len(found) > 1:
                raise ambiguous_name("runs", str(entry), [in_workspace(run) for run in found])
            return found[0] if found else None
        found = self._catalog.selected.numbered([entry.first], in_bin=in_bin).get(entry.first)
        if found is not None:
            self.check_workspace(found, entry)
        return found

    def experiment(self, text: str, *, exact: bool) -> ExperimentRecord:
        """The one experiment that is meant, also when it is in the bin; `exact` as for `experiment_of`."""
        return self.experiment_of(self._one(text, NumberKind.EXPERIMENT), exact=exact)

    def experiment_in_bin(self, text: str) -> ExperimentRecord:
        """The one experiment that is meant; of several with a name, those in the bin come first."""
        entry = self._one(text, NumberKind.EXPERIMENT)
        found = self._experiments_named(entry, in_bin=True) if isinstance(entry, ExactName) else ()
        return found[0] if found else self.experiment_of(entry, exact=True)

    def experiment_of(self, entry: NumberRange | ExactName, *, exact: bool) -> ExperimentRecord:
        """The one experiment that has this number or name.

        Unless `exact`, a number that no experiment has may be a name: XT calls its experiments `job2300`.
        """
        if isinstance(entry, ExactName):
            found = self._experiments_named(entry)
            if not found:
                raise self._catalog.experiments.unknown(entry.name, workspace=entry.workspace)
            return found[0]
        try:
            found = self._catalog.experiments.get(entry.first)
        except UnknownName:
            if not exact and (named := self._experiments_named(ExactName(entry.typed, entry.workspace))):
                return named[0]
            raise self._unknown_experiment(entry) from None
        if entry.workspace not in ("", folded(found.workspace)):
            name = experiment_name(found.number)
            hint = self._hint_by_name(entry) or f"write {found.workspace}/{name} or {name}"
            raise UnknownName(f"there is no experiment {name} in the workspace {entry.workspace}", hint=hint)
        return found

    def check_workspace(self, run: SelectedRun, entry: NumberRange | ExactName) -> None:
        """Refuse a run that is in another workspace than the word says."""
        if entry.workspace and folded(run.workspace) != entry.workspace:
            name = run_name(run.number)
            hint = self._hint_by_name(entry) or f"write {run.workspace}/{name} or {name}"
            raise UnknownName(f"there is no run {name} in the workspace {entry.workspace}", hint=hint)

    def unknown_run(self, entry: NumberRange | ExactName, *others: str) -> UnknownName:
        """The error for what no run is called, with the nearest names of runs, and of those `others`."""
        hint = self._hint_by_name(entry)
        if not hint:
            recent = self._catalog.runs.list(sort=NEWEST_FIRST, limit=_MOST, hparams=(), metrics=()).items
            names = {str(ExactName(name)) for name in {*(run.name for run in recent), *others} if name}
            names |= {run_name(run.number or 0) for run in recent}
            near = closest_names(str(entry).rpartition("/")[2], names, 3, cutoff=0.5)
            hint = f"nearest: {', '.join(near)}" if near else "`aboard runs list` shows what there is"
        return UnknownName(f"there is no run {str(entry)!r}", hint=hint)

    def _unknown_experiment(self, entry: NumberRange) -> UnknownName:
        hint = self._hint_by_name(entry)
        if not hint:
            newest = self._catalog.experiments.list(limit=5).items
            hint = f"the newest are {', '.join(map(in_workspace, newest))}" if newest else "there is none yet"
        return UnknownName(f"there is no experiment {experiment_name(entry.first)}", hint=hint)

    def _experiments_named(self, entry: ExactName, *, in_bin: bool = False) -> Sequence[ExperimentRecord]:
        found = self._catalog.experiments.all_named(entry.name, workspace=entry.workspace, in_bin=in_bin)
        if len(found) > 1:
            what = "experiments in the trash" if in_bin else "experiments"
            raise ambiguous_name(what, str(entry), [in_workspace(one) for one in found])
        return found

    def _hint_by_name(self, entry: NumberRange | ExactName) -> str:
        """What to write for the run or experiment whose name looks like this number; empty when there is none."""
        if isinstance(entry, ExactName):
            return ""
        named = ExactName(entry.typed or str(entry.first), entry.workspace)
        runs = self._catalog.selected.named([named.name], named.workspace)
        what = "run" if runs else "experiment"
        if not runs and not self._catalog.experiments.all_named(named.name, workspace=named.workspace):
            return ""
        return f"{entry.typed} is a number; write {named} for the {what} with that name"

    def _one(self, text: str, kind: NumberKind) -> NumberRange | ExactName:
        """The number or name that a word means where one run or experiment is expected; `10-20` is a name there."""
        try:
            entry = parse_word(text, numbers=kind)
        except InvalidValue:
            return _as_name(text)
        if isinstance(entry, ExactName):
            return entry
        if not isinstance(entry, NumberRange) or not entry.is_one:
            return _as_name(text)
        if entry.kind is not kind:
            wanted, other = ("a run", "an experiment") if kind is NumberKind.RUN else ("an experiment", "a run")
            hint = self._hint_by_name(entry) or f"write the number or name of {wanted}, as {kind}7"
            raise UnknownName(f"{entry.typed} is the number of {other}, where {wanted} is expected", hint=hint)
        return entry


def ambiguous_name(what: str, text: str, places: Sequence[str]) -> Conflict:
    """The error for a name that several have."""
    some = ", ".join(places[:10]) + (" …" if len(places) > 10 else "")
    return Conflict(f"{len(places)} {what} are called {text!r}", hint=f"name one by its number: {some}")


def in_workspace(one: SelectedRun | ExperimentRecord) -> str:
    """What to write for it, and where it is."""
    name = run_name(one.number) if isinstance(one, SelectedRun) else experiment_name(one.number)
    return f"{name} in {one.workspace}"


def _as_name(text: str) -> ExactName:
    workspace, _, name = text.strip().replace("\\", "/").rpartition("/")
    return ExactName(name, workspace)


@dataclass(frozen=True, slots=True)
class ResolvedSelection:
    """What a selection means at this moment."""

    runs: tuple[SelectedRun, ...]
    """In the order of the entries, and within one by number."""
    folders: tuple[str, ...]
    """Those of which the catalog knows no run."""
    empty: tuple[str, ...]
    """Entries that select nothing; with a filter that filter, if it leaves nothing."""


class Selections:
    """Finds out what selections mean."""

    def __init__(self, catalog: VisibleCatalog, references: References) -> None:
        self._catalog, self._references, self._selected = catalog, references, catalog.selected

    def settle(self, selection: Selection, *, in_bin: bool = False, exact: bool = False) -> Selection:
        """The same selection by numbers. With `in_bin` it is about runs in the bin.

        Unless `exact`, `job2300` may be the name of an experiment, as long as no experiment has that number.
        """
        if selection.where:
            self._catalog.fields.check(parse_query(selection.where), selection.where)
        known = self._selected.numbered(_single_runs(selection), in_bin=in_bin)
        gone = self._selected.missing_experiments(_single_experiments(selection))
        settled: list[SelectionEntry] = []
        for entry in selection.entries:
            match entry:
                case NumberRange(kind=NumberKind.RUN) if entry.is_one:
                    settled.append(self._run(entry, known.get(entry.first), in_bin=in_bin))
                case NumberRange() if entry.is_one:
                    settled.append(self._experiment(entry, entry.first in gone, in_bin=in_bin, exact=exact))
                case NumberRange() | NamePattern():
                    if entry.workspace and not is_wild(entry.workspace):
                        self._catalog.workspaces.get(entry.workspace)
                    settled.append(entry)
                case ExactName():
                    settled.append(self._named(entry, in_bin=in_bin))
                case LogLocation():
                    settled.append(self._folder(entry, has_filter=bool(selection.where)))
        return selection.with_entries(settled)

    def resolve(self, settled: Selection, *, in_bin: bool = False) -> ResolvedSelection:
        """The runs that are meant now."""
        where = parse_query(settled.where) if settled.where else None
        known = self._selected.numbered(_single_runs(settled), where, in_bin=in_bin)
        runs: dict[int, SelectedRun] = {}
        folders: list[str] = []
        empty: list[str] = []
        for entry in settled.entries:
            if isinstance(entry, NumberRange) and entry.is_one and entry.kind is NumberKind.RUN:
                found = [known[entry.first]] if entry.first in known else []
            elif isinstance(entry, LogLocation) and not self._is_known(entry):
                folders.append(entry.uri)
                continue
            else:
                found = self._runs_of(entry, where, in_bin=in_bin)
            if not found:
                empty.append(str(entry))
            runs |= {run.number: run for run in found}
            if len(runs) > MOST_RUNS:
                raise InvalidValue(f"more than {MOST_RUNS:,} runs are selected", hint="narrow it with a filter")
        if not settled.entries:
            runs = {run.number: run for run in self._selected.all(where, in_bin=in_bin)}
        if settled.where:
            empty = [] if runs else [settled.where]
        return ResolvedSelection(tuple(runs.values()), tuple(folders), tuple(empty))

    def _runs_of(self, entry: SelectionEntry, where: Query | None, *, in_bin: bool) -> list[SelectedRun]:
        try:
            match entry:
                case NumberRange():
                    return self._selected.between(entry, where, in_bin=in_bin)
                case NamePattern():
                    return self._selected.like(entry, where, in_bin=in_bin)
                case LogLocation(uri):
                    store, _, uid = uri.rpartition("/")
                    inside = self._selected.of_store(store if is_uid(uid) else uri, where, in_bin=in_bin)
                    return [run for run in inside if not is_uid(uid) or run.uid == uid]
                case ExactName(name, workspace):
                    return self._selected.named([name], workspace, in_bin=in_bin)
        except UnknownName:
            return []  # its workspace is gone

    def _run(self, entry: NumberRange, found: SelectedRun | None, *, in_bin: bool) -> SelectionEntry:
        if found is None:
            found = self._references.run_of(entry, in_bin=in_bin)
        else:
            self._references.check_workspace(found, entry)
        return _number(found) if found is not None else self._refuse(entry, in_bin=in_bin)

    def _experiment(self, entry: NumberRange, is_gone: bool, *, in_bin: bool, exact: bool) -> SelectionEntry:
        if not is_gone and not entry.workspace:
            return NumberRange(entry.kind, entry.first, entry.first)
        found = self._references.experiment_of(entry, exact=exact)
        if found.deleted is not None and not in_bin:
            name = experiment_name(found.number)
            raise UnknownName(f"{name} is in the trash", hint=f"`aboard experiments restore {name}` takes it out")
        return NumberRange(entry.kind, found.number, found.number)

    def _named(self, entry: ExactName, *, in_bin: bool) -> SelectionEntry:
        found = self._references.run_of(entry, in_bin=in_bin)
        groups = self._catalog.experiments.all_named(entry.name, workspace=entry.workspace)
        if len(groups) + (found is not None) > 1:
            what = "experiments" if found is None else "runs and experiments"
            raise ambiguous_name(
                what, str(entry), [in_workspace(one) for one in [*([found] if found else []), *groups]]
            )
        if found is not None:
            return _number(found)
        if groups:
            return NumberRange(NumberKind.EXPERIMENT, groups[0].number, groups[0].number)
        return self._refuse(entry, in_bin=in_bin)

    def _refuse(self, entry: NumberRange | ExactName, *, in_bin: bool) -> SelectionEntry:
        elsewhere = self._references.run_of(entry, in_bin=not in_bin)
        if elsewhere is not None and in_bin:
            raise UnknownName(f"{entry} is not in the bin", hint="`aboard runs list --bin` shows what is there")
        if elsewhere is not None:
            hint = f"`aboard runs restore {run_name(elsewhere.number)}` takes it out; --bin is for runs that stay there"
            raise UnknownName(f"{entry} is in the bin", hint=hint)
        groups = self._catalog.experiments.list(limit=1000).items
        raise self._references.unknown_run(entry, *(group.name for group in groups))

    def _folder(self, entry: LogLocation, *, has_filter: bool) -> SelectionEntry:
        if entry.uri.startswith((".", "~")):
            hint = "write the whole path, or a URI"
            raise InvalidValue(f"{entry.uri} means another folder on every machine", hint=hint)
        settled = LogLocation(parse_uri(entry.uri).uri)
        if has_filter and not self._is_known(settled):
            hint = "leave the filter away, or name runs that the server knows"
            raise InvalidValue(f"{settled.uri} is a plain folder, of which a filter knows nothing", hint=hint)
        return settled

    def _is_known(self, folder: LogLocation) -> bool:
        """Whether it is a store of runs, or a run in one."""
        store, _, uid = folder.uri.rpartition("/")
        return self._selected.has_store(folder.uri) or (is_uid(uid) and self._selected.has_store(store))


def _number(run: SelectedRun) -> NumberRange:
    return NumberRange(NumberKind.RUN, run.number, run.number)


def _single_runs(selection: Selection) -> list[int]:
    return _single(selection, NumberKind.RUN)


def _single_experiments(selection: Selection) -> list[int]:
    return _single(selection, NumberKind.EXPERIMENT)


def _single(selection: Selection, kind: NumberKind) -> list[int]:
    return [one.first for one in selection.entries if isinstance(one, NumberRange) and one.is_one and one.kind is kind]
