# SPDX-License-Identifier: Apache-2.0
"""Changes what people say about runs: in `run.json` of their store, which is the truth, then in the catalog.

Nobody but a server writes `run.json` once it is there (docs/decisions/0010), so a change never gets in the way of a
training: that one writes other documents. A change reads the document anew, writes it with a higher revision, and
leaves an announcement, by which other servers of the same store notice it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from aboard.api.runs import RunProblem
from aboard.catalog.catalog import Catalog
from aboard.errors import AboardError, Conflict, UnknownName
from aboard.model.names import run_name
from aboard.model.run import Run
from aboard.model.times import now
from aboard.services.indexing import RunIndexer
from aboard.store.run import layout
from aboard.store.run.claiming import announced_change
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

Edit = Callable[[Run], Run]
"""Gets what `run.json` says and returns what it shall say."""
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Edited:
    """Runs as they are now, and those that stayed as they were."""

    runs: list[Run]
    problems: list[RunProblem]


class RunEditor:
    """Changes documents of runs."""

    def __init__(
        self,
        catalog: Catalog,
        indexer: RunIndexer,
        open_store: Callable[[str], Store],
        forget: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._catalog, self._indexer, self._open_store, self._forget = catalog, indexer, open_store, forget

    def folder_of(self, run: Run) -> RunFolder:
        """Where the files of a run are."""
        if not run.store:
            raise _not_there(run)
        return RunFolder(self._open_store(run.store), run.uid)

    def edit(self, run: Run, change: Edit) -> Run:
        """Change one run, in the store and in the catalog."""
        folder = self.folder_of(run)
        with self._indexer.alone(run.uid):
            document = folder.read_run()
            if document is None:
                raise _not_there(run)
            number = document.number or run.number  # so that a rebuilt catalog gives the same one
            changed = replace(change(document), number=number, revision=(document.revision or 0) + 1, updated=now())
            with announced_change(folder):
                folder.write_run(changed)
            loaded = load_run(folder)
            self._indexer.put(loaded.run or replace(changed, store=run.store), was_known=True)
        return self._catalog.runs.by_uid(run.uid)

    def edit_all(self, runs: Sequence[Run], change: Edit) -> Edited:
        """Change many runs, several at a time. What fails for one is told and does not keep the others from it."""

        def attempt(run: Run) -> Run | RunProblem:
            try:
                return self.edit(run, change)
            except AboardError as error:
                return problem_of(run, error)

        if len(runs) == 1:
            return Edited([self.edit(runs[0], change)], [])
        with self._indexer.changing(run.uid for run in runs), ThreadPoolExecutor(_AT_ONCE) as threads:
            return gathered(threads.map(attempt, runs))

    def delete_files(self, run: Run) -> None:
        """Delete everything of a run; the document by which it is known goes last, so that nothing is left nameless."""
        folder = self.folder_of(run)
        with self._indexer.alone(run.uid):
            folder.delete([entry.key for entry in folder.list() if entry.key != layout.RUN])
            folder.delete([layout.RUN])
            self._forget(run.uid)


def gathered(results: Iterable[Run | RunProblem]) -> Edited:
    """Results, told apart."""
    edited = Edited([], [])
    for one in results:
        if isinstance(one, Run):
            edited.runs.append(one)
        else:
            edited.problems.append(one)
    return edited


def problem_of(run: Run, error: AboardError) -> RunProblem:
    """What went wrong with one of several runs."""
    return RunProblem(run=run_name(run.number or 0), code=error.code, message=error.message)


def is_live(run: Run) -> bool:
    """Whether more is expected of a run."""
    return not run.status.is_ended and run.heartbeat is not None


def _not_there(run: Run) -> AboardError:
    name = run_name(run.number or 0)
    if run.heartbeat is None and not run.attempts:
        return Conflict(f"{name} has not reached its store yet", hint="try again when it has begun")
    return UnknownName(f"the files of {name} are no longer in {run.store or 'any store'}", hint="run `aboard reindex`")
