# SPDX-License-Identifier: Apache-2.0
"""Editing runs: tags, notes, names, moves, trash and deletion.

An edit is written to `run.json` in the run's store, which is the truth, and then to the catalog. Edits of runs of
read-only sources are kept in the catalog alone. Only servers
write `run.json` once it exists (docs/decisions/0010), so an edit never conflicts with a training, which writes
other documents. An edit reads the document again, writes it with a higher revision, and leaves an announcement by
which other servers of the same store notice it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aboard.api.runs import RunChange, RunProblem
from aboard.errors import AboardError, Conflict, Forbidden, InvalidValue, UnknownName
from aboard.model.names import check_name, run_name
from aboard.model.people import Access, Role
from aboard.model.runs import Note, RunRecord
from aboard.model.times import now
from aboard.services.runs.references import References
from aboard.store.run import layout
from aboard.store.run.claims import announced_change
from aboard.store.run.documents import with_tags
from aboard.store.run.loading import load_run
from aboard.store.run.run_folder import RunFolder
from aboard.store.store import Store

if TYPE_CHECKING:
    from aboard.catalog.catalog import Catalog, VisibleCatalog
    from aboard.services.stores.indexing import RunIndexer

Edit = Callable[[RunRecord], RunRecord]
"""Gets what `run.json` says and returns what it shall say."""
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class EditResult:
    """Runs as they are now, and problems of those that were not changed."""

    runs: list[RunRecord]
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

    def folder_of(self, run: RunRecord) -> RunFolder:
        """Where the files of a run are."""
        if not run.store:
            raise _not_there(run)
        return RunFolder(self._open_store(run.store), run.uid)

    def edit(self, run: RunRecord, change: Edit) -> RunRecord:
        """Change one run, in the store and in the catalog; one of a read-only source in the catalog alone."""
        if run.is_read_only:
            edited = self._catalog.runs.edit(run.number or 0, change)
            self._indexer.noticed(edited)
            return edited
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

    def edit_all(self, runs: Sequence[RunRecord], change: Edit) -> EditResult:
        """Change many runs, several at a time. What fails for one is told and does not keep the others from it."""

        def attempt(run: RunRecord) -> RunRecord | RunProblem:
            try:
                return self.edit(run, change)
            except AboardError as error:
                return problem_of(run, error)

        if len(runs) == 1:
            return EditResult([self.edit(runs[0], change)], [])
        with self._indexer.changing(run.uid for run in runs), ThreadPoolExecutor(_AT_ONCE) as threads:
            return collect_results(threads.map(attempt, runs))

    def delete_files(self, run: RunRecord) -> None:
        """Delete everything of a run; the document by which it is known goes last, so that nothing is left nameless."""
        folder = self.folder_of(run)
        with self._indexer.alone(run.uid):
            folder.delete([entry.key for entry in folder.list() if entry.key != layout.RUN])
            folder.delete([layout.RUN])
            self._forget(run.uid)


def collect_results(results: Iterable[RunRecord | RunProblem]) -> EditResult:
    """Edited runs and problems, separated."""
    edited = EditResult([], [])
    for one in results:
        if isinstance(one, RunRecord):
            edited.runs.append(one)
        else:
            edited.problems.append(one)
    return edited


def problem_of(run: RunRecord, error: AboardError) -> RunProblem:
    """What went wrong with one of several runs."""
    return RunProblem(run=run_name(run.number or 0), code=error.code, message=error.message)


def is_live(run: RunRecord) -> bool:
    """Whether more is expected of a run."""
    return not run.status.is_ended and run.heartbeat is not None


def _not_there(run: RunRecord) -> AboardError:
    name = run_name(run.number or 0)
    if run.heartbeat is None and not run.attempts:
        return Conflict(f"{name} has not reached its store yet", hint="try again when it has begun")
    return UnknownName(f"the files of {name} are no longer in {run.store or 'any store'}", hint="run `aboard reindex`")


def _read_only(run: RunRecord) -> Forbidden:
    return Forbidden(
        f"{run_name(run.number or 0)} is in the read-only source {run.store}, whose files are never deleted.",
        hint="Move the run to the trash without its files, or delete its folder yourself.",
    )


_LONGEST_TEXT = 100_000
_LONGEST_TAG = 250


class RunEdits:
    """Edits of runs by one user. Permissions are checked before the first run is touched."""

    def __init__(self, access: Access, catalog: VisibleCatalog, references: References, editor: RunEditor) -> None:
        self._access, self._catalog, self._references, self._editor = access, catalog, references, editor

    def change(self, asked: RunChange) -> EditResult:
        """Change some runs; what is asked is checked before the first of them is touched."""
        checked = self._checked(asked)
        runs = self._references.runs(asked.runs)
        self._check(Role.EDITOR, runs)
        note = None
        if checked.note is not None:
            author = checked.author if self._access.speaks_for_others else self._access.name
            note = Note(text=checked.note, author=author or self._access.name, written=now())
        edited = self._editor.edit_all(runs, lambda run: _with_changes(run, checked, note))
        self._record("change", edited.runs, _given_fields(checked))
        return edited

    def delete(self, runs: Sequence[RunRecord], *, files: bool) -> EditResult:
        """Put runs into the bin; with `files` they are gone for good."""
        self._check(Role.ADMIN if files else Role.EDITOR, runs)
        if files:
            return self._delete_files(runs)
        at = now()
        edited = self._editor.edit_all(runs, lambda run: replace(run, deleted=run.deleted or at))
        self._record("delete", edited.runs, {})
        return edited

    def restore(self, runs: Sequence[RunRecord]) -> EditResult:
        """Take runs out of the bin."""
        self._check(Role.EDITOR, runs)
        edited = self._editor.edit_all(runs, lambda run: replace(run, deleted=None))
        self._catalog.bin.restore_runs([run.number or 0 for run in edited.runs])
        self._record("restore", edited.runs, {})
        return EditResult([replace(run, deleted=None) for run in edited.runs], edited.problems)

    def _check(self, role: Role, runs: Sequence[RunRecord]) -> None:
        for workspace in {run.workspace for run in runs}:
            self._access.check(role, workspace)

    def _delete_files(self, runs: Sequence[RunRecord]) -> EditResult:
        kept = [run for run in runs if run.is_read_only]
        if kept and len(kept) == len(runs):
            raise _read_only(kept[0])
        for run in runs:
            if is_live(run) and not run.is_read_only:
                raise Conflict(
                    f"{run_name(run.number or 0)} is {run.status}; its files are still written",
                    hint="end it first, or delete it without its files",
                )
        edited = collect_results(self._without_files(run) for run in runs)
        self._record("delete files", edited.runs, {})
        return edited

    def _without_files(self, run: RunRecord) -> RunRecord | RunProblem:
        """First into the bin: a run whose files are half gone is not shown as if it were whole."""
        number = run.number or 0
        if run.is_read_only:
            return problem_of(run, _read_only(run))
        try:
            self._catalog.bin.delete_runs([number])
            if run.store:
                self._editor.delete_files(run)
            self._catalog.bin.purge_runs([number])
        except AboardError as error:
            return problem_of(run, error)
        return replace(run, deleted=run.deleted or now(), files=0, bytes=0)

    def _checked(self, asked: RunChange) -> RunChange:
        if asked.name is not None:
            check_name(asked.name, "a run")
            if len(asked.runs) != 1:
                raise InvalidValue(f"one name cannot be given to {len(asked.runs)} runs", hint="name one run")
        if asked.workspace is not None:
            asked = replace(asked, workspace=self._catalog.workspaces.get(asked.workspace).name)
            self._access.check(Role.EDITOR, asked.workspace or "")
        if asked.experiment:
            check_name(asked.experiment, "an experiment")
        self.check_texts(asked)
        return asked

    @staticmethod
    def check_texts(asked: RunChange) -> None:
        """Refuse tags and notes that are too long or empty, and a change of nothing."""
        for tag in (*asked.set_tags, *asked.remove_tags):
            if not tag.strip() or len(tag) > _LONGEST_TAG:
                raise InvalidValue(f"{tag!r} is not a tag", hint=f"a tag has 1 to {_LONGEST_TAG} characters")
        for tag, value in asked.set_tags.items():
            if len(value) > _LONGEST_TEXT:
                raise InvalidValue(
                    f"The value of the tag {tag!r} has {len(value):,} characters.",
                    hint=f"Write at most {_LONGEST_TEXT:,} characters, or keep it in a file of the run.",
                )
        if asked.note is not None and not 0 < len(asked.note.strip()) <= _LONGEST_TEXT:
            raise InvalidValue("a note has no text, or too much", hint=f"write 1 to {_LONGEST_TEXT} characters")
        if not _given_fields(asked):
            raise InvalidValue("nothing is to be changed", hint="give a name, workspace, experiment, tags or a note")

    def _record(self, action: str, runs: Sequence[RunRecord], details: dict[str, object]) -> None:
        for run in runs:
            self._catalog.audit.record(self._access.name, action, run_name(run.number or 0), details)


def _with_changes(run: RunRecord, asked: RunChange, note: Note | None) -> RunRecord:
    run = replace(run, notes=(*run.notes, note) if note else run.notes, name=asked.name or run.name)
    run = with_tags(run, asked.set_tags, asked.remove_tags)
    if asked.workspace is not None:
        run = replace(run, workspace=asked.workspace, experiment_number=None)
    if asked.experiment is not None:
        run = replace(run, experiment=asked.experiment or None, experiment_number=None)
    return run


def _given_fields(asked: RunChange) -> dict[str, object]:
    given = {
        "name": asked.name,
        "workspace": asked.workspace,
        "experiment": asked.experiment,
        "set_tags": dict(asked.set_tags) or None,
        "remove_tags": list(asked.remove_tags) or None,
        "note": asked.note,
    }
    return {name: value for name, value in given.items() if value is not None}
