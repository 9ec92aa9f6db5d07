# SPDX-License-Identifier: Apache-2.0
"""Connections and transactions, the same for SQLite and PostgreSQL, and the address of a catalog.

Reading and writing take a connection for as long as one transaction. On SQLite the writers of this process wait for
each other, and take the database's write lock when they begin, so that none fails half-way. File systems on which
SQLite's locks do not hold are refused.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from aboard.errors import CatalogUnavailable, InvalidValue, MissingPackage
from aboard.foundation.file_systems import network_file_system_of
from aboard.foundation.files import make_private_folder

_HINT = "give a file, as in ~/.aboard/catalog.sqlite, or postgresql://user@host/database"


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """A database. `str()` of it shows no password."""

    url: URL
    path: Path | None  # of SQLite

    @classmethod
    def of(cls, where: str | os.PathLike[str]) -> CatalogAddress:
        """The address that a path or URL means."""
        text = os.fspath(where)
        if "://" not in text:
            if not text or text == ":memory:":
                raise InvalidValue(f"{text!r} is not a place for a catalog", hint=_HINT)
            path = Path(text).expanduser().absolute()
            return cls(URL.create("sqlite", database=str(path)), path)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise InvalidValue("the URL of the catalog cannot be read", hint=_HINT) from None
        if url.drivername == "sqlite" and url.database and url.database != ":memory:":
            return cls.of(Path(url.database))
        if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
            raise InvalidValue(f"a catalog cannot be in {url.drivername!r}", hint=_HINT)
        return cls(url.set(drivername="postgresql+psycopg"), None)

    def __str__(self) -> str:
        return str(self.path) if self.path else self.url.set(drivername="postgresql").render_as_string()


def refuse_network_file_system(path: Path) -> None:
    """An error when `path` would lie on a network file system."""
    if kind := network_file_system_of(path):
        raise CatalogUnavailable(
            f"{path} lies on a network file system ({kind}), where SQLite loses data",
            hint="put the catalog on a local disk, or use PostgreSQL: postgresql://user@host/database",
        )


_T = TypeVar("_T")
_LONGEST = 500


def parts_of(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """`items`, a few hundred at a time: databases limit how many values a query has."""
    return (items[start : start + _LONGEST] for start in range(0, len(items), _LONGEST))


_BUSY_MILLISECONDS = 30_000
_CACHE_KILOBYTES = 32_000
_CONNECT_SECONDS = 10
_TRIES = 5
_RETRIED = ("40001", "40P01")  # PostgreSQL: serialization failure, deadlock
_NO_PERMISSION = "42501"
_GRANT = "let its user make and change tables: GRANT CREATE, USAGE ON SCHEMA public TO …, or make it the owner"
_WRITING = "aboard_writing"


class Database:
    """A pool of connections to one database."""

    def __init__(self, address: CatalogAddress) -> None:
        self.address = address
        self.is_sqlite = address.path is not None
        self._engine = _sqlite_engine(address) if self.is_sqlite else _postgresql_engine(address)
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._readers = self._engine.execution_options(**options)
        self._turn = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        self._is_closed = False
        event.listen(self._engine, "checkin", self._given_back)

    @contextlib.contextmanager
    def reading(self) -> Generator[Connection]:
        """One transaction that only reads, and sees the database as it was at its beginning."""
        with self._translated_errors(), self._readers.connect() as connection, connection.begin():
            yield connection

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Do `work` in one transaction, whole or not at all; again if another writer stood in the way."""
        for tries_left in reversed(range(_TRIES)):
            try:
                with self._translated_errors(), self._turn, self._engine.connect() as plain:
                    connection = plain.execution_options(**{_WRITING: True})
                    with connection.begin():
                        return work(connection)
            except DBAPIError as error:
                if not tries_left or getattr(error.orig, "sqlstate", None) not in _RETRIED:
                    raise
        raise AssertionError  # the last try returns or raises

    @contextlib.contextmanager
    def connection_of_its_own(self) -> Generator[Any]:
        """A connection of the driver that stays open, of PostgreSQL, where each statement is a transaction."""
        import psycopg  # is not there where only SQLite is used

        dialect = self._engine.dialect
        positional, named = dialect.create_connect_args(self.address.url)
        try:
            # Not from the pool, which would want to have it back in order after it was lost.
            with psycopg.connect(*positional, autocommit=True, **{"connect_timeout": _CONNECT_SECONDS, **named}) as own:
                yield own
        except psycopg.Error as error:
            words = str(error).strip().partition("\n")[0]
            hint = self._hint(error)
            raise CatalogUnavailable(f"the catalog {self.address} does not answer: {words}", hint=hint) from error

    def close(self) -> None:
        """Close every connection; one that is in use closes when it is given back."""
        self._is_closed = True
        self._engine.dispose()

    def _given_back(self, _connection: Any, record: ConnectionPoolEntry) -> None:
        if self._is_closed:
            record.invalidate()

    @contextlib.contextmanager
    def _translated_errors(self) -> Generator[None]:
        """Raise failures of the database as errors that a person can act on."""
        try:
            yield
        except (DataError, IntegrityError, ProgrammingError) as error:
            if getattr(error.orig, "sqlstate", None) == _NO_PERMISSION:
                raise CatalogUnavailable(f"the catalog {self.address}: {_first_line(error)}", hint=_GRANT) from error
            raise
        except PoolTimeout as error:
            raise CatalogUnavailable("all connections to the catalog are in use", hint="try again soon") from error
        except DatabaseError as error:
            if getattr(error.orig, "sqlstate", None) in _RETRIED:
                raise
            raise CatalogUnavailable(
                f"the catalog {self.address} does not answer: {_first_line(error)}", hint=self._hint(error)
            ) from error

    def _hint(self, error: Exception) -> str:
        text = str(getattr(error, "orig", error))
        if "not a database" in text or "malformed" in text:
            return "the file is damaged or something else; restore a backup, or move it away and run `aboard reindex`"
        if "locked" in text:
            return "another program has held the catalog for over 30 s"
        if "full" in text or "readonly" in text or "unable to open" in text:
            return "look at the space left and the permissions of its folder"
        return "" if self.is_sqlite else "see that PostgreSQL runs, and that user, password and database are right"


def _first_line(error: DatabaseError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__


def _sqlite_engine(address: CatalogAddress) -> Engine:
    path = address.path
    assert path is not None
    try:
        make_private_folder(path.parent)
        # Made here, so that nobody else can read what is in it; SQLite gives its other files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        hint = "look at the permissions of its folder"
        raise CatalogUnavailable(f"the catalog {path} cannot be opened: {error.strerror}", hint=hint) from error
    engine = create_engine(address.url, pool_size=8, max_overflow=24)

    # The driver is kept from beginning transactions of its own, which would be late and not for writing.
    def on_connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout = {_BUSY_MILLISECONDS}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "temp_store = MEMORY",
            f"cache_size = -{_CACHE_KILOBYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    def on_begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get(_WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def _postgresql_engine(address: CatalogAddress) -> Engine:
    # Of a database that was made without a language (SQL_ASCII) the driver would otherwise give bytes for texts.
    defaults: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "client_encoding": "utf8"}
    own = {name: value for name, value in defaults.items() if name not in address.url.query}
    try:
        engine = create_engine(address.url, pool_size=8, max_overflow=24, pool_pre_ping=True, connect_args=own)
    except ImportError as error:
        raise MissingPackage("PostgreSQL needs psycopg", hint="pip install 'aboard[server]'") from error

    # Compiling a query takes longer than these queries do.
    def on_connect(connection: Any, _record: object) -> None:
        connection.execute("SET jit = off")
        connection.commit()

    event.listen(engine, "connect", on_connect)
    return engine
