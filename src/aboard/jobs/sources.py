# SPDX-License-Identifier: Apache-2.0
"""Source folders of jobs in a store: packed, sent, fetched and unpacked on the other side, and removed when unused.

A source is stored under a key made of its content, so the same source is sent once. `aboard run` unpacks it before the
command starts, and runs the command in it.

In the store it stays as long as marks beside it say that a job needs it, and at least a week. A job puts its mark
before it is submitted, another when it begins, and removes both when it has completed or is forgotten. A killed job
needs its source again, and one that failed may be submitted again: their marks expire. A process that removes a
source puts a mark of its own before it looks whether the source is needed, and a process that needs it puts its mark
before it looks for such a mark: one of the two sees the other, whatever the order.

On the machine of a job it is unpacked once and shared by jobs with the same source. A process that runs in such a
folder holds a shared lock on it. A folder without a lock that was not entered for a week is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import shutil
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aboard.errors import Conflict, InvalidValue, KeyExists, KeyNotFound, StorageUnavailable, StoreError
from aboard.executors.source_archive import extract_below, refuse_links_out, source_archive, source_files
from aboard.foundation.file_systems import network_file_system_of
from aboard.foundation.locks import lock_descriptor
from aboard.jobs.cancellation import BRIEF
from aboard.model.names import new_uid
from aboard.store.connection import Patience
from aboard.store.opening import open_store
from aboard.store.store import ObjectInfo, Store

SOURCES_PREFIX = "_sources"
ARCHIVE = ".tar"
SAFE_SECONDS = 7 * 86400.0
_MARKS, _BEGUN, _GOING = ".needed", ".begun", ".going"
_WAITING_SECONDS, _BEGUN_SECONDS = 366 * 86400.0, 90 * 86400.0  # nothing waits, or is tried again, for longer
_REMOVING_SECONDS, _GOING_SECONDS = 240.0, 600.0  # between the two a last request has time to be answered, or not
_POLL_SECONDS = 0.2
_AT_ONCE = 16


@dataclass(frozen=True)
class StoredSource:
    """One source in a store, under the key that jobs are told."""

    store: Store
    key: str

    def need(self, units: Iterable[str]) -> None:
        """Have it known that jobs wait for it, before it is sent or looked for: from then on nobody takes it away."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._put_mark, units))
        # Somebody who could not see the marks may be about to remove it; but one who died is not waited for for long.
        while any(_age(going) < _GOING_SECONDS for going in self.store.list(self._beside(_GOING))):
            time.sleep(_POLL_SECONDS)

    def begin(self, unit: str) -> None:
        """A job has it now; only who starts it again will want it once more."""
        self.store.put(self._mark(unit) + _BEGUN, b"{}")
        self.store.delete(self._mark(unit))

    def release(self, *units: str) -> None:
        """Jobs need it no more."""
        self.store.delete([key for unit in units for key in (self._mark(unit), self._mark(unit) + _BEGUN)])

    def remove_unneeded(self, age: float) -> bool:
        """Remove it if no job needs it and it is older than `age` seconds, as it is now; whether it was."""
        if not self._list().has_old(age):
            return False
        begun, going = time.monotonic(), f"{self._beside(_GOING)}/{new_uid()}"
        self.store.put(going, b"{}")
        try:
            found = self._list()
            is_needed = found.is_needed(age) or time.monotonic() - begun > _REMOVING_SECONDS
            self.store.delete([*found.old_marks(age), *([] if is_needed else [self.key])])
        finally:
            self.store.delete(going)
        return found.archive is not None and not is_needed

    def _list(self) -> _SourceListing:
        found = _SourceListing(marks=list(self.store.list(self._beside(_MARKS))))
        with contextlib.suppress(KeyNotFound):
            found.archive = self.store.head(self.key)
        return found

    def _put_mark(self, unit: str) -> None:
        self.store.put(self._mark(unit), b"{}")

    def _mark(self, unit: str) -> str:
        return f"{self._beside(_MARKS)}/{unit}"

    def _beside(self, kind: str) -> str:
        return f"{self.key.removesuffix(ARCHIVE)}{kind}"


@dataclass
class _SourceListing:
    """What a listing has of one source; who submits a job puts its mark before the archive."""

    archive: ObjectInfo | None = None
    marks: list[ObjectInfo] = field(default_factory=list[ObjectInfo])

    def old_marks(self, age: float) -> list[str]:
        """Marks that nobody stands behind any more."""
        return [mark.key for mark in self.marks if _age(mark) > (_longest(mark) if self.archive else age)]

    def is_needed(self, age: float) -> bool:
        """Whether a job, or one that is just being submitted, wants it."""
        is_young = self.archive is not None and _age(self.archive) <= age
        return is_young or len(self.old_marks(age)) < len(self.marks)

    def has_old(self, age: float) -> bool:
        """Whether anything of it may go."""
        return not self.is_needed(age) or bool(self.old_marks(age))


def clean_sources(store: Store, age: float = SAFE_SECONDS) -> int:
    """Remove from a store what no job needs any more; how many sources that were."""
    sources: defaultdict[str, _SourceListing] = defaultdict(_SourceListing)
    left: list[str] = []
    for entry in store.list(SOURCES_PREFIX):
        name, dot, rest = entry.key.removeprefix(f"{SOURCES_PREFIX}/").partition(".")
        if dot + rest == ARCHIVE:
            sources[name].archive = entry
        elif (dot + rest).startswith(f"{_MARKS}/"):
            sources[name].marks.append(entry)
        elif (dot + rest).startswith(f"{_GOING}/") and _age(entry) > _GOING_SECONDS:
            left.append(entry.key)
    store.delete(left)
    # One listing tells which may go; only those are looked at again, in the moment before.
    going = [name for name, found in sources.items() if found.has_old(age)]
    return sum(StoredSource(store, f"{SOURCES_PREFIX}/{name}{ARCHIVE}").remove_unneeded(age) for name in going)


def _age(entry: ObjectInfo) -> float:
    return time.time() - entry.modified


def _longest(mark: ObjectInfo) -> float:
    return _BEGUN_SECONDS if mark.key.endswith(_BEGUN) else _WAITING_SECONDS


_UNUSED_SECONDS = 7 * 86400.0
_ASIDE = "."


def enter_unpacked(folder: Path, fetch: Callable[[], bytes]) -> None:
    """Go into the folder, which is made of what `fetch` brings if it is not there; it stays as long as this process."""
    _remove_unused(folder.parent)
    while True:
        if not folder.is_dir():
            _unpack(fetch(), folder)
        if _is_held(folder):
            break
    os.chdir(folder)


def _is_held(folder: Path) -> bool:
    """Hold the folder for good; not if it was taken away in just this moment."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    with contextlib.suppress(OSError):  # where nobody can hold it, nobody can remove it either
        lock_descriptor(held, shared=True, wait=True)
    if not _is_still(folder, held):
        os.close(held)
        return False
    with contextlib.suppress(OSError):
        os.utime(held)
    return True


def _is_still(folder: Path, held: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(held))
    except FileNotFoundError:
        return False


def _unpack(packed: bytes, folder: Path) -> None:
    """Whole or not at all: another run of this machine, or of one that shares the folder, may do the same."""
    aside = _name_aside(folder)
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            extract_below(archive, aside)
        aside.rename(folder)
    except tarfile.TarError as error:
        raise InvalidValue(f"the source of this job is damaged: {error}", hint="submit the job again") from error
    except OSError as error:
        if not folder.is_dir():
            raise StorageUnavailable(f"the source of this job cannot be kept in {folder}: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_unused(sources: Path) -> None:
    if network_file_system_of(sources) or not sources.is_dir():
        return  # whether another machine holds a folder cannot be told everywhere
    for folder in sources.iterdir():
        with contextlib.suppress(OSError):  # it is held, or has just gone, or belongs to somebody else
            if _is_old(folder):
                _remove_folder(folder)


def _is_old(folder: Path) -> bool:
    return folder.is_dir() and time.time() - folder.stat().st_mtime > _UNUSED_SECONDS


def _remove_folder(folder: Path) -> None:
    """Remove a folder that nobody holds; at once for all who look for it under its name."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock_descriptor(held)
        # Somebody may have gone into it, and out again, since its age was looked at.
        if not _is_still(folder, held) or not _is_old(folder):
            return
        aside = folder if folder.name.startswith(_ASIDE) else folder.rename(_name_aside(folder))
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        os.close(held)


def _name_aside(folder: Path) -> Path:
    return folder.with_name(f"{_ASIDE}{folder.name}.{secrets.token_hex(8)}")


SOURCE_VARIABLE = "ABOARD_SOURCE_OBJECT"
"""Names the source in the store of the run; `aboard run` looks for it there."""
_FRESH_SECONDS, FORGOTTEN_SECONDS = 1800.0, 3600.0  # what is young is not removed, and what is not is sent again


@dataclass(frozen=True, kw_only=True)
class PackedSource:
    """A packed folder and the key that it gets."""

    key: str
    packed: bytes = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The folder as it is now, without what git ignores."""
        refuse_links_out(folder, source_files(folder))
        packed = source_archive(str(folder), below=".")
        return cls(key=f"{SOURCES_PREFIX}/{hashlib.sha256(packed).hexdigest()[:32]}{ARCHIVE}", packed=packed)

    def send(self, store: str, units: Sequence[str]) -> None:
        """Put it into the store for these jobs, unless it is there."""
        opened = open_store(store)
        StoredSource(opened, self.key).need(units)
        try:
            opened.put(self.key, self.packed, create_only=True)
        except KeyExists:
            if time.time() - opened.head(self.key).modified > _FRESH_SECONDS:
                opened.put(self.key, self.packed)


def enter_source(environ: MutableMapping[str, str], store: str, home: Path) -> Callable[[], None]:
    """Go into the source that a job was given, if it was given one; the command does not see the variable.

    What it returns is called when the job needs its source no more.
    """
    key = environ.pop(SOURCE_VARIABLE, "")
    if not key:
        return lambda: None
    if not key.startswith(f"{SOURCES_PREFIX}/"):
        raise InvalidValue(
            f"${SOURCE_VARIABLE} is {key!r}, which is not the key of a source", hint="leave it to `aboard submit`"
        )
    enter_unpacked(home / "sources" / Path(key).stem, lambda: _fetch(store, key))
    unit = environ.get("ABOARD_UNIT_ID", "")
    _update_marks(store, key, lambda kept: kept.begin(unit), BRIEF)
    return lambda: _update_marks(store, key, lambda kept: kept.release(unit), BRIEF)


def need_source(environ: Mapping[str, str], unit: str, job: str) -> None:
    """A job that is submitted again needs the source of the first time."""
    key, store = environ.get(SOURCE_VARIABLE, ""), environ.get("ABOARD_STORE", "")
    if not key or not store:
        return
    kept = StoredSource(open_store(store), key)
    # Before the mark, which would be one for nothing; and after it, when nobody takes it away any more.
    if kept.store.exists(key):
        kept.need([unit])
    if not kept.store.exists(key):
        kept.release(unit)
        hint = "submit it as the first time; with name= its run goes on"
        raise Conflict(f"the source of the job {job} is not in {store} any more", hint=hint)


def forget_source(environ: Mapping[str, str], *units: str) -> None:
    """Jobs that are forgotten need their source no more; the last one takes it along."""
    key = environ.get(SOURCE_VARIABLE, "")
    if key.startswith(f"{SOURCES_PREFIX}/") and (store := environ.get("ABOARD_STORE", "")):
        _update_marks(store, key, lambda kept: kept.release(*units))
        _update_marks(store, key, lambda kept: kept.remove_unneeded(FORGOTTEN_SECONDS))


def _update_marks(
    store: str, key: str, what: Callable[[StoredSource], object], patience: Patience | None = None
) -> None:
    """Who may not delete, or finds no store, leaves marks that grow old."""
    with contextlib.suppress(StoreError):
        what(StoredSource(open_store(store, patience=patience), key))


def _fetch(store: str, key: str) -> bytes:
    try:
        return open_store(store, read_only=True).get(key)
    except KeyNotFound as error:
        hint = "submit the job as the first time, with source_dir; with name= its run goes on"
        raise InvalidValue(f"the source of this job is not in {store} any more ({key})", hint=hint) from error
