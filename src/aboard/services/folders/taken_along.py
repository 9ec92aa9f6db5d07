# SPDX-License-Identifier: Apache-2.0
"""Taking along what people added to runs of a folder when `aboard sync` makes them runs of a store.

`run.json` keeps the edits that it got, next to what people changed there later. The next sync compares with them, so
that it adds only what is new in the folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from aboard.errors import InvalidValue
from aboard.model.run_edits import NO_EDIT, RunEdit, edit_from_document, edit_to_document
from aboard.model.runs import RunRecord
from aboard.model.times import now
from aboard.services.folders.edits import FolderEdits
from aboard.store.run.claims import announced_change
from aboard.store.run.documents import with_tags
from aboard.store.run.run_folder import RunFolder

_DETAIL = "folder_edits"


class EditsOfFolders:
    """The edits of runs by their folder, whichever folder above them was viewed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[Path, FolderEdits] = {}

    def of(self, folder: Path) -> RunEdit:
        """All that was added to the run in a folder; where two views differ, that of the nearer folder counts."""
        edit = NO_EDIT
        for source in (folder, *folder.parents):
            path = folder.relative_to(source).as_posix()
            edit = _combined(edit, self._edits(source).of(path))
        return edit

    def below(self, folder: Path) -> Iterator[Path]:
        """The folders of the runs with edits that were made when this folder was viewed."""
        for path in self._edits(folder).paths():
            yield folder / path

    def _edits(self, source: Path) -> FolderEdits:
        if source not in self._known:
            self._known[source] = FolderEdits(self._home, str(source))
        return self._known[source]


def _combined(near: RunEdit, far: RunEdit) -> RunEdit:
    return RunEdit(
        name=near.name or far.name,
        tags={name: value for name, value in {**far.tags, **near.tags}.items() if name not in near.removed_tags},
        removed_tags=(far.removed_tags - near.tags.keys()) | near.removed_tags,
        notes=(*near.notes, *(note for note in far.notes if note not in near.notes)),
        deleted=near.deleted or far.deleted,
    )


def take_along(folder: RunFolder, edit: RunEdit, plain_name: str) -> list[str]:
    """Add to `run.json` what is new in the edits of a run; what that was, in words.

    `plain_name` is the name that the run has without any edit.
    """
    run = folder.read_run()
    if run is None or edit == (before := _edit_taken(run)):
        return []
    run, taken = _with_edit(run, before, edit, plain_name)
    details = {**run.details, _DETAIL: edit_to_document(edit)}
    with announced_change(folder):
        folder.write_run(replace(run, details=details, revision=(run.revision or 0) + 1, updated=now()))
    return taken


def _edit_taken(run: RunRecord) -> RunEdit:
    try:
        return edit_from_document(run.details[_DETAIL], _DETAIL) if _DETAIL in run.details else NO_EDIT
    except InvalidValue:
        return NO_EDIT


def _with_edit(run: RunRecord, before: RunEdit, edit: RunEdit, plain_name: str) -> tuple[RunRecord, list[str]]:
    taken: list[str] = []
    if edit.name != before.name:
        run = replace(run, name=edit.name or plain_name)
        taken.append("name")
    given = {name: value for name, value in edit.tags.items() if before.tags.get(name) != value}
    removed = (edit.removed_tags - before.removed_tags) | (before.tags.keys() - edit.tags.keys())
    if given or removed:
        run = with_tags(run, given, removed)
        taken.append("tags")
    if notes := [note for note in edit.notes if note not in before.notes]:
        run = replace(run, notes=(*run.notes, *notes))
        taken.append("notes")
    if edit.deleted != before.deleted:
        run = replace(run, deleted=edit.deleted)
        taken.append("trash")
    return run, taken
