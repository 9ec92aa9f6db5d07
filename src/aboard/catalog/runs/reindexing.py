# SPDX-License-Identifier: Apache-2.0
"""Reindexing: makes the catalog equal to what a store holds, and shares the progress between server processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any, cast

from sqlalchemy import Connection, delete, insert, select, update

from aboard.catalog.database import Database, parts_of
from aboard.catalog.lookup import stored_key
from aboard.catalog.runs.writing import MISSING, put_runs, take_turn
from aboard.catalog.schema import reindexings, runs
from aboard.errors import AboardError
from aboard.model.ids import is_uid
from aboard.model.runs import RunRecord, run_from_document
from aboard.model.times import now

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
    Runs of other stores are left alone. A document that cannot be read is a problem that is told, and the run stays as
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
