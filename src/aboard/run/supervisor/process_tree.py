# SPDX-License-Identifier: Apache-2.0
"""The processes of a run: the command and whatever it starts, remembered after they have ended."""

from __future__ import annotations

import threading

import psutil


class ProcessTree:
    """All processes seen below a command. Safe on threads."""

    def __init__(self, pid: int) -> None:
        self._root = pid
        self._lock = threading.Lock()
        self._live: dict[int, psutil.Process] = {}
        self.seen: set[int] = {pid}
        """Process numbers, also of those that have ended."""
        self.look()

    def look(self) -> list[psutil.Process]:
        """The processes that live now. Those whose parents have ended are still known, if they were seen before."""
        with self._lock:
            found: dict[int, psutil.Process] = {}
            for start in (self._root, *self._live):
                self._add(found, start)
            self._live = found
            self.seen |= found.keys()
            return list(found.values())

    def _add(self, found: dict[int, psutil.Process], pid: int) -> None:
        if pid in found:
            return
        try:
            # The same object each time: it measures CPU use since it was last asked.
            known = self._live.get(pid)
            process = known if known is not None and known.is_running() else psutil.Process(pid)
            if known is not None and process is not known:
                return  # another process has got the number
            found[pid] = process
            for child in process.children(recursive=True):
                found.setdefault(child.pid, self._live.get(child.pid, child))
        except psutil.Error:
            found.pop(pid, None)
