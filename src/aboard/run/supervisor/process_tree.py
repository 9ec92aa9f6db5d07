# SPDX-License-Identifier: Apache-2.0
"""The processes of a run: the command and whatever it starts, remembered after they have ended; orphans are reaped."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import time

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


_PR_GET_CHILD_SUBREAPER = 37
_REAP_SECONDS = 1.0


class OrphanReaper:
    """Reaps processes whose parents have ended, where they become children of this one: as process 1 of a container.

    Children that this process has started itself are left to who waits for them. They are in its own session; a
    command and all that comes from it are in others.
    """

    def __init__(self) -> None:
        self._is_needed = os.getpid() == 1 or _is_subreaper()
        self._next = 0.0

    def reap(self, command: int) -> None:
        """Reap what has ended, but for the process of the command; at most once a second."""
        if not self._is_needed or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REAP_SECONDS
        for child in psutil.Process().children():
            if child.pid != command and _is_orphan(child):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)


def _is_orphan(child: psutil.Process) -> bool:
    try:
        return child.status() == psutil.STATUS_ZOMBIE and os.getsid(child.pid) != os.getsid(0)
    except (psutil.Error, ProcessLookupError):
        return False  # somebody has waited for it meanwhile


def _is_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    answer = ctypes.c_int(0)
    try:
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    except (OSError, AttributeError):
        return False
    return bool(answer.value)
