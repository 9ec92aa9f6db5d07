# SPDX-License-Identifier: Apache-2.0
"""What people add to a run whose files are read-only: its edits are kept beside what the files say.

An edit is applied to the run each time its files were read, so both can change. The documents of a folder or bucket are
never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from aboard.errors import InvalidValue
from aboard.model.documents import DocumentFields
from aboard.model.runs import Note, RunRecord
from aboard.model.times import time_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEdit:
    """What was added to one run. An empty name stands for the name of its folder."""

    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    removed_tags: frozenset[str] = frozenset()
    """Tags of the run's own document that are not to be shown."""
    notes: tuple[Note, ...] = ()
    deleted: datetime | None = None

    def apply(self, run: RunRecord) -> RunRecord:
        """The run as people see it; `run` is what its files say."""
        tags = {name: value for name, value in {**run.tags, **self.tags}.items() if name not in self.removed_tags}
        return replace(
            run,
            name=self.name or run.name,
            tags=tags,
            notes=(*run.notes, *self.notes),
            deleted=self.deleted or run.deleted,
        )

    def including(self, before: RunRecord, after: RunRecord) -> RunEdit:
        """The edit that also makes `after` of what people see now, which is `before`."""
        if after.workspace != before.workspace or after.experiment != before.experiment:
            raise InvalidValue(
                f"{before.name} is a run of the read-only source {before.store}, and stays in its workspace, "
                "without an experiment.",
                hint="`aboard sync FOLDER STORE` makes runs of a store, which can be moved.",
            )
        changed = {name: value for name, value in after.tags.items() if before.tags.get(name) != value}
        removed = before.tags.keys() - after.tags.keys()
        return replace(
            self,
            name=after.name if after.name != before.name else self.name,
            tags={name: value for name, value in {**self.tags, **changed}.items() if name not in removed},
            removed_tags=(self.removed_tags | removed) - changed.keys(),
            notes=(*self.notes, *after.notes[len(before.notes) :]),
            deleted=after.deleted if after.deleted != before.deleted else self.deleted,
        )


NO_EDIT = RunEdit()


def edit_to_document(edit: RunEdit) -> dict[str, object]:
    """The document that `edit_from_document` reads back."""
    return {
        "name": edit.name,
        "tags": dict(edit.tags),
        "removed_tags": sorted(edit.removed_tags),
        "notes": [
            {"text": note.text, "author": note.author, "written": time_text(note.written) if note.written else None}
            for note in edit.notes
        ],
        "deleted": time_text(edit.deleted) if edit.deleted else None,
    }


def edit_from_document(document: object, where: str) -> RunEdit:
    """The edit that a document describes; an error names the place that is wrong."""
    fields = DocumentFields(document, where)
    notes = [DocumentFields(note, where) for note in fields.entries("notes")]
    return RunEdit(
        name=fields.text("name"),
        tags={name: str(value) for name, value in fields.mapping("tags").items()},
        removed_tags=frozenset(map(str, fields.entries("removed_tags"))),
        notes=tuple(
            Note(text=note.text("text"), author=note.text("author"), written=note.time("written")) for note in notes
        ),
        deleted=fields.time("deleted"),
    )
