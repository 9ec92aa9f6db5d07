# SPDX-License-Identifier: Apache-2.0
"""Selections against the catalog: what names mean, once; then which runs are meant, as often as somebody looks.

`settle` is for a person who asks: unknown and ambiguous names are errors. What it gives back names runs and experiments
by number, so that it stays the same when they are renamed, and is the same for everybody who means the same. `resolve`
is for whoever looks later: runs that joined an experiment, a pattern or a filter are there, and what is gone is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from aboard.catalog.catalog import SeenCatalog
from aboard.catalog.selected_runs import MOST_RUNS
from aboard.errors import InvalidValue, UnknownName
from aboard.model.names import experiment_name, run_name
from aboard.model.query.parser import parse_query
from aboard.model.query.syntax import Query
from aboard.model.selected_run import SelectedRun
from aboard.model.selection import Entry, Folder, Named, NamedLike, NumberKind, Numbers, Selection, is_wild
from aboard.model.uid import is_uid
from aboard.services.references import References, in_workspace, several
from aboard.store.uri import parse_uri


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a selection means at this moment."""

    runs: tuple[SelectedRun, ...]
    """In the order of the entries, and within one by number."""
    folders: tuple[str, ...]
    """Those of which the catalog knows no run."""
    empty: tuple[str, ...]
    """Entries that select nothing; with a filter that filter, if it leaves nothing."""


class Selections:
    """Finds out what selections mean."""

    def __init__(self, catalog: SeenCatalog, references: References) -> None:
        self._catalog, self._references, self._selected = catalog, references, catalog.selected

    def settle(self, selection: Selection, *, in_bin: bool = False, exact: bool = False) -> Selection:
        """The same selection by numbers. With `in_bin` it is about runs in the bin.

        Unless `exact`, `job2300` may be the name of an experiment, as long as no experiment has that number.
        """
        if selection.where:
            self._catalog.fields.check(parse_query(selection.where), selection.where)
        known = self._selected.numbered(_single_runs(selection), in_bin=in_bin)
        gone = self._selected.missing_experiments(_single_experiments(selection))
        settled: list[Entry] = []
        for entry in selection.entries:
            match entry:
                case Numbers(kind=NumberKind.RUN) if entry.is_one:
                    settled.append(self._run(entry, known.get(entry.first), in_bin=in_bin))
                case Numbers() if entry.is_one:
                    settled.append(self._experiment(entry, entry.first in gone, in_bin=in_bin, exact=exact))
                case Numbers() | NamedLike():
                    if entry.workspace and not is_wild(entry.workspace):
                        self._catalog.workspaces.get(entry.workspace)
                    settled.append(entry)
                case Named():
                    settled.append(self._named(entry, in_bin=in_bin))
                case Folder():
                    settled.append(self._folder(entry, has_filter=bool(selection.where)))
        return selection.with_entries(settled)

    def resolve(self, settled: Selection, *, in_bin: bool = False) -> Resolved:
        """The runs that are meant now."""
        where = parse_query(settled.where) if settled.where else None
        known = self._selected.numbered(_single_runs(settled), where, in_bin=in_bin)
        runs: dict[int, SelectedRun] = {}
        folders: list[str] = []
        empty: list[str] = []
        for entry in settled.entries:
            if isinstance(entry, Numbers) and entry.is_one and entry.kind is NumberKind.RUN:
                found = [known[entry.first]] if entry.first in known else []
            elif isinstance(entry, Folder) and not self._is_known(entry):
                folders.append(entry.uri)
                continue
            else:
                found = self._found(entry, where, in_bin=in_bin)
            if not found:
                empty.append(str(entry))
            runs |= {run.number: run for run in found}
            if len(runs) > MOST_RUNS:
                raise InvalidValue(f"more than {MOST_RUNS:,} runs are selected", hint="narrow it with a filter")
        if not settled.entries:
            runs = {run.number: run for run in self._selected.all(where, in_bin=in_bin)}
        if settled.where:
            empty = [] if runs else [settled.where]
        return Resolved(tuple(runs.values()), tuple(folders), tuple(empty))

    def _found(self, entry: Entry, where: Query | None, *, in_bin: bool) -> list[SelectedRun]:
        try:
            match entry:
                case Numbers():
                    return self._selected.between(entry, where, in_bin=in_bin)
                case NamedLike():
                    return self._selected.like(entry, where, in_bin=in_bin)
                case Folder(uri):
                    store, _, uid = uri.rpartition("/")
                    inside = self._selected.of_store(store if is_uid(uid) else uri, where, in_bin=in_bin)
                    return [run for run in inside if not is_uid(uid) or run.uid == uid]
                case Named(name, workspace):
                    return self._selected.named([name], workspace, in_bin=in_bin)
        except UnknownName:
            return []  # its workspace is gone

    def _run(self, entry: Numbers, found: SelectedRun | None, *, in_bin: bool) -> Entry:
        if found is None:
            found = self._references.run_of(entry, in_bin=in_bin)
        else:
            self._references.check_workspace(found, entry)
        return _number(found) if found is not None else self._refuse(entry, in_bin=in_bin)

    def _experiment(self, entry: Numbers, is_gone: bool, *, in_bin: bool, exact: bool) -> Entry:
        if not is_gone and not entry.workspace:
            return Numbers(entry.kind, entry.first, entry.first)
        found = self._references.experiment_of(entry, exact=exact)
        if found.deleted is not None and not in_bin:
            name = experiment_name(found.number)
            raise UnknownName(f"{name} is in the trash", hint=f"`aboard experiments restore {name}` takes it out")
        return Numbers(entry.kind, found.number, found.number)

    def _named(self, entry: Named, *, in_bin: bool) -> Entry:
        found = self._references.run_of(entry, in_bin=in_bin)
        groups = self._catalog.experiments.all_named(entry.name, workspace=entry.workspace)
        if len(groups) + (found is not None) > 1:
            what = "experiments" if found is None else "runs and experiments"
            raise several(what, str(entry), [in_workspace(one) for one in [*([found] if found else []), *groups]])
        if found is not None:
            return _number(found)
        if groups:
            return Numbers(NumberKind.EXPERIMENT, groups[0].number, groups[0].number)
        return self._refuse(entry, in_bin=in_bin)

    def _refuse(self, entry: Numbers | Named, *, in_bin: bool) -> Entry:
        elsewhere = self._references.run_of(entry, in_bin=not in_bin)
        if elsewhere is not None and in_bin:
            raise UnknownName(f"{entry} is not in the bin", hint="`aboard runs list --bin` shows what is there")
        if elsewhere is not None:
            hint = f"`aboard runs restore {run_name(elsewhere.number)}` takes it out; --bin is for runs that stay there"
            raise UnknownName(f"{entry} is in the bin", hint=hint)
        groups = self._catalog.experiments.list(limit=1000).items
        raise self._references.unknown_run(entry, *(group.name for group in groups))

    def _folder(self, entry: Folder, *, has_filter: bool) -> Entry:
        if entry.uri.startswith((".", "~")):
            hint = "write the whole path, or a URI"
            raise InvalidValue(f"{entry.uri} means another folder on every machine", hint=hint)
        settled = Folder(parse_uri(entry.uri).uri)
        if has_filter and not self._is_known(settled):
            hint = "leave the filter away, or name runs that the server knows"
            raise InvalidValue(f"{settled.uri} is a plain folder, of which a filter knows nothing", hint=hint)
        return settled

    def _is_known(self, folder: Folder) -> bool:
        """Whether it is a store of runs, or a run in one."""
        store, _, uid = folder.uri.rpartition("/")
        return self._selected.has_store(folder.uri) or (is_uid(uid) and self._selected.has_store(store))


def _number(run: SelectedRun) -> Numbers:
    return Numbers(NumberKind.RUN, run.number, run.number)


def _single_runs(selection: Selection) -> list[int]:
    return _single(selection, NumberKind.RUN)


def _single_experiments(selection: Selection) -> list[int]:
    return _single(selection, NumberKind.EXPERIMENT)


def _single(selection: Selection, kind: NumberKind) -> list[int]:
    return [one.first for one in selection.entries if isinstance(one, Numbers) and one.is_one and one.kind is kind]
