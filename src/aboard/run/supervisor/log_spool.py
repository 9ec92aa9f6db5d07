# SPDX-License-Identifier: Apache-2.0
"""The spool of one training process that writes to log folders with URIs: ships them until all its writers have ended.

What is wholly in its store is removed from this machine when the last writer has ended.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aboard.errors import AboardError
from aboard.run.facts import FactReader
from aboard.run.local_json import read_json
from aboard.run.spool_files import LOG_FORMAT, START
from aboard.run.supervisor.log_folder import LogFolder
from aboard.run.supervisor.unattended import TrainingProcess
from aboard.upload import ShippingState

_log = logging.getLogger("aboard.run")
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
        self._folders: dict[str, LogFolder] = {}
        self._is_live = False
        self.named: list[str] = []
        """The URIs of the folders."""

    def ship_to_the_end(self, timeout: float) -> list[ShippingState]:
        """Ship until all writers have ended, and then the rest."""
        self._is_live = True
        self._look()
        while self._has_writers():
            time.sleep(LOOK_SECONDS)
            self._look()
        return self._finish(timeout)

    def ship_rest(self, timeout: float) -> list[ShippingState]:
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
                folder = self._folders[uid] = LogFolder(self._spool / uid)
                self.named.append(folder.uri)
                if self._is_live:
                    folder.start()
            case {"kind": "flush", "folder": str(uid), "token": str(token)} if uid in self._folders:
                self._folders[uid].settle(token)
            case _:
                pass  # a fact of a later version, or of a folder that is in its store already

    def _finish(self, timeout: float) -> list[ShippingState]:
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
            state or ShippingState(files_left=1, error=f"{folder.uri} could not be opened.")
            for (_, folder), state in zip(folders, ends, strict=True)
        ]
