# SPDX-License-Identifier: Apache-2.0
"""Tags, notes, names, moves, deletion and restoring of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aboard.api.runs import RunChange, RunProblem
from aboard.catalog.catalog import SeenCatalog
from aboard.errors import AboardError, Conflict, InvalidValue
from aboard.model.access import Access
from aboard.model.names import check_name, run_name
from aboard.model.note import Note
from aboard.model.run import Run
from aboard.model.times import now
from aboard.model.user import Role
from aboard.services.references import References
from aboard.services.run_edits import Edited, RunEditor, gathered, is_live, problem_of
from aboard.store.run.run_json import with_tags

_LONGEST_TEXT = 100_000
_LONGEST_TAG = 250


class RunChanges:
    """What one person does with runs; what they may not do is refused before the first run is touched."""

    def __init__(self, access: Access, catalog: SeenCatalog, references: References, editor: RunEditor) -> None:
        self._access, self._catalog, self._references, self._editor = access, catalog, references, editor

    def change(self, asked: RunChange) -> Edited:
        """Change some runs; what is asked is checked before the first of them is touched."""
        checked = self._checked(asked)
        runs = self._references.runs(asked.runs)
        self._check(Role.EDITOR, runs)
        note = None
        if checked.note is not None:
            author = checked.author if self._access.speaks_for_others else self._access.name
            note = Note(text=checked.note, author=author or self._access.name, written=now())
        edited = self._editor.edit_all(runs, lambda run: _changed(run, checked, note))
        self._record("change", edited.runs, _said(checked))
        return edited

    def delete(self, runs: Sequence[Run], *, files: bool) -> Edited:
        """Put runs into the bin; with `files` they are gone for good."""
        self._check(Role.ADMIN if files else Role.EDITOR, runs)
        if files:
            return self._delete_files(runs)
        at = now()
        edited = self._editor.edit_all(runs, lambda run: replace(run, deleted=run.deleted or at))
        self._record("delete", edited.runs, {})
        return edited

    def restore(self, runs: Sequence[Run]) -> Edited:
        """Take runs out of the bin."""
        self._check(Role.EDITOR, runs)
        edited = self._editor.edit_all(runs, lambda run: replace(run, deleted=None))
        self._catalog.bin.restore_runs([run.number or 0 for run in edited.runs])
        self._record("restore", edited.runs, {})
        return Edited([replace(run, deleted=None) for run in edited.runs], edited.problems)

    def _check(self, role: Role, runs: Sequence[Run]) -> None:
        for workspace in {run.workspace for run in runs}:
            self._access.check(role, workspace)

    def _delete_files(self, runs: Sequence[Run]) -> Edited:
        for run in runs:
            if is_live(run):
                raise Conflict(
                    f"{run_name(run.number or 0)} is {run.status}; its files are still written",
                    hint="end it first, or delete it without its files",
                )
        edited = gathered(self._without_files(run) for run in runs)
        self._record("delete files", edited.runs, {})
        return edited

    def _without_files(self, run: Run) -> Run | RunProblem:
        """First into the bin: a run whose files are half gone is not shown as if it were whole."""
        number = run.number or 0
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
        for tag in (*asked.set_tags, *asked.remove_tags):
            if not tag.strip() or len(tag) > _LONGEST_TAG:
                raise InvalidValue(f"{tag!r} is not a tag", hint=f"a tag has 1 to {_LONGEST_TAG} characters")
        if asked.note is not None and not 0 < len(asked.note.strip()) <= _LONGEST_TEXT:
            raise InvalidValue("a note has no text, or too much", hint=f"write 1 to {_LONGEST_TEXT} characters")
        if not _said(asked):
            raise InvalidValue("nothing is to be changed", hint="give a name, workspace, experiment, tags or a note")
        return asked

    def _record(self, action: str, runs: Sequence[Run], details: dict[str, object]) -> None:
        for run in runs:
            self._catalog.audit.record(self._access.name, action, run_name(run.number or 0), details)


def _changed(run: Run, asked: RunChange, note: Note | None) -> Run:
    run = replace(run, notes=(*run.notes, note) if note else run.notes, name=asked.name or run.name)
    run = with_tags(run, asked.set_tags, asked.remove_tags)
    if asked.workspace is not None:
        run = replace(run, workspace=asked.workspace, experiment_number=None)
    if asked.experiment is not None:
        run = replace(run, experiment=asked.experiment or None, experiment_number=None)
    return run


def _said(asked: RunChange) -> dict[str, object]:
    given = {
        "name": asked.name,
        "workspace": asked.workspace,
        "experiment": asked.experiment,
        "set_tags": dict(asked.set_tags) or None,
        "remove_tags": list(asked.remove_tags) or None,
        "note": asked.note,
    }
    return {name: value for name, value in given.items() if value is not None}
