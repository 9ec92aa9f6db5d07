# SPDX-License-Identifier: Apache-2.0
"""Backups of catalogs: whole, of one moment, and good for either kind of database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from aboard.catalog.backup import back_up, restore
from aboard.catalog.catalog import Catalog
from aboard.catalog.schema import metadata
from aboard.errors import CatalogUnavailable, Conflict, StorageUnavailable
from aboard.model.boards import BoardKind, BoardRecord
from aboard.model.names import new_uid
from aboard.model.people import Role
from aboard.model.runs import RunRecord
from aboard.model.times import now


def _fill(catalog: Catalog) -> str:
    for number in range(3):
        hparams = {"lr": 0.1 * number, "opt": "adam", "seed": 2**60 + 1, "on": True}
        catalog.runs.put(
            RunRecord(uid=new_uid(), workspace="Vision", experiment="base", hparams=hparams, created=now())
        )
    catalog.bin.delete_runs([2, 3])
    catalog.bin.purge_runs([3])
    catalog.people.add("ann", is_administrator=True)
    catalog.people.set_role("ann", "vision", Role.EDITOR)
    catalog.audit.record("ann", "test", "run1", {"ü": [1, None]})
    board = BoardRecord(
        id="b", name="board", workspace="Vision", sources=("run1",), created=now(), kind=BoardKind.PROCESS
    )
    catalog.boards.add(board)
    assert catalog.boards.units.claim(board.id, new_uid(), "machine:/home")
    catalog.sessions.begin("ann", origin="token", lifetime=timedelta(hours=1))
    return catalog.tokens.issue("ann", "laptop", scopes=["read"])[1]


def _rows(catalog: Catalog) -> dict[str, list[tuple[object, ...]]]:
    with catalog.database.reading() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(table.select())), key=str)
            for table in metadata.sorted_tables
            if table.name not in ("sessions", "login_codes")
        }


def test_a_backup_goes_into_another_catalog_of_either_kind(
    catalog: Catalog, new_place: Callable[[], str], tmp_path: Path
):
    token = _fill(catalog)
    file = tmp_path / "backups" / "one.sqlite"
    assert back_up(catalog, file) == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    assert [path.name for path in file.parent.iterdir()] == ["one.sqlite"]
    for place in (str(tmp_path / "other.sqlite"), new_place()):
        with Catalog.open(place) as other:
            assert restore(other, file, replace=False) == 1
            assert _rows(other) == _rows(catalog)
            checked = other.tokens.check(token)
            assert checked is not None
            assert checked.user == "ann"
            assert other.sessions.list("ann") == []  # nobody is logged in by a backup
            # Numbers that were given are not given again, also not those of what was purged.
            added = other.runs.put(RunRecord(uid=new_uid(), workspace="vision", created=now()))
            assert added.number == 4
            other.people.add("zoe")
            other.audit.record("zoe", "test", "run1")
    assert [path.name for path in file.parent.iterdir()] == ["one.sqlite"]


def test_nothing_is_overwritten_unasked(catalog: Catalog, tmp_path: Path):
    _fill(catalog)
    file = tmp_path / "one.sqlite"
    back_up(catalog, file)
    before = file.read_bytes()
    with pytest.raises(Conflict, match="exists already"):
        back_up(catalog, file)
    with pytest.raises(Conflict, match="is not empty"):
        restore(catalog, file, replace=False)
    catalog.people.add("late")
    restore(catalog, file, replace=True)
    assert [user.name for user in catalog.people.list()] == ["ann"]
    assert file.read_bytes() == before


def test_what_is_no_backup_leaves_the_catalog_as_it_was(catalog: Catalog, tmp_path: Path):
    _fill(catalog)
    rows = _rows(catalog)
    (tmp_path / "text").write_text("not a database, but long enough to be looked at " * 100)
    with pytest.raises(CatalogUnavailable):
        restore(catalog, tmp_path / "text", replace=True)
    with closing(sqlite3.connect(tmp_path / "foreign")) as connection:
        connection.execute("CREATE TABLE runs (x)")
        connection.commit()
    with pytest.raises(CatalogUnavailable, match="tables of another program"):
        restore(catalog, tmp_path / "foreign", replace=True)
    with pytest.raises(StorageUnavailable, match="there is no backup"):
        restore(catalog, tmp_path / "none", replace=True)
    assert _rows(catalog) == rows


def test_a_backup_is_of_one_moment_while_others_write(catalog: Catalog, tmp_path: Path):
    import threading

    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            catalog.runs.put(RunRecord(uid=new_uid(), workspace="w", experiment="e", hparams={"a": 1}, created=now()))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(3):
            file = tmp_path / f"{number}.sqlite"
            back_up(catalog, file)
            with closing(sqlite3.connect(file)) as connection:
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
                runs, hparams = (
                    connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("runs", "hparams")
                )
                assert runs == hparams
    finally:
        stop.set()
        thread.join(20)
