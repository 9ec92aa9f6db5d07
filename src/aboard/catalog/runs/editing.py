# SPDX-License-Identifier: Apache-2.0
"""Edits a run whose files are read-only: in the catalog alone."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select, update

from aboard.catalog.database import Database
from aboard.catalog.lookup import stored_fold, stored_key
from aboard.catalog.runs.kept_edits import keep_edit, read_edits
from aboard.catalog.runs.records import note_rows, read_runs, tag_rows
from aboard.catalog.runs.writing import make_equal
from aboard.catalog.schema import notes, runs, tags
from aboard.errors import UnknownName
from aboard.model.names import run_name
from aboard.model.run_edits import NO_EDIT
from aboard.model.runs import RunRecord


def edit_run(database: Database, number: int, change: Callable[[RunRecord], RunRecord]) -> RunRecord:
    """Change the name, tags, notes or trash of a run; `change` gets what people see and returns what they shall see."""

    def work(connection: Connection) -> RunRecord:
        # Whoever writes the run from its files waits for this, and then finds the edit.
        locked = connection.execute(select(runs.c.id).where(runs.c.id == number).with_for_update()).first()
        if locked is None:
            raise UnknownName(f"There is no run {run_name(number)}.")
        (before,) = read_runs(connection, [number], with_details=True)
        after = change(before)
        edit = read_edits(connection, [number]).get(number, NO_EDIT).including(before, after)
        keep_edit(connection, number, edit)
        row: dict[str, object] = {"name": stored_key(after.name), "name_key": stored_fold(after.name), "digest": None}
        if after.deleted != before.deleted:
            row |= {"deleted": after.deleted, "deleted_why": None}
        connection.execute(update(runs).where(runs.c.id == number).values(**row))
        make_equal(connection, tags, "name", [number], tag_rows(number, after))
        make_equal(connection, notes, "position", [number], note_rows(number, after))
        return read_runs(connection, [number], with_details=True)[0]

    return database.write(work)
