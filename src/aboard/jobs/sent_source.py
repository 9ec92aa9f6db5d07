# SPDX-License-Identifier: Apache-2.0
"""A source folder that goes to the other side through the store, for units that see nothing of this machine.

It is packed under a key made of its content, so the same source is sent once. `aboard run` unpacks it there before the
command starts, and runs the command in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aboard.errors import Conflict, InvalidValue, KeyExists, KeyNotFound, StoreError
from aboard.executors.source_archive import source_archive, source_files
from aboard.jobs.cancel_marks import BRIEF
from aboard.jobs.kept_sources import ARCHIVE, PREFIX, KeptSource
from aboard.jobs.source_links import refuse_links_out
from aboard.jobs.unpacked_sources import enter_unpacked
from aboard.store.connection import Patience
from aboard.store.opening import open_store

VARIABLE = "ABOARD_SOURCE_OBJECT"
"""Names the source in the store of the run; `aboard run` looks for it there."""
_FRESH_SECONDS, FORGOTTEN_SECONDS = 1800.0, 3600.0  # what is young is not removed, and what is not is sent again


@dataclass(frozen=True, kw_only=True)
class SentSource:
    """A packed folder and the key that it gets."""

    key: str
    packed: bytes = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The folder as it is now, without what git ignores."""
        refuse_links_out(folder, source_files(folder))
        packed = source_archive(str(folder), below=".")
        return cls(key=f"{PREFIX}/{hashlib.sha256(packed).hexdigest()[:32]}{ARCHIVE}", packed=packed)

    def send(self, store: str, units: Sequence[str]) -> None:
        """Put it into the store for these jobs, unless it is there."""
        opened = open_store(store)
        KeptSource(opened, self.key).need(units)
        try:
            opened.put(self.key, self.packed, create_only=True)
        except KeyExists:
            if time.time() - opened.head(self.key).modified > _FRESH_SECONDS:
                opened.put(self.key, self.packed)


def enter_source(environ: MutableMapping[str, str], store: str, home: Path) -> Callable[[], None]:
    """Go into the source that a job was given, if it was given one; the command does not see the variable.

    What it returns is called when the job needs its source no more.
    """
    key = environ.pop(VARIABLE, "")
    if not key:
        return lambda: None
    if not key.startswith(f"{PREFIX}/"):
        raise InvalidValue(
            f"${VARIABLE} is {key!r}, which is not the key of a source", hint="leave it to `aboard submit`"
        )
    enter_unpacked(home / "sources" / Path(key).stem, lambda: _fetched(store, key))
    unit = environ.get("ABOARD_UNIT_ID", "")
    _tell(store, key, lambda kept: kept.begin(unit), BRIEF)
    return lambda: _tell(store, key, lambda kept: kept.release(unit), BRIEF)


def need_source(environ: Mapping[str, str], unit: str, job: str) -> None:
    """A job that is submitted again needs the source of the first time."""
    key, store = environ.get(VARIABLE, ""), environ.get("ABOARD_STORE", "")
    if not key or not store:
        return
    kept = KeptSource(open_store(store), key)
    # Before the mark, which would be one for nothing; and after it, when nobody takes it away any more.
    if kept.store.exists(key):
        kept.need([unit])
    if not kept.store.exists(key):
        kept.release(unit)
        hint = "submit it as the first time; with name= its run goes on"
        raise Conflict(f"the source of the job {job} is not in {store} any more", hint=hint)


def forget_source(environ: Mapping[str, str], *units: str) -> None:
    """Jobs that are forgotten need their source no more; the last one takes it along."""
    key = environ.get(VARIABLE, "")
    if key.startswith(f"{PREFIX}/") and (store := environ.get("ABOARD_STORE", "")):
        _tell(store, key, lambda kept: kept.release(*units))
        _tell(store, key, lambda kept: kept.remove_unneeded(FORGOTTEN_SECONDS))


def _tell(store: str, key: str, what: Callable[[KeptSource], object], patience: Patience | None = None) -> None:
    """Who may not delete, or finds no store, leaves marks that grow old."""
    with contextlib.suppress(StoreError):
        what(KeptSource(open_store(store, patience=patience), key))


def _fetched(store: str, key: str) -> bytes:
    try:
        return open_store(store, read_only=True).get(key)
    except KeyNotFound as error:
        hint = "submit the job as the first time, with source_dir; with name= its run goes on"
        raise InvalidValue(f"the source of this job is not in {store} any more ({key})", hint=hint) from error
