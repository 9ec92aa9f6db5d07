# SPDX-License-Identifier: Apache-2.0
"""The processes below a keeper: found also when their parents have ended, measured, and ended.

On Linux the keeper adopts what its children leave behind, so everything that a unit ever started is below it, whatever
sessions and groups it made. Elsewhere only the unit's own process group is known.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PROC = Path("/proc")
_KILL_SECONDS = 10.0
_KEEPER = re.compile(rb"(?:.*/)?keeper-[0-9a-f]{16}\.pyz")  # as `executors/keeper_client.py` calls it
MARKER = "ABOARD_UNIT_ID"


class Process(NamedTuple):
    """A process as /proc tells of it."""

    pid: int
    parent: int
    cpu_seconds: float
    memory: int


def adopt_orphans() -> None:
    """Become the parent of whatever is left behind below this process."""
    if sys.platform == "linux":
        import ctypes  # slow to load, and only a keeper needs it

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_keeper() -> Callable[[], None] | None:
    """For a child between fork and exec: it is asked to end when the keeper is killed."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl  # found before the fork, after which no lock may be taken
    number = int(signal.SIGTERM)

    def ask_for_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

    return ask_for_signal


def below(root: int) -> list[Process]:
    """All processes below `root`, without itself and without those that have ended but are not yet reaped.

    What a unit has submitted is not the unit's: keepers stand there too, as orphans, and live on with theirs.
    """
    children: dict[int, list[Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        for child in children.pop(waiting.pop(), []):
            if not _is_keeper(child.pid):
                found.append(child)
                waiting.append(child.pid)
    return found


def marked(unit: str) -> list[int]:
    """The processes that carry the marker of a unit: what is left of it when its keeper is gone."""
    wanted = f"{MARKER}={unit}".encode()
    found: list[int] = []
    for pid in _numbers():
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def end_marked(unit: str, grace: float) -> None:
    """Ask what carries the marker of a unit to end, and kill what has not after the grace."""
    tell(marked(unit), signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and marked(unit):
        time.sleep(0.1)
    deadline = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < deadline:
        left: list[int] = marked(unit)
        if not left:
            return
        tell(left, signal.SIGKILL)
        time.sleep(0.05)


def tell(pids: list[int], which: signal.Signals) -> None:
    """Send a signal to each of them; those that have ended meanwhile are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, which)


def _is_keeper(pid: int) -> bool:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"keep" in words and _KEEPER.fullmatch(words[words.index(b"keep") - 1]) is not None


def _numbers() -> list[int]:
    if not _PROC.is_dir():
        return []
    return [int(entry) for entry in os.listdir(_PROC) if entry.isdecimal()]  # noqa: PTH208 - names are all


def _processes() -> list[Process]:
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found: list[Process] = []
    for pid in _numbers():
        try:
            text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name stands in brackets, and may itself hold spaces and brackets.
        fields = text[text.rindex(")") + 2 :].split()
        if fields[0] not in {"Z", "X"}:
            cpu = (int(fields[11]) + int(fields[12])) / tick
            found.append(Process(pid, int(fields[1]), cpu, int(fields[21]) * page))
    return found
