# SPDX-License-Identifier: Apache-2.0
"""How server processes over one catalog agree: the lock of a SQLite catalog, leases, notices and reindexings.

A SQLite catalog has one server process, so leases and notices exist in PostgreSQL only. For leases only the clock of
the database counts. A notice reaches the processes that listen when it is sent, and none later.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, delete, insert, select, text, update

from aboard.catalog.database import Database, parts_of
from aboard.catalog.lookup import stored_key
from aboard.catalog.runs.writing import MISSING, put_runs, take_turn
from aboard.catalog.schema import reindexings, runs
from aboard.errors import AboardError, CatalogUnavailable, Conflict
from aboard.foundation.locks import LockHeld, ProcessLock
from aboard.model.names import is_uid
from aboard.model.runs import RunRecord, run_from_document
from aboard.model.times import now


def lock_catalog(catalog: Path) -> ProcessLock:
    """The lock on `<catalog>.lock`; an error names the server that has it."""
    path = catalog.with_name(catalog.name + ".lock")
    try:
        return ProcessLock(path)
    except LockHeld as held:
        raise Conflict(
            f"the catalog {catalog} is in use by another server, process {held.holder or 'unknown'}",
            hint="stop it, or use PostgreSQL when several servers share a catalog",
        ) from None
    except OSError as error:
        raise CatalogUnavailable(f"{path} cannot be opened: {error.strerror}") from error


_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
_TAKE = text(
    f"""INSERT INTO leases AS held (name, holder, until, facts) VALUES (:name, :holder, {_NOW} + :lasting, :facts)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until, facts = excluded.facts
    WHERE held.holder = excluded.holder OR held.until < {_NOW}"""  # noqa: S608 - no value of anybody is in it
)
_READ = text("SELECT facts FROM leases WHERE name = :name")
_HELD = text(f"SELECT name FROM leases WHERE until >= {_NOW}")  # noqa: S608
_CLEAR = text(f"DELETE FROM leases WHERE holder = name AND until < {_NOW} - :lasting")  # noqa: S608
_LEAVE = text("DELETE FROM leases WHERE holder = :holder")


class Leases:
    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, holder: str, seconds: float, facts: Mapping[str, Any]) -> bool:
        """Take or prolong a lease; whether nobody else has it. `facts` are for the others."""
        row = {"name": name, "holder": holder, "lasting": int(seconds * 1e6), "facts": json.dumps(facts, default=str)}
        return self._database.write(lambda connection: connection.execute(_TAKE, row).rowcount == 1)

    def facts(self, name: str) -> Mapping[str, Any]:
        """What the last holder said."""
        with self._database.reading() as connection:
            found = connection.execute(_READ, {"name": name}).scalar()
        return {} if found is None else json.loads(found)

    def held(self) -> set[str]:
        """The leases that somebody has now."""
        with self._database.reading() as connection:
            return set(connection.execute(_HELD).scalars())

    def clear(self, seconds: float) -> None:
        """Remove leases that stood for their holder alone, and ran out so long ago."""
        row = {"lasting": int(seconds * 1e6)}
        self._database.write(lambda connection: connection.execute(_CLEAR, row))

    def leave(self, holder: str) -> None:
        """Give all leases of a process back."""

        def work(connection: Connection) -> None:
            connection.execute(_LEAVE, {"holder": holder})

        self._database.write(work)


_CHANNEL = "aboard_changes"
_WAIT_SECONDS = 1.0


class Notices:
    largest = 7900
    """Bytes of a message; PostgreSQL takes less than 8,000."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wake_channel = f"{_CHANNEL}_{secrets.token_hex(6)}"

    def send(self, messages: Sequence[str]) -> None:
        """Tell all processes that listen, this one too."""
        self._notify(_CHANNEL, messages)

    def wake(self) -> None:
        """Make `listen` of this process call `is_over` now."""
        self._notify(self._wake_channel, [""])

    def _notify(self, channel: str, messages: Sequence[str]) -> None:
        query = text("SELECT pg_notify(:channel, :message)")
        rows = [{"channel": channel, "message": message} for message in messages]
        self._database.write(lambda connection: [connection.execute(query, row) for row in rows])

    def listen(self, begun: Callable[[], None], hear: Callable[[str], None], is_over: Callable[[], bool]) -> None:
        """Hear messages until `is_over`, which is called every second; `begun` is called when none is missed any more.

        Raises CatalogUnavailable when the connection is lost.
        """
        with self._database.connection_of_its_own() as connection:
            connection.execute(f"LISTEN {_CHANNEL}")
            connection.execute(f"LISTEN {self._wake_channel}")
            begun()
            while not is_over():
                for message in connection.notifies(timeout=_WAIT_SECONDS):
                    if message.channel == _CHANNEL:
                        hear(message.payload)
                    if is_over():
                        return


_AT_ONCE = 200


@dataclass(slots=True)
class ReindexResult:
    """What a reindexing did. A problem is the uid, or whatever else names the document, and what is wrong with it."""

    written: int = 0
    missing: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def reindex(database: Database, documents: Iterable[object], store: str) -> ReindexResult:
    """Write each run of a store, and put those into the bin that the store no longer has.

    Runs known by their uid keep their numbers; others get the one in their document, if it was nobody's, or a new one.
    Runs of other stores are left alone. A document that cannot be read is reported, and the run stays as
    it was. If the documents end with an exception, it goes on to the caller and nothing is taken for missing. Runs in
    the bin because they were missing come back when they are there again.
    """
    result = ReindexResult()
    unseen = _runs_of(database, store)
    is_complete = True
    readable = iter(documents)
    while part := list(islice(readable, _AT_ONCE)):
        good: list[RunRecord] = []
        for run, name, problem in _read(part, store):
            unseen.pop(name, None)
            if run is not None:
                good.append(run)
            else:
                result.problems.append((name, problem))
                # Without its uid nobody can tell which run it is, so none can be taken for missing.
                is_complete = is_complete and is_uid(name)
        put_runs(database, good)
        result.written += len(good)
    if is_complete:
        result.missing = _put_into_bin(database, list(unseen.values()))
    return result


def _runs_of(database: Database, store: str) -> dict[str, int]:
    """The runs that a store is known to have; those that come meanwhile cannot be missing."""
    query = select(runs.c.uid, runs.c.id).where(runs.c.store == stored_key(store), runs.c.deleted.is_(None))
    with database.reading() as connection:
        return dict(iter(connection.execute(query)))


def _put_into_bin(database: Database, numbers: list[int]) -> int:
    count = 0
    for some in parts_of(numbers):
        gone = runs.c.id.in_(some), runs.c.deleted.is_(None)
        bin_them = update(runs).where(*gone).values(deleted=now(), deleted_why=MISSING)
        count += database.write(lambda connection, bin_them=bin_them: connection.execute(bin_them).rowcount)
    return count


def _read(documents: Iterable[object], store: str) -> Iterator[tuple[RunRecord | None, str, str]]:
    for document in documents:
        uid = cast("Mapping[str, object]", document).get("uid") if isinstance(document, Mapping) else None
        name = str(uid or cast("object", document))[:200]
        try:
            yield replace(run_from_document(cast("object", document)), store=store), name, ""
        except AboardError as error:
            yield None, name, str(error)


_BEGINNING = timedelta(seconds=10)
"""So long after its last news a reindexing is believed to go on, whether anybody holds its lock or not."""
_KEPT = timedelta(days=7)


class Reindexings:
    """The reindexings of a catalog. What is known of each is a document of the caller's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self, task: str, store: str, facts: Mapping[str, object], *, may_be_another: bool
    ) -> Mapping[str, Any] | None:
        """Note a new one; or the facts of the one of the same store that is under way, if there may be one."""
        at = now()

        def work(connection: Connection) -> Mapping[str, Any] | None:
            take_turn(connection)
            living = reindexings.c.store == store, reindexings.c.is_over.is_(False)
            newest = select(reindexings.c.facts).where(*living).order_by(reindexings.c.at.desc()).limit(1)
            found = connection.execute(newest).scalar() if may_be_another else None
            if found is not None:
                return found
            connection.execute(delete(reindexings).where(reindexings.c.at < at - _KEPT))
            row = {"id": task, "store": store, "at": at, "is_over": False, "facts": dict(facts)}
            connection.execute(insert(reindexings).values(**row))
            return None

        return self._database.write(work)

    def tell(self, task: str, facts: Mapping[str, object], *, is_over: bool) -> None:
        """Note how far one is."""
        values = {"at": now(), "is_over": is_over, "facts": dict(facts)}
        this = reindexings.c.id == task
        self._database.write(lambda connection: connection.execute(update(reindexings).where(this).values(**values)))

    def get(self, task: str) -> tuple[Mapping[str, Any], bool] | None:
        """The facts of one, and whether it may have been given up; None for an unknown one."""
        query = select(reindexings.c.facts, reindexings.c.is_over, reindexings.c.at).where(reindexings.c.id == task)
        with self._database.reading() as connection:
            found = connection.execute(query).first()
        return None if found is None else (found.facts, not found.is_over and found.at < now() - _BEGINNING)
