# SPDX-License-Identifier: Apache-2.0
"""Makes the catalog equal to what a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

from sqlalchemy import select, update

from aboard.catalog.database import Database
from aboard.catalog.keys import stored_key
from aboard.catalog.parts import parts_of
from aboard.catalog.run_writer import MISSING, put_runs
from aboard.catalog.schema import runs
from aboard.errors import AboardError
from aboard.model.run import Run
from aboard.model.run_document import run_from_document
from aboard.model.times import now
from aboard.model.uid import is_uid

_AT_ONCE = 200


@dataclass(slots=True)
class Reindexed:
    """What a reindexing did. A problem is the uid, or whatever else names the document, and what is wrong with it."""

    written: int = 0
    missing: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def reindex(database: Database, documents: Iterable[object], store: str) -> Reindexed:
    """Write each run of a store, and put those into the bin that the store no longer has.

    Runs known by their uid keep their numbers; others get the one in their document, if it was nobody's, or a new one.
    Runs of other stores are left alone. A document that cannot be read is a problem that is told, and the run stays as
    it was. If the documents end with an exception, it goes on to the caller and nothing is taken for missing. Runs in
    the bin because they were missing come back when they are there again.
    """
    result = Reindexed()
    unseen = _runs_of(database, store)
    is_complete = True
    readable = iter(documents)
    while part := list(islice(readable, _AT_ONCE)):
        good: list[Run] = []
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


def _read(documents: Iterable[object], store: str) -> Iterator[tuple[Run | None, str, str]]:
    for document in documents:
        uid = cast("Mapping[str, object]", document).get("uid") if isinstance(document, Mapping) else None
        name = str(uid or cast("object", document))[:200]
        try:
            yield replace(run_from_document(cast("object", document)), store=store), name, ""
        except AboardError as error:
            yield None, name, str(error)
