# SPDX-License-Identifier: Apache-2.0
"""Destinations of a run and the uploads to them: in the background while it runs, or finished after a crash.

A lock on the spool makes sure that one process at a time uploads a run from this machine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, cast

from aboard.config.home import home_hint
from aboard.errors import DamagedDocument, InvalidValue, RunClaimed, StorageUnavailable, StoreError
from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import LockHeld, ProcessLock
from aboard.model.names import is_uid
from aboard.model.states import RunState, state_from
from aboard.run.secrets import Secrets
from aboard.run.spool import DESTINATION, LOCK, LOGS, OUTPUT, PROGRESS, START, read_json, write_json
from aboard.run.supervisor.summary import EventMetrics, RunSummary
from aboard.store import Store, open_store
from aboard.store.run.documents import Manifest, Summary
from aboard.store.run.run_folder import RunFolder
from aboard.store.uri import parse_uri
from aboard.upload.scan import Spool, WatchedFolder
from aboard.upload.uploader import Uploader, UploadState


@dataclass(frozen=True, kw_only=True)
class Destination:
    """One run on its way from a folder of this machine into stores."""

    folder: Path
    """Its spool."""
    uid: str
    store: str
    mirrors: tuple[str, ...] = ()
    output: Path
    watched: tuple[Path, ...] = ()
    """Folders elsewhere that belong to the run alone."""
    shared: tuple[Path, ...] = ()
    """Folders elsewhere in which other runs write too."""

    def spool(self, accept: Callable[[Path], bool]) -> Spool:
        """The folders for an uploader; `accept` decides about files in shared ones."""
        own = [WatchedFolder(f"watch{place}", path) for place, path in enumerate(self.watched, 1)]
        shared = [WatchedFolder(f"shared{place}", path, accept) for place, path in enumerate(self.shared, 1)]
        return Spool(self.folder, self.uid, self.output, self.folder / LOGS, (*own, *shared))

    def stores(self) -> list[tuple[str, Store]]:
        """Names of journals, and stores; the first is the one that counts. Folders are made where that is possible."""
        mirrors = [(f"journal-mirror{place}", _opened(uri)) for place, uri in enumerate(self.mirrors, 1)]
        return [("journal", _opened(self.store)), *mirrors]

    def write(self) -> None:
        """Keep this in the spool."""
        document = {
            "format": "aboard-destination",
            "version": [1, 0],
            "uid": self.uid,
            "store": self.store,
            "mirrors": list(self.mirrors),
            "output": str(self.output),
            "watched": [str(path) for path in self.watched],
            "shared": [str(path) for path in self.shared],
        }
        write_json(self.folder / DESTINATION, document)

    def watching(self, folder: Path) -> Destination:
        """The same with one more folder."""
        return replace(self, watched=(*self.watched, folder))

    def sharing(self, folder: Path) -> Destination:
        """The same with one more folder in which other runs may write."""
        return replace(self, shared=(*self.shared, folder))


def read_destination(folder: Path) -> Destination:
    """What `write` has kept; raises InvalidValue where there is nothing of the kind."""
    document = read_json(folder / DESTINATION)
    uid, store = document.get("uid"), document.get("store")
    if not isinstance(uid, str) or not is_uid(uid) or not isinstance(store, str):
        raise InvalidValue(
            f"{folder} is not the folder of a run that aboard has begun.",
            hint="Name one below $ABOARD_HOME/spool; `aboard sync FOLDER STORE` takes over a folder of event files.",
        )
    return Destination(
        folder=folder,
        uid=uid,
        store=store,
        mirrors=tuple(_texts(document.get("mirrors"))),
        output=Path(str(document.get("output") or folder / OUTPUT)),
        watched=tuple(map(Path, _texts(document.get("watched")))),
        shared=tuple(map(Path, _texts(document.get("shared")))),
    )


def check_destinations(store: str, mirrors: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The stores as full addresses, none of them twice; raises InvalidValue for what is no store."""
    addresses = [parse_uri(uri).uri for uri in (store, *mirrors)]
    for place, address in enumerate(addresses):
        if address in addresses[:place]:
            raise InvalidValue(f"{address} is named twice.", hint="A mirror is another place than the store.")
    return addresses[0], tuple(addresses[1:])


def check_folders(home: Path, output: Path | None, watched: Sequence[Path], stores: Sequence[str]) -> None:
    """Refuse folders within each other: what is shipped must not hold the store, nor anything twice."""
    kept = [("the store", path) for uri in stores if (path := parse_uri(uri).path) is not None]
    kept.append(("$ABOARD_HOME", home))
    shipped = [("--watch", path) for path in watched] + ([("--output", output)] if output else [])
    for option, folder in shipped:
        for what, place in kept:
            if place.is_relative_to(folder):
                raise InvalidValue(
                    f"{option} {folder} holds {what}, {place}, which would be shipped into itself.",
                    hint="Name a folder of the run alone.",
                )
        for other, another in shipped:
            if (other, another) != (option, folder) and another.is_relative_to(folder):
                raise InvalidValue(
                    f"{other} {another} lies in {option} {folder}.", hint="Name the outer one; all below it is taken."
                )


def _opened(uri: str) -> Store:
    try:
        return open_store(uri, create=True)
    except StoreError:
        return open_store(uri)  # the disk may come later; until then every use says what is wrong


def _texts(value: object) -> list[str]:
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list) else []


@contextmanager
def spool_locked(spool: Path) -> Generator[None]:
    try:
        make_private_folder(spool)
        lock = ProcessLock(spool / LOCK, mode=0o644)
    except LockHeld as held:
        raise RunClaimed(
            f"The run in {spool} is being worked on by process {held.holder or '?'} of this machine.",
            hint="End that process first, or start a new run.",
        ) from None
    except OSError as error:
        raise StorageUnavailable(f"{spool} cannot be written: {error.strerror}.", hint=home_hint(error)) from None
    try:
        yield
    finally:
        lock.release()


class AttemptUpload:
    """Uploads one attempt to its store and mirrors, each with an uploader and a thread of its own."""

    def __init__(
        self, destination: Destination, summary: Callable[[], Summary | None], accept: Callable[[Path], bool]
    ) -> None:
        self._summary = summary
        self._accept = accept
        self._destination = destination
        self._stores = destination.stores()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._uploaders = self._make()
        self._is_finishing = False

    @property
    def destination(self) -> Destination:
        """Where the files are and where they go."""
        return self._destination

    @property
    def states(self) -> list[UploadState]:
        """How far each destination has got; costs no request."""
        return [uploader.state for uploader in self._uploaders]

    @property
    def ended(self) -> RunState | None:
        """How the run ended, as far as was noted on this machine."""
        return self._uploaders[0].ended

    def start(self) -> None:
        self._stop = threading.Event()
        for place, uploader in enumerate(self._uploaders):
            thread = threading.Thread(target=uploader.run, args=(self._stop,), name=f"aboard-ship-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def watch(self, folder: Path) -> None:
        """Ship the event files of one more folder."""
        if folder not in self._destination.watched:
            self._change(self._destination.watching(folder))

    def share(self, folder: Path) -> None:
        """Ship those event files of one more folder that `accept` takes."""
        if folder not in self._destination.shared:
            self._change(self._destination.sharing(folder))

    def _change(self, destination: Destination) -> None:
        with self._lock:
            if self._is_finishing:
                return
            self._destination = destination
            self._destination.write()
            self._pause()
            self._uploaders = self._make()
            self.start()

    def finish(self, status: RunState | None, timeout: float) -> list[UploadState]:
        """Ship the rest within a time limit and seal the run; what each destination then has."""
        with self._lock:
            self._is_finishing = True
        self._stop.set()
        end = time.monotonic() + timeout
        threads = [
            threading.Thread(target=uploader.finish, args=(status, timeout), name="aboard-ship-end", daemon=True)
            for uploader in self._uploaders
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end + 1 - time.monotonic()))
        return self.states

    def _make(self) -> list[Uploader]:
        spool = self._destination.spool(self._accept)
        return [Uploader(spool, store, journal=journal, summary=self._summary) for journal, store in self._stores]

    def _pause(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def is_complete(states: list[UploadState]) -> bool:
    """Whether every destination has everything, and knows that there is no more."""
    return all(state.is_sealed and not state.files_left for state in states)


def write_progress(folder: Path, states: list[UploadState], **more: object) -> None:
    """Tell other processes how far shipping is."""
    write_json(
        folder / PROGRESS,
        {
            "format": "aboard-progress",
            "version": [1, 0],
            "time": time.time(),
            "text": "; ".join(map(str, states)),
            "left": sum(state.files_left for state in states),
            "bytes_left": sum(state.bytes_left for state in states),
            "is_sealed": bool(states) and is_complete(states),
            **more,
        },
    )


class FinishedUpload(NamedTuple):
    """How a run ended, and what each store has of it."""

    status: RunState
    states: list[UploadState]


def finish_upload(destination: Destination, timeout: float) -> FinishedUpload:
    """Ship what is left and seal the run; its spool is locked by the caller."""
    own: set[str] = set()

    def accept(path: Path) -> bool:
        return str(path) in own

    folders = {destination.output: _all, **dict.fromkeys(destination.watched, _all)}
    metrics = EventMetrics({**folders, **dict.fromkeys(destination.shared, accept)})
    summary = RunSummary(destination.folder, Secrets.of(os.environ, ()), metrics.summaries)
    summary.look()
    own.update(summary.own_files)
    for folder in summary.watched:
        if folder not in destination.watched:
            destination = destination.watching(folder)
    shipping = AttemptUpload(destination, summary.now, accept)
    status = shipping.ended or _reported_status(summary, is_attended=not (destination.folder / START).exists())
    states = shipping.finish(status, timeout)
    write_progress(destination.folder, states, is_over=True)
    return FinishedUpload(status, states)


def read_manifest(folder: RunFolder) -> Manifest | None:
    """The manifest of a run; None when there is none that can be read. Raises StoreError."""
    try:
        read = folder.read_manifest()
    except DamagedDocument:
        return None
    return read.manifest if read else None


def _reported_status(summary: RunSummary, *, is_attended: bool) -> RunState:
    """How the training said that it ended; lost when it said nothing.

    A training under `aboard run` may have been ended together with its supervisor: an interpreter that came to its end
    then says little.
    """
    if not summary.said_status or (is_attended and not summary.is_certain):
        return RunState.LOST
    return state_from(RunState, summary.said_status, "a run")


def _all(_: Path) -> bool:
    return True
