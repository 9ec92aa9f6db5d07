# SPDX-License-Identifier: Apache-2.0
"""Single runs and experiments by what a person calls them: `run343`, `343`, a uid, `exp7`, a name, `workspace/name`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from aboard.catalog.catalog import SeenCatalog
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.experiment import Experiment
from aboard.model.names import experiment_name, folded, run_name
from aboard.model.query.sorting import NEWEST_FIRST
from aboard.model.run import Run
from aboard.model.selected_run import SelectedRun
from aboard.model.selection import Named, NumberKind, Numbers
from aboard.model.selection_words import parse_word

_MOST = 1000
_HOW = "write run343, a uid, a name or workspace/name"


class References:
    """Finds what a reference means in a catalog."""

    def __init__(self, catalog: SeenCatalog) -> None:
        self._catalog = catalog

    def run(self, text: str) -> Run:
        """The one run that is meant, with everything, also when it is in the bin."""
        if not text.strip():
            raise InvalidValue("the name of a run is empty", hint=_HOW)
        entry = _one(text, NumberKind.RUN)
        # Who wants something back from the bin names it as before.
        found = self.run_of(entry, in_bin=False) or self.run_of(entry, in_bin=True)
        if found is None:
            raise self.unknown_run(str(entry))
        return self._catalog.runs.get(found.number)

    def runs(self, texts: Iterable[str]) -> list[Run]:
        """Each run that is meant, once; an error if one is not there, before anything is done to the others."""
        found = {run.uid: run for run in map(self.run, texts)}
        if not found:
            raise InvalidValue("no run is named", hint=_HOW)
        return list(found.values())

    def selected(self, texts: Sequence[str]) -> list[SelectedRun]:
        """As `runs`, with as much of each as tells where it is; numbers, which programs send, are looked up at once."""
        entries = [_one(text, NumberKind.RUN) for text in texts if text.strip()]
        if not entries:
            raise InvalidValue("no run is named", hint=_HOW)
        numbers = [entry.first for entry in entries if isinstance(entry, Numbers)]
        numbered = self._catalog.selected.numbered(numbers, in_bin=False) if numbers else {}
        found: dict[str, SelectedRun] = {}
        for entry in entries:
            run = numbered.get(entry.first) if isinstance(entry, Numbers) else None
            if run is not None:
                check_workspace(run, entry.workspace)
            run = run or self.run_of(entry, in_bin=False) or self.run_of(entry, in_bin=True)
            if run is None:
                raise self.unknown_run(str(entry))
            found[run.uid] = run
        return list(found.values())

    def run_of(self, entry: Numbers | Named, *, in_bin: bool) -> SelectedRun | None:
        """The one run that has this number, or this name or uid; an error if several have the name."""
        if isinstance(entry, Named):
            return self._only([entry.name], entry, in_bin=in_bin)
        found = self._catalog.selected.numbered([entry.first], in_bin=in_bin).get(entry.first)
        if found is not None:
            check_workspace(found, entry.workspace)
            return found
        # A number is unique; a name that looks like another run's number gives way to it.
        return self._only([run_name(entry.first), str(entry.first)], entry, in_bin=in_bin)

    def experiment(self, text: str) -> Experiment:
        """The one experiment that is meant, also when it is in the bin."""
        named = _one(text, NumberKind.EXPERIMENT)
        if isinstance(named, Numbers):
            found = self._catalog.experiments.get(named.first)
            if named.workspace not in ("", folded(found.workspace)):
                raise UnknownName(f"there is no experiment {named}", hint=f"it is in {found.workspace}")
            return found
        found = self._catalog.experiments.all_named(named.name, workspace=named.workspace)
        if len(found) > 1:
            raise several("experiments", text.strip(), [in_workspace(one) for one in found])
        if not found:
            raise self._catalog.experiments.unknown(named.name, workspace=named.workspace)
        return found[0]

    def unknown_run(self, text: str, *others: str) -> UnknownName:
        """The error for what no run is called, with the nearest names of runs, and of those `others`."""
        recent = self._catalog.runs.list(sort=NEWEST_FIRST, limit=_MOST, hparams=(), metrics=()).items
        names = {run.name for run in recent} | {run_name(run.number or 0) for run in recent} | set(others)
        near = difflib.get_close_matches(text.rpartition("/")[2], names, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else "`aboard runs list` shows what there is"
        return UnknownName(f"there is no run {text!r}", hint=hint)

    def _only(self, names: Sequence[str], entry: Numbers | Named, *, in_bin: bool) -> SelectedRun | None:
        found = self._catalog.selected.named(names, entry.workspace, in_bin=in_bin)
        # Capitals tell runs apart that differ in nothing else.
        found = [run for run in found if run.name in names] or found
        if len(found) > 1:
            raise several("runs", str(entry), [in_workspace(run) for run in found])
        return found[0] if found else None


def check_workspace(run: SelectedRun, workspace: str) -> None:
    """Refuse a run that is in another workspace than was said."""
    if workspace and folded(run.workspace) != workspace:
        name = run_name(run.number)
        raise UnknownName(
            f"there is no run {name} in the workspace {workspace}", hint=f"write {run.workspace}/{name} or {name}"
        )


def several(what: str, text: str, places: Sequence[str]) -> Conflict:
    """The error for a name that several have."""
    some = ", ".join(places[:10]) + (" …" if len(places) > 10 else "")
    return Conflict(f"{len(places)} {what} are called {text!r}", hint=f"name one by its number: {some}")


def in_workspace(one: SelectedRun | Experiment) -> str:
    """What to write for it, and where it is."""
    name = run_name(one.number) if isinstance(one, SelectedRun) else experiment_name(one.number)
    return f"{name} in {one.workspace}"


def _one(text: str, kind: NumberKind) -> Numbers | Named:
    """Where one run is meant, `exp7` and `10-20` are names; so is `run7` where an experiment is."""
    try:
        entry = parse_word(text, numbers=kind)
    except InvalidValue:
        return _as_name(text)
    if isinstance(entry, Named) or (isinstance(entry, Numbers) and entry.is_one and entry.kind is kind):
        return entry
    return _as_name(text)


def _as_name(text: str) -> Named:
    workspace, _, name = text.strip().replace("\\", "/").rpartition("/")
    return Named(name, workspace)
