# SPDX-License-Identifier: Apache-2.0
"""A catalog: opens the database, brings its schema up to date, and gives access to all its tables."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Self

from sqlalchemy import select

from aboard.catalog.board_records import BoardLines
from aboard.catalog.boards import Boards
from aboard.catalog.coordination import Leases, Notices, Reindexings, ReindexResult, lock_catalog, reindex
from aboard.catalog.credentials import LoginCodes, Sessions, Tokens
from aboard.catalog.database import CatalogAddress, Database, refuse_network_file_system
from aboard.catalog.groups import Experiments, SavedViews, StorageUsage, Workspaces
from aboard.catalog.lookup import VisibleWorkspaces
from aboard.catalog.migrations.schema_version import bring_up_to_date
from aboard.catalog.people import Audit, People
from aboard.catalog.runs.fields import Fields, FieldValueCounts
from aboard.catalog.runs.filters import FEW
from aboard.catalog.runs.runs import Runs
from aboard.catalog.runs.selections import SelectedRuns
from aboard.catalog.trash import Trash
from aboard.foundation.locks import ProcessLock


class VisibleCatalog:
    """A catalog limited to the workspaces that a user may see; other workspaces are unknown to it."""

    def __init__(self, database: Database, seen: VisibleWorkspaces = None, *, few: int = FEW) -> None:
        self._database, self._few = database, few
        self.workspaces = Workspaces(database, seen)
        self.experiments = Experiments(database, seen)
        self.runs = Runs(database, seen, few=few)
        self.selected = SelectedRuns(database, seen)
        self.fields = Fields(database, seen)
        self.field_values = FieldValueCounts(database, seen)
        self.usage = StorageUsage(database, seen)
        self.saved_views = SavedViews(database, seen)
        # These do not tell people what there is; who may use them is decided above.
        self.bin = Trash(database)
        self.audit = Audit(database)


class Catalog(VisibleCatalog):
    """An open catalog, seen whole. Its parts may be used by several threads at once."""

    def __init__(self, database: Database, lock: ProcessLock | None, *, few: int = FEW) -> None:
        super().__init__(database, few=few)
        self._lock = lock
        self.boards = Boards(database)
        self.board_lines = BoardLines(database)
        self.people = People(database)
        self.tokens = Tokens(database)
        self.sessions = Sessions(database)
        self.login_codes = LoginCodes(database)
        self.notices = Notices(database)
        self.reindexings = Reindexings(database)
        self.leases = Leases(database)

    def seen_by(self, seen: VisibleWorkspaces) -> VisibleCatalog:
        """The same catalog, narrowed to the workspaces with these folded names; None stands for all."""
        return self if seen is None else VisibleCatalog(self._database, seen, few=self._few)

    @classmethod
    def open(cls, where: str | os.PathLike[str], *, beside_server: bool = False, few: int = FEW) -> Catalog:
        """Open the catalog in a file or PostgreSQL database, make it if it is not there, and update an old one.

        In a file only one server may have it open. A tool that works for a short while beside that server, on the same
        machine, says `beside_server`. `few` is for tests: see `candidates`.
        """
        address = CatalogAddress.of(where)
        if address.path is not None:
            refuse_network_file_system(address.path)
        database = Database(address)
        lock = lock_catalog(address.path) if address.path is not None and not beside_server else None
        try:
            database.write(lambda connection: bring_up_to_date(connection, str(address)))
        except BaseException:
            database.close()
            if lock is not None:
                lock.release()
            raise
        return cls(database, lock, few=few)

    @property
    def database(self) -> Database:
        """Where all of it is, for what concerns whole tables."""
        return self._database

    @property
    def is_shared(self) -> bool:
        """Whether other server processes may work with it at the same time."""
        return not self._database.is_sqlite

    @contextlib.contextmanager
    def alone(self, what: str) -> Generator[bool]:
        """Whether no other server process does the same now; it cannot begin before this ends."""
        if not self.is_shared:
            yield True
            return
        number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], signed=True)
        with self._database.connection_of_its_own() as connection:
            # The lock ends with the connection, however this process ends.
            yield connection.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchone()[0]

    def reindex(self, documents: Iterable[object], *, store: str) -> ReindexResult:
        """Make the catalog equal to what a store holds. See `reindex`."""
        return reindex(self._database, documents, store)

    def check(self) -> None:
        """Ask the database something small; raises CatalogUnavailable when it does not answer."""
        with self._database.reading() as connection:
            connection.execute(select(1))

    def close(self) -> None:
        """Close every connection and let another server have it."""
        self._database.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self._database.address)
