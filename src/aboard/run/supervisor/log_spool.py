# SPDX-License-Identifier: Apache-2.0
"""Log folders with URIs (`SummaryWriter("s3://…")`): uploaded while their writers run, sealed when these have ended.

A folder that is wholly in its store is removed from this machine when the last writer has ended.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aboard.errors import AboardError, InvalidValue
from aboard.model.states import RunState
from aboard.model.times import now
from aboard.run.spool import FOLDER, LOG_FORMAT, OUTPUT, PROGRESS, START, TENSORBOARD, FactReader, read_json, write_json
from aboard.run.supervisor.context import host_name
from aboard.run.supervisor.unattended import TrainingProcess
from aboard.store import open_store
from aboard.store.log_folder import LogFolderStore
from aboard.store.run.documents import AttemptClaim
from aboard.store.run.layout import split_segment
from aboard.upload.retries import UploadPace
from aboard.upload.scan import Spool
from aboard.upload.uploader import Uploader, UploadState

_log = logging.getLogger("aboard.run")
_DOCUMENTS = "documents"
_TOKENS_KEPT = 256
_SOON_SECONDS = 0.2


class LogFolderUpload:
    """Files below `<folder>/output/tensorboard`, and the store that they go to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = str(read_json(folder / FOLDER).get("uri") or "")
        if not self.uri:
            raise InvalidValue(f"{folder / FOLDER} does not say where the files of this folder go.")
        self._spool = Spool(folder, folder.name, folder / OUTPUT)
        self._uploader: Uploader | None = None
        self._wanted: list[str] = []
        self._settled: deque[str] = deque(maxlen=_TOKENS_KEPT)
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=f"aboard-log-{folder.name[-6:]}", daemon=True)
        self._progress: dict[str, object] = {}

    def start(self) -> None:
        self._thread.start()

    def settle(self, token: str) -> None:
        """Ship at once, and say that this was done under the name that was asked for."""
        self._wanted.append(token)
        self._wake.set()

    def finish(self, timeout: float) -> UploadState | None:
        """Ship the rest within a time limit, for good; None when there was no way to begin."""
        end = time.monotonic() + timeout
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        pace = UploadPace()
        while True:
            try:
                state = self._contact().finish(RunState.COMPLETED, max(0.0, end - time.monotonic()))
                self._write_progress(state.error)
                return state
            except AboardError as error:
                self._write_progress(str(error))
                pause = pace.after_failure()
                if time.monotonic() + pause >= end:
                    return None
                time.sleep(pause)

    def ship_once(self) -> UploadState:
        """Ship what is there now; raises what the store says."""
        return self._contact().ship_once()

    def remove(self) -> None:
        """Delete the local files; everything is in the store."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _loop(self) -> None:
        pace, pause = UploadPace(), 0.0
        while not self._stop.is_set():
            self._wake.wait(pause)
            self._wake.clear()
            wanted, self._wanted = self._wanted, []
            begun = time.monotonic()
            try:
                left = self.ship_once().files_left
                error, pause = "", pace.after_success(0.0) - min(0.9, time.monotonic() - begun)
                if not left:
                    self._settled += wanted
                elif wanted:  # files that are sent whole wait until nobody writes them
                    self._wanted, pause = [*wanted, *self._wanted], _SOON_SECONDS
            except AboardError as problem:
                error, pause = str(problem), pace.after_failure()
                self._wanted = [*wanted, *self._wanted]
            except Exception as problem:
                _log.exception("Shipping failed for a reason that is a mistake in aboard; it is tried again.")
                error, pause = f"a mistake in aboard: {problem!r}", pace.after_failure()
                self._wanted = [*wanted, *self._wanted]
            self._write_progress(error)

    def _contact(self) -> Uploader:
        """The first time, note who ships and open the store."""
        if self._uploader is None:
            claim = self._spool.read_attempt()
            if claim is None:
                claim = AttemptClaim(number=1, token=self.folder.name, claimed=now(), host=host_name())
                self._spool.write_attempt(claim)
            documents = open_store(self.folder / _DOCUMENTS, create=True, fsync=False)
            store = LogFolderStore(open_store(self.uri), documents, self.folder.name, self._is_own)
            self._uploader = Uploader(self._spool, store, claim=claim)
        return self._uploader

    def _is_own(self, key: str) -> bool:
        """Whether an object comes from here: a segment of an event file of this folder, or another file of it."""
        segment = split_segment(key)
        path = segment[0].rpartition("~")[0] or segment[0] if segment else key
        root = self._spool.output / TENSORBOARD
        return (root / path).is_file() or bool(segment and (root / segment[0]).is_file())

    def _write_progress(self, error: str) -> None:
        state = self._uploader.state if self._uploader else UploadState()
        progress: dict[str, object] = {
            "settled": list(self._settled),
            "files_left": state.files_left,
            "bytes_left": state.bytes_left,
            "text": f"{state}.",
            "error": error,
        }
        if progress == self._progress:
            return
        try:
            write_json(self.folder / PROGRESS, {"format": "aboard-progress", "version": [1, 0], **progress})
            self._progress = progress
        except AboardError as problem:
            _log.warning("%s", problem)


LOOK_SECONDS = 0.1


def is_log_spool(spool: Path) -> bool:
    """Whether a spool holds log folders and no run."""
    return read_json(spool / START).get("format") == LOG_FORMAT


class LogSpool:
    """Ships such a spool, which the caller has locked. May be taken up again by another process at any time."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._facts = FactReader(spool)
        self._processes: list[TrainingProcess] = []
        self._folders: dict[str, LogFolderUpload] = {}
        self._is_live = False
        self.named: list[str] = []
        """The URIs of the folders."""

    def ship_to_the_end(self, timeout: float) -> list[UploadState]:
        """Ship until all writers have ended, and then the rest."""
        self._is_live = True
        self._look()
        while self._has_writers():
            time.sleep(LOOK_SECONDS)
            self._look()
        return self._finish(timeout)

    def ship_rest(self, timeout: float) -> list[UploadState]:
        """What `aboard sync` does: finish what writers have left, or ship what those have that go on."""
        self._look()
        if self._has_writers():
            return [folder.ship_once() for folder in self._folders.values()]
        return self._finish(timeout)

    def _has_writers(self) -> bool:
        self._processes = [one for one in self._processes if one.is_alive]
        return bool(self._processes)

    def _look(self) -> None:
        for fact in self._facts.new():
            try:
                self._take(fact)
            except AboardError as error:
                _log.warning("%s", error)

    def _take(self, fact: Mapping[str, object]) -> None:
        match fact:
            case {"kind": "process"}:
                self._processes.append(TrainingProcess(fact))
            case {"kind": "folder", "uid": str(uid)} if (self._spool / uid).is_dir():
                folder = self._folders[uid] = LogFolderUpload(self._spool / uid)
                self.named.append(folder.uri)
                if self._is_live:
                    folder.start()
            case {"kind": "flush", "folder": str(uid), "token": str(token)} if uid in self._folders:
                self._folders[uid].settle(token)
            case _:
                pass  # a fact of a later version, or of a folder that is in its store already

    def _finish(self, timeout: float) -> list[UploadState]:
        folders = list(self._folders.items())
        # At the same time: a bucket that fails must not hold up the others.
        with ThreadPoolExecutor(max(1, len(folders)), thread_name_prefix="aboard-log-end") as threads:
            begun = [threads.submit(folder.finish, timeout) for _, folder in folders]
        ends = [one.result() for one in begun]
        for (uid, folder), state in zip(folders, ends, strict=True):
            if state and state.is_sealed and not state.files_left:
                folder.remove()
                del self._folders[uid]
        if not self._folders:
            shutil.rmtree(self._spool, ignore_errors=True)
        return [
            state or UploadState(files_left=1, error=f"{folder.uri} could not be opened.")
            for (_, folder), state in zip(folders, ends, strict=True)
        ]
