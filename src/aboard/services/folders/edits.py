# SPDX-License-Identifier: Apache-2.0
"""What people add to runs of a folder or bucket: names, tags, notes, trash and saved views.

Nothing is written into the folder. The edits of one source are a document under `$ABOARD_HOME/folders`, keyed by the
path of each run below its root, so that they are there at the next opening and `aboard sync` can take them along.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aboard.foundation.documents import fields_of, parse_document, render_document
from aboard.foundation.files import make_private_folder, written_aside
from aboard.foundation.locks import locked
from aboard.model.documents import DocumentFields
from aboard.model.run_edits import NO_EDIT, RunEdit, edit_from_document, edit_to_document
from aboard.model.runs import Note

_FORMAT = "aboard.folder-edits"


def document_of(home: Path, source: str) -> Path:
    """Where what people add to a source is kept."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return home / "folders" / f"{digest}.json"


class FolderEdits:
    """The edits of one source. Several threads and processes may change them; each change reads the newest first."""

    def __init__(self, home: Path, source: str) -> None:
        """`source` is the absolute folder, or the URI, that the paths of runs are relative to."""
        self._source = source
        self._file = document_of(home, source)
        self._lock = threading.Lock()
        self._runs = self._read()

    def of(self, path: str) -> RunEdit:
        """The edits of the run at this path."""
        return self._runs.get(path, NO_EDIT)

    def paths(self) -> Collection[str]:
        """The runs that have edits."""
        return self._runs.keys()

    def change(self, paths: Sequence[str], change: Callable[[RunEdit], RunEdit]) -> Mapping[str, RunEdit]:
        """Change the edits of the runs at these paths; an error leaves everything as it was."""
        make_private_folder(self._file.parent)
        with self._lock, locked(self._file.with_suffix(".lock")):
            runs = self._read()
            changed = {path: change(runs.get(path, NO_EDIT)) for path in paths}
            runs |= changed
            kept = {path: edit_to_document(edit) for path, edit in runs.items() if edit != NO_EDIT}
            with written_aside(self._file) as file:
                file.write(render_document(_FORMAT, {"source": self._source, "runs": kept}))
            self._runs = runs
            return changed

    def _read(self) -> dict[str, RunEdit]:
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return {}
        where = str(self._file)
        with fields_of(where):
            runs = DocumentFields(parse_document(content, _FORMAT, where), where).mapping("runs")
            return {path: edit_from_document(entry, where) for path, entry in runs.items()}


def with_changes(
    edit: RunEdit, *, name: str | None, set_tags: Mapping[str, str], remove_tags: tuple[str, ...], note: Note | None
) -> RunEdit:
    """The edits with some changes more."""
    tags = {**edit.tags, **set_tags}
    return replace(
        edit,
        name=edit.name if name is None else name,
        tags={key: value for key, value in tags.items() if key not in remove_tags},
        removed_tags=(edit.removed_tags | set(remove_tags)) - set(set_tags),
        notes=(*edit.notes, note) if note else edit.notes,
    )
