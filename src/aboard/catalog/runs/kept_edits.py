# SPDX-License-Identifier: Apache-2.0
"""Edits of runs whose files are read-only. They are kept here, and applied whenever such a run is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from aboard.catalog.database import parts_of
from aboard.catalog.schema import run_edits
from aboard.model.run_edits import RunEdit, edit_from_document, edit_to_document


def read_edits(connection: Connection, numbers: Sequence[int]) -> Mapping[int, RunEdit]:
    """The edits of these runs, by number; runs that nobody has edited are left out."""
    found: dict[int, RunEdit] = {}
    for some in parts_of(numbers):
        query = select(run_edits.c.run_id, run_edits.c.edit).where(run_edits.c.run_id.in_(some))
        rows = connection.execute(query)
        found |= {number: edit_from_document(document, f"the edit of run {number}") for number, document in rows}
    return found


def keep_edit(connection: Connection, number: int, edit: RunEdit) -> None:
    """Keep the edit of a run, in place of the one before. The caller has locked the row of the run."""
    connection.execute(delete(run_edits).where(run_edits.c.run_id == number))
    connection.execute(insert(run_edits).values(run_id=number, edit=edit_to_document(edit)))
