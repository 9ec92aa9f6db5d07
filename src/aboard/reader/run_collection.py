# SPDX-License-Identifier: Apache-2.0
"""All runs below a number of folders, read in parallel and followed."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aboard._native import refresh_logdirs
from aboard.reader.find_logdirs import find_logdirs
from aboard.reader.run_reader import RunReader

_LOG = logging.getLogger("aboard.reader")
_THREADS = max(2, os.cpu_count() or 1)
_RUNS_AT_ONCE = 64  # read between two looks at the progress


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading has come."""

    runs_read: int
    runs_found: int
    bytes_read: int
    cycles: int
    newest_wall_time: float


class RunCollection:
    """The runs below `roots`, which map a name to a folder; a board shows run `r` below name `n` as `n/r`.

    A root without a name (the empty string) adds nothing to the names of its runs. `refresh` finds new runs and reads
    new points; readers see what is there while it works.
    """

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = dict(roots)
        self._refreshing = threading.Lock()
        self._runs: dict[str, RunReader] = {}
        self._files: dict[str, list[bytes]] = {}
        self._read: set[str] = set()
        self._cycles = 0

    @property
    def roots(self) -> Mapping[str, Path]:
        """Names and folders."""
        return self._roots

    @property
    def runs(self) -> Mapping[str, RunReader]:
        """The runs found so far, by name. The mapping does not change under its holder."""
        return self._runs

    @property
    def progress(self) -> Progress:
        """How far reading has come."""
        runs = self._runs
        newest = max((file[9] for run in runs.values() for file in run.logdir.files() if file[3]), default=0.0)
        bytes_read = sum(run.logdir.bytes_read for run in runs.values())
        return Progress(len(self._read), len(runs), bytes_read, self._cycles, newest)

    def refresh(self) -> bool:
        """Find new and vanished runs and read what is new in all; whether anything changed."""
        with self._refreshing:
            changed = self._discover()
            names = list(self._runs)
            for start in range(0, len(names), _RUNS_AT_ONCE):
                part = names[start : start + _RUNS_AT_ONCE]
                work = [(self._runs[name].logdir, self._files[name]) for name in part]
                changed = refresh_logdirs(work, _THREADS) > 0 or changed
                self._read.update(part)
            self._cycles += 1
            return changed

    def _discover(self) -> bool:
        found: dict[str, tuple[Path, list[bytes]]] = {}
        for root_name, root in self._roots.items():
            for name, folder, files in find_logdirs(root):
                found[_joined(root_name, name)] = folder, [os.fsencode(file) for file in files]
        runs = {
            name: self._runs[name]
            if name in self._runs and self._runs[name].folder == folder
            else RunReader(name, folder)
            for name, (folder, _) in found.items()
        }
        changed = runs.keys() != self._runs.keys()
        self._files = {name: files for name, (_, files) in found.items()}
        self._read &= runs.keys()
        self._runs = runs
        return changed


class Follower:
    """A thread that refreshes a collection again and again until it is stopped."""

    def __init__(self, collection: RunCollection, interval: float) -> None:
        self._collection, self._interval = collection, interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="aboard-follower", daemon=True)

    def start(self) -> None:
        """Begin reading."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the cycle that is under way."""
        self._stopped.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            try:
                self._collection.refresh()
            except Exception:
                # Out of memory, say: what was read stays to be seen, and the next cycle tries again.
                _LOG.exception("reading new points failed")
            # Never more than half the time on looking, however many files there are.
            self._stopped.wait(max(self._interval, time.monotonic() - started))


def _joined(root_name: str, name: str) -> str:
    if not root_name:
        return name
    return root_name if name == "." else f"{root_name}/{name}"
