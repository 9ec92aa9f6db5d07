# SPDX-License-Identifier: Apache-2.0
"""Backups of a catalog. A backup is itself a SQLite catalog and can be restored into SQLite or PostgreSQL.

It is read in one transaction, so that it is a consistent snapshot also while a server writes.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, cast, delete, func, insert, select, text
from sqlalchemy.dialects.postgresql import REGCLASS

from aboard.catalog.catalog import Catalog
from aboard.catalog.schema import metadata, retired_numbers
from aboard.errors import Conflict, StorageUnavailable

_PART = 2000
# What lets browsers and programs in for now is not worth keeping, and must not come back to life.
_PASSING = frozenset({"sessions", "login_codes", "reindexings", "leases"})


def back_up(catalog: Catalog, target: Path) -> int:
    """Write a backup to a file that is not there yet; its size."""
    if target.exists():
        raise Conflict(f"{target} exists already", hint="choose another name, or remove it")
    aside = target.with_name(f"{target.name}.{os.getpid()}.aside")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with Catalog.open(aside, beside_server=True) as copy:
            _copy(catalog, copy)
        with closing(sqlite3.connect(aside)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # one file instead of three
            connection.execute("VACUUM")
        aside.replace(target)
        return target.stat().st_size
    except OSError as error:
        raise StorageUnavailable(f"{target} cannot be written: {error.strerror}") from error
    finally:
        for end in ("", "-wal", "-shm", ".lock"):
            aside.with_name(aside.name + end).unlink(missing_ok=True)


def restore(catalog: Catalog, source: Path, *, replace: bool) -> int:
    """Put a backup into a catalog, whole or not at all; how many runs it has."""
    if not source.is_file():
        raise StorageUnavailable(f"there is no backup {source}", hint="name what `aboard server backup` has written")
    if not replace and not _is_empty(catalog):
        hint = "name an empty one with --catalog, or give --replace; a backup of it first is a good idea"
        raise Conflict(f"the catalog {catalog} is not empty", hint=hint)
    aside = source.with_name(f".{source.name}.{os.getpid()}.reading")
    try:
        # Opening it may bring it to the newest schema, and a backup is not to be changed.
        aside.write_bytes(source.read_bytes())
        with Catalog.open(aside, beside_server=True) as backup:
            _copy(backup, catalog)
    except OSError as error:
        raise StorageUnavailable(f"{source} cannot be read: {error.strerror}") from error
    finally:
        for end in ("", "-wal", "-shm", ".lock"):
            aside.with_name(aside.name + end).unlink(missing_ok=True)
    return catalog.runs.count()


def _is_empty(catalog: Catalog) -> bool:
    return not (catalog.runs.count() or catalog.runs.count(in_bin=True) or catalog.people.list())


def _copy(source: Catalog, target: Catalog) -> None:
    tables = metadata.sorted_tables

    def work(writing: Connection) -> None:
        for table in reversed(tables):
            writing.execute(delete(table))
        with source.database.reading() as reading:
            for table in tables:
                if table.name not in _PASSING:
                    _copy_table(reading, writing, table)
        for table in tables:
            _continue_numbers(writing, table)

    target.database.write(work)


def _copy_table(reading: Connection, writing: Connection, table: Table) -> None:
    rows = reading.execution_options(yield_per=_PART).execute(select(table)).mappings()
    part: list[dict[str, Any]] = []
    for row in rows:
        part.append(dict(row))
        if len(part) == _PART:
            writing.execute(insert(table), part)
            part.clear()
    if part:
        writing.execute(insert(table), part)


def _continue_numbers(connection: Connection, table: Table) -> None:
    """Numbers that were given before are never given again, also not those of what was purged."""
    key = table.autoincrement_column
    if key is None:
        return
    retired = select(func.max(retired_numbers.c.number)).where(retired_numbers.c.kind == table.name)
    highest = max(connection.execute(query).scalar() or 0 for query in (select(func.max(key)), retired))
    if not highest:
        return
    if connection.dialect.name == "postgresql":
        counter = func.pg_get_serial_sequence(table.name, key.name)
        connection.execute(select(func.setval(cast(counter, REGCLASS), highest)))
        return
    which = {"name": table.name}
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), which)
    connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), {**which, "seq": highest})
