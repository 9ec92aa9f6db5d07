# SPDX-License-Identifier: Apache-2.0
"""Control of a unit from outside: its state, resource use and output, and the request to end."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .process_tree import below, end_marked, marked
from .unit_folder import Document, UnitFolder

_CHUNK = 256 << 10
_FOLLOW_SECONDS = 0.2


def look(path: Path) -> Document:
    """All that is known of a unit. `kept` without `state`: it is just being started."""
    folder = UnitFolder(path)
    # In this order: a keeper writes how the unit ended before it lets go of the lock.
    kept = folder.is_kept()
    state = folder.read("state.json")
    strays = [] if kept or state is None or "end" in state else marked(path.name)
    return {
        "kept": kept,
        "state": state,
        "stop": folder.read("stop.json") is not None,
        "strays": len(strays),
        "may_start_again": not kept and folder.may_start_again(),
    }


def usage(path: Path) -> Document:
    """What the unit's processes take now; nothing when it has ended."""
    folder = UnitFolder(path)
    state = folder.read("state.json")
    if state is None or not folder.is_kept():
        return {}
    found = below(state["keeper"])
    return {
        "processes": len(found),
        "memory": sum(process.memory for process in found),
        "cpu_seconds": sum(process.cpu_seconds for process in found),
    }


def stop(path: Path, asked: float | None = None) -> None:
    """Ask for the end, with the unit's own grace if none is told.

    The keeper does the rest; if it is gone, what is left of the unit is ended here.
    """
    folder = UnitFolder(path)
    state = folder.read("state.json")
    spec = folder.read("spec.json")
    grace = asked if asked is not None else spec["grace"] if spec else 0.0
    if state is not None and "end" in state:
        return
    folder.write("stop.json", {"grace": grace})
    if folder.is_kept():
        # A keeper that is just starting looks for the request by itself.
        if state is not None:
            _wake(folder, state["keeper"])
    elif state is not None:
        end_marked(path.name, grace)
        end = {"reason": "stopped", "code": None, "message": "its keeper had died", "time": time.time()}
        folder.write("state.json", {**state, "end": end})


def _wake(folder: UnitFolder, keeper: int) -> None:
    """Signal the keeper, and never another process that got its number: it is held while the lock is looked at."""
    if not hasattr(os, "pidfd_open"):
        os.kill(keeper, signal.SIGTERM)
        return
    try:
        held = os.pidfd_open(keeper)
    except ProcessLookupError:
        return
    try:
        if folder.is_kept():
            signal.pidfd_send_signal(held, signal.SIGTERM)
    except ProcessLookupError:
        pass
    finally:
        os.close(held)


def output(path: Path, start: int, follow: bool, *, has_ended: Callable[[], bool] | None = None) -> Iterator[bytes]:
    """What the unit printed from byte `start` on; when followed, until it has ended, which its keeper's lock tells."""
    folder = UnitFolder(path)
    at = start
    while True:
        # Asked first: what is printed until then is read below.
        is_over = follow and (has_ended() if has_ended is not None else not folder.is_kept())
        try:
            with folder.output.open("rb") as file:
                file.seek(at)
                while True:
                    piece = file.read(_CHUNK)
                    if not piece:
                        break
                    at += len(piece)
                    yield piece
        except FileNotFoundError:
            pass
        if is_over or not follow:
            return
        time.sleep(_FOLLOW_SECONDS)


def remove(path: Path) -> None:
    """Remove what an ended unit left."""
    shutil.rmtree(path, ignore_errors=True)
