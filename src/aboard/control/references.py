# SPDX-License-Identifier: Apache-2.0
"""Runs and experiments by what a person calls them: `run343`, `343`, a uid, `exp7`, a name, `workspace/name`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from aboard.catalog.catalog import Catalog
from aboard.errors import Conflict, InvalidValue, UnknownName
from aboard.model.experiment import Experiment
from aboard.model.names import run_name
from aboard.model.query.sorting import NEWEST_FIRST
from aboard.model.query.syntax import Column, ColumnKind, Comparison, Order
from aboard.model.run import Run
from aboard.model.uid import is_uid

_RUN = re.compile(r"(?:run)?([1-9][0-9]{0,17})", re.IGNORECASE)
_EXPERIMENT = re.compile(r"(?:exp|job)?([1-9][0-9]{0,17})", re.IGNORECASE)
_MOST = 1000


class References:
    """Finds what a reference means in a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def run(self, text: str) -> Run:
        """The one run that is meant, with everything, also when it is in the bin."""
        text = text.strip()
        if not text:
            raise InvalidValue("the name of a run is empty", hint="write run343, a uid, a name or workspace/name")
        if is_uid(text.upper()):
            return self._catalog.runs.by_uid(text.upper())
        number = _RUN.fullmatch(text)
        named = self._named(text)
        if number is not None:
            # A number is unique; a name that looks like another run's number gives way to it.
            try:
                return self._catalog.runs.get(int(number[1]))
            except UnknownName:
                if not named:
                    raise self._unknown(text) from None
        if len(named) > 1:
            all_of_them = ", ".join(f"{run_name(run.number or 0)} in {run.workspace}" for run in named[:10])
            raise Conflict(f"{len(named)} runs are called {text!r}", hint=f"name one by its number: {all_of_them}")
        if not named:
            raise self._unknown(text)
        return self._catalog.runs.get(named[0].number or 0)

    def runs(self, texts: Iterable[str]) -> list[Run]:
        """Each run that is meant, once; an error if one is not there, before anything is done to the others."""
        found = {run.uid: run for run in map(self.run, texts)}
        if not found:
            raise InvalidValue("no run is named", hint="write run343, a uid, a name or workspace/name")
        return list(found.values())

    def experiment(self, text: str) -> Experiment:
        """The one experiment that is meant, also when it is in the bin."""
        text = text.strip()
        if (number := _EXPERIMENT.fullmatch(text)) is not None:
            return self._catalog.experiments.get(int(number[1]))
        workspace, slash, name = text.partition("/")
        if slash:
            return self._catalog.experiments.named(workspace, name)
        found: list[Experiment] = []
        nearest: UnknownName | None = None
        for one in self._catalog.workspaces.list():
            try:
                found.append(self._catalog.experiments.named(one.name, text))
            except UnknownName as error:
                nearest = error
        if len(found) > 1:
            places = ", ".join(f"exp{one.number} in {one.workspace}" for one in found)
            raise Conflict(f"{len(found)} experiments are called {text!r}", hint=f"name one by its number: {places}")
        if not found:
            raise nearest or UnknownName(f"there is no experiment {text!r}", hint="there is no workspace yet")
        return found[0]

    def _named(self, text: str) -> Sequence[Run]:
        workspace, slash, name = text.partition("/")
        if slash:
            within = self._catalog.workspaces.get(workspace).name
            return [run for run in self._all_named(name) if run.workspace == within]
        return self._all_named(text)

    def _all_named(self, name: str) -> Sequence[Run]:
        same = Comparison(Column("name", ColumnKind.TEXT), Order.EQUAL, name)
        found = self._catalog.runs.list(where=same, limit=20, hparams=(), metrics=()).items
        # Who wants something back from the bin names it as before.
        return found or self._catalog.runs.list(where=same, limit=20, in_bin=True, hparams=(), metrics=()).items

    def _unknown(self, text: str) -> UnknownName:
        recent = self._catalog.runs.list(sort=NEWEST_FIRST, limit=_MOST, hparams=(), metrics=()).items
        names = {run.name for run in recent} | {run_name(run.number or 0) for run in recent}
        near = difflib.get_close_matches(text.rpartition("/")[2], names, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else "`aboard runs list` shows what there is"
        return UnknownName(f"there is no run {text!r}", hint=hint)
