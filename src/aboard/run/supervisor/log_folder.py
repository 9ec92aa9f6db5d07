# SPDX-License-Identifier: Apache-2.0
"""One log folder with a URI on its way: ships while its writers go on, and seals when they have ended."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import deque
from pathlib import Path

from aboard.errors import AboardError, InvalidValue
from aboard.model.run_states import RunState
from aboard.model.times import now
from aboard.run.local_json import read_json, write_json
from aboard.run.spool_files import FOLDER, OUTPUT, PROGRESS, TENSORBOARD
from aboard.run.supervisor.host_state import host_name
from aboard.store import open_store
from aboard.store.log_folder_store import LogFolderStore
from aboard.store.run.attempt_claim import AttemptClaim
from aboard.store.run.layout import split_segment
from aboard.upload import Shipper, ShippingState, Spool
from aboard.upload.pace import Pace

_log = logging.getLogger("aboard.run")
_DOCUMENTS = "documents"
_TOKENS_KEPT = 256
_SOON_SECONDS = 0.2


class LogFolder:
    """Files below `<folder>/output/tensorboard`, and the store that they go to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = str(read_json(folder / FOLDER).get("uri") or "")
        if not self.uri:
            raise InvalidValue(f"{folder / FOLDER} does not say where the files of this folder go.")
        self._spool = Spool(folder, folder.name, folder / OUTPUT)
        self._shipper: Shipper | None = None
        self._wanted: list[str] = []
        self._settled: deque[str] = deque(maxlen=_TOKENS_KEPT)
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=f"aboard-log-{folder.name[-6:]}", daemon=True)
        self._progress: dict[str, object] = {}

    def start(self) -> None:
        """Ship from now on."""
        self._thread.start()

    def settle(self, token: str) -> None:
        """Ship at once, and say that this was done under the name that was asked for."""
        self._wanted.append(token)
        self._wake.set()

    def finish(self, timeout: float) -> ShippingState | None:
        """Ship the rest within a time limit, for good; None when there was no way to begin."""
        end = time.monotonic() + timeout
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        pace = Pace()
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

    def ship_once(self) -> ShippingState:
        """Ship what is there now; raises what the store says."""
        return self._contact().ship_once()

    def remove(self) -> None:
        """Delete the local files; everything is in the store."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _loop(self) -> None:
        pace, pause = Pace(), 0.0
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

    def _contact(self) -> Shipper:
        """The first time, note who ships and open the store."""
        if self._shipper is None:
            claim = self._spool.read_attempt()
            if claim is None:
                claim = AttemptClaim(number=1, token=self.folder.name, claimed=now(), host=host_name())
                self._spool.write_attempt(claim)
            documents = open_store(self.folder / _DOCUMENTS, create=True, fsync=False)
            store = LogFolderStore(open_store(self.uri), documents, self.folder.name, self._is_own)
            self._shipper = Shipper(self._spool, store, claim=claim)
        return self._shipper

    def _is_own(self, key: str) -> bool:
        """Whether an object comes from here: a segment of an event file of this folder, or another file of it."""
        segment = split_segment(key)
        path = segment[0].rpartition("~")[0] or segment[0] if segment else key
        root = self._spool.output / TENSORBOARD
        return (root / path).is_file() or bool(segment and (root / segment[0]).is_file())

    def _write_progress(self, error: str) -> None:
        state = self._shipper.state if self._shipper else ShippingState()
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
